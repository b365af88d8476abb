// Dispatch of matrix products by weight type, and the arm's construction.
#include "engine/run/arm.h"

#include <fmt/core.h>

#include <utility>

namespace steady {
namespace {

constexpr std::size_t kMaxProducts = ThreadPool::kMaxJobs;  // in one launch

template <class Op>
Job bind(const Arm& arm, const Product& product, BoundProduct& slot) {
    auto& bound = slot.emplace<Bound<Op>>();
    const Matrix& m = *product.m;
    if constexpr (std::is_same_v<Op, OtherMatvec>) bound.args.shape.type = m.type;
    bound.args.shape.groups = product.group < 0 ? m.groups : 1;
    bound.args.shape.rows = m.rows;
    bound.args.shape.cols = m.cols;
    bound.args.w = m.data + (product.group < 0 ? 0 : product.group * m.group_bytes);
    bound.args.x = product.x;
    bound.args.y = product.y;
    bound.task = {&arm.plan.variant<Op>(), &bound.args};
    return bound.task.job();
}

void multiply_some(Arm& arm, std::span<const Product> products) {
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    std::array<BoundProduct, kMaxProducts> slots;
    std::array<Job, kMaxProducts> jobs;
    for (std::size_t i = 0; i < products.size(); ++i) {
        jobs[i] = bind_product(arm, products[i], slots[i]);
    }
    const Stage stage{jobs.data(), products.size()};
    arm.pool.launch({&stage, 1});
    // Time of a common launch is shared out by the bytes that each product read.
    const std::int64_t ns = arm.timed ? now_ns() - begin : 0;
    std::int64_t all = 1;
    const auto used = std::span(slots).first(products.size());
    for (const BoundProduct& slot : used) all += weight_bytes(slot);
    for (const BoundProduct& slot : used) {
        count_product(arm, slot, arm.timed ? ns * weight_bytes(slot) / all : 0);
    }
}

}  // namespace

Job bind_product(const Arm& arm, const Product& product, BoundProduct& slot) {
    switch (product.m->type) {
        case Type::q4_0:
            return bind<Q4_0Matvec>(arm, product, slot);
        case Type::q5_k:
            return bind<Q5_KMatvec>(arm, product, slot);
        case Type::q6_k:
            return bind<Q6_KMatvec>(arm, product, slot);
        case Type::q8_0:
            return bind<Q8_0Matvec>(arm, product, slot);
        case Type::f32:
            return bind<F32Matvec>(arm, product, slot);
        default:
            return bind<OtherMatvec>(arm, product, slot);
    }
}

std::int64_t weight_bytes(const BoundProduct& slot) {
    return std::visit(
        [](const auto& bound) -> std::int64_t {
            using B = std::decay_t<decltype(bound)>;
            if constexpr (std::is_same_v<B, std::monostate>) {
                return 0;
            } else {
                return B::OpType::cost(bound.args.shape).weight_bytes;
            }
        },
        slot);
}

void count_product(Arm& arm, const BoundProduct& slot, std::int64_t ns) {
    std::visit(
        [&](const auto& bound) {
            using B = std::decay_t<decltype(bound)>;
            if constexpr (!std::is_same_v<B, std::monostate>) {
                count<typename B::OpType>(arm, bound.args, ns);
            }
        },
        slot);
}

Arm::Arm(const Config& model_config, ArmOptions arm_options, KernelPlan arm_plan,
         Weights arm_weights, std::int64_t context)
    : config(model_config),
      options(std::move(arm_options)),
      plan(arm_plan),
      weights(std::move(arm_weights)),
      cache(model_config, context, plan.mla->full_cache),
      state(make_state(model_config, context)),
      pool(options.threads) {}

void multiply(Arm& arm, std::span<const Product> products) {
    for (; products.size() > kMaxProducts; products = products.subspan(kMaxProducts)) {
        multiply_some(arm, products.first(kMaxProducts));
    }
    multiply_some(arm, products);
}

Input input_of(const Arm& arm, const Matrix& m) {
    switch (m.type) {
        case Type::q4_0:
            return arm.plan.variant<Q4_0Matvec>().input;
        case Type::q5_k:
            return arm.plan.variant<Q5_KMatvec>().input;
        case Type::q6_k:
            return arm.plan.variant<Q6_KMatvec>().input;
        case Type::q8_0:
            return arm.plan.variant<Q8_0Matvec>().input;
        case Type::f32:
            return arm.plan.variant<F32Matvec>().input;
        default:
            return arm.plan.variant<OtherMatvec>().input;
    }
}

void quantize_for(Arm& arm, QuantizedVector& x, std::int64_t n,
                  std::initializer_list<const Matrix*> readers, Input also) {
    bool q8 = also == Input::q8;
    bool q16 = also == Input::q16;
    for (const Matrix* reader : readers) {
        if (!reader->present()) continue;
        q8 = q8 || input_of(arm, *reader) == Input::q8;
        q16 = q16 || input_of(arm, *reader) == Input::q16;
    }
    // Both forms have the same q8 values and scales but for the rounding of exact halves; the finer
    // one goes last, since its second byte must fit its first.
    if (q8) {
        call<QuantizeQ8>(arm, {{n}, x.f32.data(), x.q8.data(), x.scale.data(), x.sum.data()});
    }
    if (q16) {
        call<QuantizeQ16>(
            arm, {{n}, x.f32.data(), x.q8.data(), x.scale.data(), x.low.data(), x.sum16.data()});
    }
}

}  // namespace steady
