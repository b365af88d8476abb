// steady-engine's replies in general terms.
#include "runner/judge/program_report.h"

namespace steady {

ProgramReport::ProgramReport(const protocol::OpenReply& reply) : engine(reply) {
    for (const auto& [name, arm] : reply.arms) {
        std::map<std::string, RanSetting>& settings = arms[name].settings;
        for (const auto& [op, kernel] : arm.kernels)
            settings["kernels." + op] = {kernel.variant, kernel.calls_per_token > 0,
                                         kernel.calls_per_pass > 0, kernel.reason == "follows"};
        for (const auto& [step, alternative] : arm.steps)
            settings["steps." + step] = {.value = alternative};
        for (const auto& [flag, value] : arm.engine_flags)
            settings["engine_flags." + flag] = {.value = value};
        settings["threads"] = {.value = std::to_string(arm.threads)};
    }
}

OutputsReport::OutputsReport(const protocol::CorrectnessReply& reply)
    : distances{{"top1_agree", reply.top1_agree},
                {"kl", reply.kl},
                {"kl_max", reply.kl_max},
                {"max_abs", reply.max_abs},
                {"rel_l2", reply.rel_l2}},
      positions(reply.positions),
      unusable(reply.non_finite),
      engine(reply) {}

}  // namespace steady
