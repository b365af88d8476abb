// The command line of steady-kernels: one flat set of options, checked here so that the verbs can
// trust what they get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cases/op_info.h"
#include "kernels/tool/team.h"

namespace steady::tool {

struct Options {
    std::string verb;     // list, check, bench, duet, tune, ladder, disasm, read or bound
    std::string op;       // empty: all
    std::string variant;  // empty: all
    std::string shape;    // empty: the verb's usual shapes
    bool json = false;
    bool warm = false;    // bench: leave the weights in the cache
    bool counts = false;  // disasm: no listing
    bool help = false;
    std::uint64_t seed = 20260928;
    int threads = 1;
    int repetitions = 5;      // bench: measurements per benchmark
    double seconds = 0.05;    // bench: least time of one measurement
    std::string a, b, coins;  // duet
    int chunk = 4;
    int warmup = 8;
    int reps = 0;                             // duet: 0 means as many as the coins give
    std::vector<std::string> without;         // CPU features to hide
    std::string cpu = "native";               // the most that the CPU may be
    std::string cache = ".steady/tune.json";  // tune: results of earlier searches
    bool again = false;                       // tune: search even when the cache knows
    std::string out;                          // ladder: folder of LADDER.md and the figure
    CutRule cut;                              // bench, duet
    std::string device = "cpu";               // bench, duet, tune: cpu, cuda or cuda:N
    int compute = 0;                          // disasm of a GPU variant; 0: the newest compiled
};

// Throws Error (exit code 2) for unknown verbs, options or values, with what is allowed.
Options parse_options(const std::vector<std::string>& arguments);

std::string usage();

// The ops and variants that the options select. Throw Error with the choices for unknown names.
std::vector<const OpInfo*> selected_ops(const Options& options);
const VariantBase& variant_named(const OpInfo& op, const std::string& name);
std::vector<const VariantBase*> selected_variants(const OpInfo& op, const std::string& name);

// The shape in its usual spelling; throws Error when it is not one of this op.
void require_shape(const OpInfo& op, const std::string& shape);

}  // namespace steady::tool
