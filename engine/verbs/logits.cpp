// Verb logits: the last position's logits for a list of tokens, and on request every named
// intermediate, so that two engines or two plans can be compared value by value.
#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/forward.h"
#include "engine/run/decode.h"
#include "engine/run/model.h"
#include "engine/verbs/verbs.h"

namespace steady {
namespace {

using Json = nlohmann::ordered_json;

// Writes PREFIX.bin (floats, in order of computation) and PREFIX.json (name, position, offset, n).
struct Dump {
    explicit Dump(const std::string& prefix)
        : values(prefix + ".bin", std::ios::binary), table(prefix + ".json"), path(prefix) {
        if (!values || !table) {
            throw Error{fmt::format("--dump: cannot write {}.bin and .json", prefix)};
        }
    }
    void add(std::string_view name, std::int64_t block, std::int64_t position,
             std::span<const float> data) {
        const std::string full = block < 0 ? std::string(name) : fmt::format("{}-{}", name, block);
        entries.push_back(
            {{"name", full}, {"position", position}, {"offset", offset}, {"n", data.size()}});
        offset += data.size();
        values.write(reinterpret_cast<const char*>(data.data()),
                     static_cast<std::streamsize>(data.size_bytes()));
    }
    void finish() {
        table << Json{{"layout", "float32 little-endian; offset and n in floats"},
                      {"values", entries}}
                     .dump(1)
              << "\n";
        if (!values.flush() || !table.flush()) {
            throw Error{fmt::format("--dump: writing {}.* failed: no space?", path)};
        }
    }
    std::ofstream values, table;
    std::string path;
    std::vector<Json> entries;
    std::size_t offset = 0;
};

}  // namespace

int run_logits(const Arguments& arguments) {
    Model model(arguments.positionals[0]);
    const std::vector<std::int32_t> tokens = arguments.tokens("--tokens", model.config.n_vocab);
    const auto n = static_cast<std::int64_t>(tokens.size());
    auto arms = model.make_arms({arguments.arm()}, n);
    Arm& arm = *arms[0];
    std::optional<Dump> dump;
    if (arguments.has("--dump")) dump.emplace(arguments.text("--dump"));
    std::span<const float> logits;
    if (!dump) logits = feed(arm, tokens);
    for (std::int64_t p = 0; dump && p < n; ++p) {
        arm.trace = [&dump, p](std::string_view name, std::int64_t block,
                               std::span<const float> values) {
            dump->add(name, block, p, values);
        };
        logits = forward(arm, tokens[static_cast<std::size_t>(p)], p);
    }
    if (dump) dump->finish();
    if (arguments.json()) {
        // Shortest decimal that reads back to the same float.
        std::string text = "{\"logits\":[";
        for (std::size_t i = 0; i < logits.size(); ++i) {
            const float v = logits[i];
            text += (i == 0 ? "" : ",");
            text += std::isfinite(v) ? fmt::format("{}", v) : "null";
        }
        fmt::print("{}]}}\n", text);
        return kExitOk;
    }
    for (std::size_t i = 0; i < logits.size(); ++i) fmt::print("{} {}\n", i, logits[i]);
    return kExitOk;
}

}  // namespace steady
