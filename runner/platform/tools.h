// Where other people's programs lie: names are looked up as a shell would do it, once, and what is
// started afterwards is an absolute path.
#pragma once

#include <optional>
#include <string>

namespace steady {

// The absolute path of an executable file: a name with a slash is taken relative to `directory`
// (empty: the working directory), any other is looked up along our PATH and then in the system's
// usual folders.
std::optional<std::string> find_tool(const std::string& name, const std::string& directory = {});

// The same; Error says what needs it and that it is missing. `how` names the command that mends it.
std::string tool_path(const std::string& name, const std::string& needed_for,
                      const std::string& how = {});

}  // namespace steady
