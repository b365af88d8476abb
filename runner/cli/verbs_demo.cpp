// The demo: a real experiment on a small model, to a verdict.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/cli/jobs.h"
#include "runner/cli/records.h"
#include "runner/cli/verbs.h"
#include "runner/cli/workspace.h"
#include "runner/entry/report.h"
#include "runner/record/record_json.h"

namespace steady {

int verb_demo(const Arguments& arguments) {
    const Spec spec = load_spec(own_experiment("quickstart"));
    if (!arguments.has("quiet")) {
        fmt::print(stderr, "the question: {}\n", spec.hypothesis.claim);
    }
    const Record record = run_here(spec, arguments);
    nlohmann::json json = shown_json(record);
    json["page"] = "http://127.0.0.1:8642/x/" + record.id;
    print(arguments, json,
          fmt::format(
              "{}\n\njournal  {}\npage     http://127.0.0.1:8642/x/{}   (start it: steady serve)",
              show_text(record), path_from_here(project_root() + "/" + record.journal_path),
              record.id));
    return exit_code(record.analysis->verdict);
}

}  // namespace steady
