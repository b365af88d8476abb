// One arm: everything that decoding with one plan needs, over weights that it may share. Calls of
// ops go through here, so that they are cut among this arm's threads, counted, and timed when
// asked.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>

#include "engine/exec/kernel_plan.h"
#include "engine/exec/options.h"
#include "engine/model/joined.h"
#include "engine/model/kv_cache.h"
#include "engine/model/state.h"
#include "engine/model/weights.h"
#include "kernels/threads/clock.h"
#include "kernels/threads/threads.h"

namespace steady {

struct OpCounter {
    std::int64_t calls = 0;
    std::int64_t ns = 0;     // only when timed
    std::int64_t bytes = 0;  // weights (or cache) read; only when timed
};

template <class Op>
struct Counted {
    using OpType = Op;
    OpCounter counter;
};

// Called with each named intermediate of the forward: name, block (-1: none), values.
using Trace =
    std::function<void(std::string_view name, std::int64_t block, std::span<const float> values)>;

struct Arm {
    Arm(const Config& model_config, ArmOptions arm_options, KernelPlan arm_plan,
        Weights arm_weights, std::int64_t context);

    const Config& config;
    ArmOptions options;
    std::int64_t batch =
        1;  // tokens of a prompt per pass: options.batch, or 1 where the plan cannot
    KernelPlan plan;
    Weights weights;
    KvCache cache;
    State state;
    ThreadPool pool;
    EngineOps::Tuple<Counted> counters;
    std::unique_ptr<Joined> joined;                              // where step block joins the ops
    std::array<EngineOps::Tuple<Counted>, 10> graph_counters{};  // of its graphs' passes
    std::int64_t joined_position = 0;                            // of the last embed_joined
    std::unique_ptr<gpu::Watch> watch;                           // on a GPU
    bool timed = false;  // fill ns and bytes of the counters
    Trace trace;         // empty: nothing is recorded

    bool on_gpu() const { return options.gpu >= 0; }
    void note(std::string_view name, std::int64_t block, std::span<const float> values) const {
        if (trace) trace(name, block, values);
    }
    template <class Op>
    OpCounter& counter() {
        return std::get<Counted<Op>>(counters).counter;
    }
};

// Adapter from one op's Run to the pool's Job. Lives until the launch returns.
template <class Op>
struct OpTask {
    const VariantInfo<Op>* variant = nullptr;
    const typename Op::Args* args = nullptr;

    static void run(const void* self, Range rows) noexcept {
        const OpTask& task = *static_cast<const OpTask*>(self);
        task.variant->run(*task.args, rows);
    }
    Job job(int phase = 0) const {
        return {&OpTask::run, this, Op::rows(args->shape, phase), variant->granule, phase};
    }
};

template <class Op>
void count(Arm& arm, const typename Op::Args& args, std::int64_t ns) {
    OpCounter& counter = arm.counter<Op>();
    ++counter.calls;
    if (!arm.timed) return;
    counter.ns += ns;
    counter.bytes += Op::cost(args.shape).weight_bytes;
}

// Runs the op whole on the calling thread: for work too small to cut.
template <class Op>
void call(Arm& arm, const typename Op::Args& args) {
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    const VariantInfo<Op>& variant = arm.plan.variant<Op>();
    for (int phase = 0; phase < Op::phases; ++phase) {
        variant.run(args, {0, Op::rows(args.shape, phase), phase});
    }
    count<Op>(arm, args, arm.timed ? now_ns() - begin : 0);
}

// Runs the op for each token of the pass, whole tokens spread over the threads. args_of(t) gives
// token t's arguments.
template <class Op, class ArgsOf>
void each(Arm& arm, ArgsOf args_of) {
    const std::int64_t n = arm.state.n;
    if (n == 1) return call<Op>(arm, args_of(0));
    struct Task {
        const VariantInfo<Op>* variant;
        const ArgsOf* args_of;
        static void run(const void* self, Range tokens) noexcept {
            const Task& task = *static_cast<const Task*>(self);
            for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
                const typename Op::Args args = (*task.args_of)(t);
                for (int phase = 0; phase < Op::phases; ++phase) {
                    task.variant->run(args, {0, Op::rows(args.shape, phase), phase});
                }
            }
        }
    };
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    const Task task{&arm.plan.variant<Op>(), &args_of};
    arm.pool.launch(Job{&Task::run, &task, n, 1, 0});
    const std::int64_t ns = arm.timed ? (now_ns() - begin) / n : 0;
    for (std::int64_t t = 0; t < n; ++t) count<Op>(arm, args_of(t), ns);
}

