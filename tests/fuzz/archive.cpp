// Any bytes as an archive to import; and as the content of one that is otherwise whole, since a
// wrong hash ends the first way early.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runner/storage/archive_form.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(steady::fuzz::text_of(bytes, size));
    steady::fuzz::may_refuse([&] { steady::archive::from_text(text); });
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto found = json.is_object() ? json.find("content") : json.end();
    if (!json.is_object() || found == json.end()) return 0;
    steady::fuzz::may_refuse([&] {
        const std::vector<steady::archive::Experiment> one{{"made-00000000", *found, "entry"}};
        const auto read = steady::archive::from_text(steady::archive::to_text(one));
        if (read.size() != 1) std::abort();
    });
    return 0;
}
