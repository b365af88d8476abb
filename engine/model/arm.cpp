// Dispatch of matrix products by weight type, and the arm's construction.
#include "engine/model/arm.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace steady {
namespace {

constexpr std::size_t kMaxProducts = ThreadPool::kMaxJobs;  // in one launch

Activation shifted(Activation x, std::int64_t values) {
    const std::int64_t blocks = values / kActivationBlock;
    return {x.f32 + values,    x.q8 + values,     x.q8_scale + blocks,
            x.q8_sum + blocks, x.q8_low + values, x.q16_sum + blocks};
}

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
    std::array<BoundProduct, kMaxProducts> bindings;
    std::array<Job, kMaxProducts> jobs;
    for (std::size_t i = 0; i < products.size(); ++i) {
        jobs[i] = bind_product(arm, products[i], bindings[i]);
    }
    const Stage stage{jobs.data(), products.size()};
    arm.pool.launch({&stage, 1});
    // Time of a common launch is shared out by the bytes that each product read.
    const std::int64_t ns = arm.timed ? now_ns() - begin : 0;
    std::int64_t all = 1;
    const auto used = std::span(bindings).first(products.size());
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

namespace {

// Runs the matmul if it reads what the matvec of the same type reads: its layout of the weights and
// its form of the activations.
template <class Matvec, class Matmul>
bool matmul(Arm& arm, const Product& product, const VectorLists& lists) {
    if (!same_form(arm.plan.variant<Matvec>(), arm.plan.variant<Matmul>())) return false;
    const Matrix& m = *product.m;
    launch<Matmul>(arm, {{static_cast<std::int64_t>(lists.first.size()) - 1, m.rows, m.cols,
                          static_cast<std::int64_t>(lists.x_row.size())},
                         m.data,
                         lists.first.data(),
                         lists.x_row.data(),
                         lists.y_row.data(),
                         product.x,
                         product.y});
    return true;
}

bool matmul_by_type(Arm& arm, const Product& product, const VectorLists& lists) {
    switch (product.m->type) {
        case Type::q4_0:
            return matmul<Q4_0Matvec, Q4_0Matmul>(arm, product, lists);
        case Type::q5_k:
            return matmul<Q5_KMatvec, Q5_KMatmul>(arm, product, lists);
        case Type::q6_k:
            return matmul<Q6_KMatvec, Q6_KMatmul>(arm, product, lists);
        case Type::q8_0:
            return matmul<Q8_0Matvec, Q8_0Matmul>(arm, product, lists);
        default:
            return false;
    }
}

// A matrix without a matmul that fits: its matvec for every token, in one launch. Some rows at a
// time meet all tokens, so that they come from memory once.
template <class Op>
struct EachVector {
    static constexpr std::int64_t kBytesAtOnce = 1 << 15;
    const VariantInfo<Op>* variant = nullptr;
    typename Op::Args args;
    std::int64_t n = 0, x_step = 0, y_step = 0;  // tokens; values from one to the next
    std::int64_t rows_at_once = 0;