// Enqueues the op's kernels, or times them.
template <class Op>
void launch_on_gpu(Arm& arm, const typename Op::Args& args) {
    const VariantInfo<Op>& variant = arm.plan.variant<Op>();
    if (arm.timed) arm.watch->start();
    for (int phase = 0; phase < Op::phases; ++phase) {
        variant.run(args, {0, Op::rows(args.shape, phase), phase});
    }
    count<Op>(arm, args, arm.timed ? static_cast<std::int64_t>(arm.watch->stop_ns()) : 0);
}

// Runs the op on all threads of the arm: one launch, a barrier after each phase. On a GPU it is
// enqueued.
template <class Op>
void launch(Arm& arm, const typename Op::Args& args) {
    if (arm.on_gpu()) return launch_on_gpu<Op>(arm, args);
    const std::int64_t begin = arm.timed ? now_ns() : 0;
    const OpTask<Op> task{&arm.plan.variant<Op>(), &args};
    std::array<Job, static_cast<std::size_t>(Op::phases)> jobs;
    std::array<Stage, static_cast<std::size_t>(Op::phases)> stages;
    for (std::size_t phase = 0; phase < jobs.size(); ++phase) {
        jobs[phase] = task.job(static_cast<int>(phase));
        stages[phase] = Stage{&jobs[phase], 1};
    }
    arm.pool.launch(stages);
    count<Op>(arm, args, arm.timed ? now_ns() - begin : 0);
}

// Runs the op on the calling thread where one token is too little to cut, on all threads for a
// batch.
template <class Op>
void spread(Arm& arm, const typename Op::Args& args) {
    arm.state.n == 1 ? call<Op>(arm, args) : launch<Op>(arm, args);
}

// The same for work that is no op: work(range) for ranges that make up [0, n).
template <class Work>
void spread(Arm& arm, std::int64_t n, Work work) {
    if (arm.state.n == 1) return work(Range{0, n, 0});
    struct Task {
        static void run(const void* self, Range range) noexcept {
            (*static_cast<const Work*>(self))(range);
        }
    };
    arm.pool.launch(Job{&Task::run, &work, n, 1, 0});
}

// One matrix times one vector per group: y = m · x, for each token of the pass.
struct Product {
    const Matrix* m = nullptr;
    Activation x;             // [n][groups][cols]
    float* y = nullptr;       // [n][groups * rows]
    std::int64_t group = -1;  // ≥ 0: only this group of the matrix (one expert), for one token
};

// A product with the op that its weight type selects: what a step needs to put it into a launch of
// its own making.
template <class Op>
struct Bound {
    using OpType = Op;
    typename Op::Args args;
    OpTask<Op> task;
};
using BoundProduct =
    std::variant<std::monostate, Bound<Q4_0Matvec>, Bound<Q5_KMatvec>, Bound<Q6_KMatvec>,
                 Bound<Q8_0Matvec>, Bound<F32Matvec>, Bound<OtherMatvec>>;

// The product's job; both arguments outlive the launch.
Job bind_product(const Arm& arm, const Product& product, BoundProduct& slot);
std::int64_t weight_bytes(const BoundProduct& slot);  // 0 for an empty slot
void count_product(Arm& arm, const BoundProduct& slot, std::int64_t ns);

// Independent products. For one token they share a launch and each goes to its weight type's
// matvec; for a batch each is a launch of its type's matmul, or where there is none, of its matvec
// for all tokens.
void multiply(Arm& arm, std::span<const Product> products);
// One product whose groups (experts) meet the vectors of these lists.
void multiply_grouped(Arm& arm, const Product& product, const VectorLists& lists);
inline void multiply(Arm& arm, const Product& product) { multiply(arm, {&product, 1}); }

// The form in which this arm's kernel for m reads x.
Input input_of(const Arm& arm, const Matrix& m);

// Fills the quantised forms of the first n values of x that the readers want: matrices, and on
// request an op's variant by its input.
void quantize_for(Arm& arm, QuantizedVector& x, std::int64_t n,
                  std::initializer_list<const Matrix*> readers, Input also = Input::f32);

}  // namespace steady
