// The defaults: for each op the variants that won, best first, and for each step its alternative.
// The first that this CPU and the model's shapes allow is taken; when none is, the reference runs.
#pragma once

#include <span>
#include <string_view>

namespace steady {

struct Champion {
    std::string_view op;       // or step
    std::string_view variant;  // or alternative
    std::string_view journal;  // the entry that made it so; empty: not yet decided by experiment
    // The class of CPU that the entry measured: cpu::class_name() without the family where the
    // record does not tell it, as "intel-avx512_vnni". What runs on a GPU: its name, gpu::Info.
    std::string_view decided_on = "";
};

// Whether a CPU of class `here`, or a GPU of this name, is of the class that decided.
bool decided_on_class(const Champion& champion, std::string_view here);
// Whether `here` has the vendor and the features of the class that decided: the nearest one.
bool decided_on_kin(const Champion& champion, std::string_view here);

// Whether a GPU decided.
bool is_gpu(std::string_view decided_on);

// Several lines per op are allowed, in order of preference.
std::span<const Champion> champions();

// Engine flags whose default a verdict of a class chose: `op` is the flag, `variant` its value.
std::span<const Champion> flag_champions();
// Such a value for class `here`; empty: it has none.
std::string_view flag_champion(std::string_view flag, std::string_view here);

}  // namespace steady