    static void run(const void* self, Range rows) noexcept {
        const EachVector& each = *static_cast<const EachVector*>(self);
        for (std::int64_t r = rows.begin; r < rows.end; r += each.rows_at_once) {
            typename Op::Args args = each.args;
            for (std::int64_t t = 0; t < each.n; ++t) {
                each.variant->run(args, {r, std::min(rows.end, r + each.rows_at_once), 0});
                args.x = shifted(args.x, each.x_step);
                args.y += each.y_step;
            }
        }
    }
};

template <class Op>
void multiply_each(Arm& arm, const Bound<Op>& bound, const Matrix& m) {
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    const VariantInfo<Op>& variant = arm.plan.variant<Op>();
    const std::int64_t rows = Op::rows(bound.args.shape, 0);
    const std::int64_t granule = std::min(variant.granule, rows);
    const std::int64_t fit = EachVector<Op>::kBytesAtOnce / row_bytes(m.type, m.cols);
    const EachVector<Op> each{&variant,          bound.args,
                              arm.state.n,       m.groups * m.cols,
                              m.groups * m.rows, std::max(granule, fit / granule * granule)};
    arm.pool.launch(Job{&EachVector<Op>::run, &each, rows, variant.granule, 0});
    const std::int64_t ns = arm.timed ? (now_ns() - begin) / arm.state.n : 0;
    for (std::int64_t t = 0; t < arm.state.n; ++t) count<Op>(arm, bound.args, ns);
}

void multiply_each(Arm& arm, const Product& product) {
    BoundProduct slot;
    bind_product(arm, product, slot);
    std::visit(
        [&](const auto& bound) {
            using B = std::decay_t<decltype(bound)>;
            if constexpr (!std::is_same_v<B, std::monostate>) {
                multiply_each<typename B::OpType>(arm, bound, *product.m);
            }
        },
        slot);
}

// Fused experts lie in the layout of op q4_0_experts and read its form of activations. Where those
// are not the matvec's, nothing can multiply them for a batch with the same bits.
// Where a block's ops are joined, the ops of batches must run where the others do, and they know no
// folded query.
std::int64_t usable_batch(const KernelPlan& plan, bool on_gpu, std::int64_t asked,
                          std::int64_t context) {
    const bool there = plan.variant<ProductsBatch>().on_gpu() == on_gpu &&
                       plan.variant<MlaBatch>().on_gpu() == on_gpu &&
                       plan.variant<MoeBatch>().on_gpu() == on_gpu;
    if (plan.block->joined) return there && !plan.mla->folded ? std::min(asked, context) : 1;
    const bool split = plan.moe->needs_q4_0_experts &&
                       !same_form(plan.variant<Q4_0Experts>(), plan.variant<Q4_0Matvec>());
    return split || !plan.mla->batches ? 1 : std::min(asked, context);
}

}  // namespace

Arm::Arm(const Config& model_config, ArmOptions arm_options, KernelPlan arm_plan,
         Weights arm_weights, std::int64_t context)
    : config(model_config),
      options(std::move(arm_options)),
      plan(arm_plan),
      weights(std::move(arm_weights)),
      cache(model_config, context, {plan.mla->cache, cache_of(options), plan.mla->format},
            options.gpu >= 0),
      pool(on_gpu() ? ThreadOptions{} : options.threads) {
    batch = usable_batch(plan, on_gpu(), batch_of(options), context);
    const std::int64_t of_state = plan.block->joined ? 1 : batch;
    state = make_state(model_config, context, of_state, pool.options().threads);
    if (!plan.block->joined) return;
    joined = std::make_unique<Joined>(model_config, state, on_gpu(), batch, context);
    if (on_gpu()) watch = std::make_unique<gpu::Watch>();
}

void multiply(Arm& arm, std::span<const Product> products) {
    const State& s = arm.state;
    if (s.n > 1) {
        for (const Product& each : products) {
            const Matrix& m = *each.m;
            if (matmul_by_type(arm, each, m.groups == 1 ? s.plain : s.per_head)) continue;
            multiply_each(arm, each);
        }
        return;
    }
    for (; products.size() > kMaxProducts; products = products.subspan(kMaxProducts)) {
        multiply_some(arm, products.first(kMaxProducts));
    }
    multiply_some(arm, products);
}

void multiply_grouped(Arm& arm, const Product& product, const VectorLists& lists) {
    if (matmul_by_type(arm, product, lists)) return;
    const Matrix& m = *product.m;
    for (std::size_t group = 0; group + 1 < lists.first.size(); ++group) {
        for (auto v = static_cast<std::size_t>(lists.first[group]);
             v < static_cast<std::size_t>(lists.first[group + 1]); ++v) {
            const Product one{&m, shifted(product.x, lists.x_row[v] * m.cols),
                              product.y + lists.y_row[v] * m.rows,
                              static_cast<std::int64_t>(group)};
            multiply_some(arm, {&one, 1});
        }
    }
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
    if (q8 && !x.has_q8) {
        spread<QuantizeQ8>(arm, {{n}, x.f32.data(), x.q8.data(), x.scale.data(), x.sum.data()});
    }
    if (q16) {
        spread<QuantizeQ16>(
            arm, {{n}, x.f32.data(), x.q8.data(), x.scale.data(), x.low.data(), x.sum16.data()});
    }
}

}  // namespace steady
