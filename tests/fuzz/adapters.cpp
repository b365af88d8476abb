// Any bytes as the output of another benchmark program, given to each adapter. A program that
// writes files has two of them, cut at "--- next file". Rows that come out are finite, not negative
// and named.
#include <cmath>
#include <cstdlib>

#include "runner/adapters/adapter.h"
#include "tests/fuzz/target.h"

namespace {

std::vector<steady::AdapterFile> files_of(std::string_view text) {
    constexpr std::string_view kCut = "\n--- next file\n";
    const std::size_t at = text.find(kCut);
    const std::string first(text.substr(0, at));
    const std::string second(at == text.npos ? "" : text.substr(at + kCut.size()));
    return {{"sum/new/benchmark.json", first},
            {"sum/new/estimates.json", second},
            {"sum/new/sample.json", second},
            {"benchmarks.json", first},
            {"host/result.json", second}};
}

void check(const std::vector<steady::AdapterRow>& rows) {
    if (rows.empty()) std::abort();
    for (const steady::AdapterRow& row : rows) {
        if (!std::isfinite(row.value) || row.value < 0 || row.metric.empty()) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text = steady::fuzz::text_of(bytes, size);
    for (const steady::Adapter& adapter : steady::adapters()) {
        steady::AdapterInput input;
        input.pattern = "([0-9.]+) ms";  // only for the adapter regex
        input.metric = "wall_seconds";
        if (adapter.from == steady::ResultFrom::folder) {
            input.files = files_of(text);
        } else {
            input.text = text;
        }
        steady::fuzz::may_refuse([&] { check(adapter.parse(input)); });
    }
    return 0;
}
