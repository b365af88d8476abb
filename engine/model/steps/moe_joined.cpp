// As moe_fused, with the shared expert's down product beside the routed experts' first phase: one
// launch fewer per block, and one end of work less at which threads wait for each other.
#include "engine/model/forward.h"
#include "engine/model/forward_parts.h"

namespace steady {

void moe_joined(Arm& arm, const Block& b) {
    route_and_open_shared(arm, b, arm.plan.variant<Q4_0Experts>().input);
    const Q4_0Experts::Args args = experts_args(arm, b);
    const OpTask<Q4_0Experts> task{&arm.plan.variant<Q4_0Experts>(), &args};
    BoundProduct shared;
    std::array<Job, 2> first{task.job(0)};
    const bool has_shared = b.ffn_down.present();
    if (has_shared) {
        const Product down{&b.ffn_down, arm.state.hidden.view(), arm.state.ffn_out.data()};
        first[1] = bind_product(arm, down, shared);
    }
    const Job second = task.job(1);
    const std::array<Stage, 2> stages{Stage(first).first(has_shared ? 2 : 1), Stage(&second, 1)};
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    arm.pool.launch(stages);
    // The common time is shared out by the bytes that each part read.
    const std::int64_t ns = arm.timed ? now_ns() - begin : 0;
    const std::int64_t experts = Q4_0Experts::cost(args.shape).weight_bytes;
    const std::int64_t beside = ns * weight_bytes(shared) / (experts + weight_bytes(shared));
    count<Q4_0Experts>(arm, args, ns - beside);
    count_product(arm, shared, beside);
    sum_experts(arm, b);
}

}  // namespace steady
