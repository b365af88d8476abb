// The joined attention for a batch of a prompt's tokens: what op mla_decode does for one, for n
// that follow each other. Their rows go into the cache, and each token attends to all before it and
// to itself.
#pragma once

#include "kernels/mla_decode/op.h"

namespace steady {

struct MlaBatchShape : MlaDecodeShape {  // n_positions: with all of the batch
    std::int64_t n = 1;                  // tokens, the last positions
    static std::array<ShapeField<MlaBatchShape>, 10> fields() {
        return {{{"n_heads", &MlaBatchShape::n_heads},
                 {"q_rank", &MlaBatchShape::q_rank},
                 {"n_nope", &MlaBatchShape::n_nope},
                 {"n_rot", &MlaBatchShape::n_rot},
                 {"n_value", &MlaBatchShape::n_value},
                 {"kv_rank", &MlaBatchShape::kv_rank},
                 {"n_positions", &MlaBatchShape::n_positions},
                 {"cache", nullptr, &MlaBatchShape::cache},
                 {"type", nullptr, &MlaBatchShape::type},
                 {"n", &MlaBatchShape::n}}};
    }
    std::string problem() const {
        return n > 0 && n <= n_positions ? MlaDecodeShape::problem()
                                         : "n is required, at most n_positions";
    }
};

struct MlaBatch {
    static constexpr const char* name = "mla_batch";
    static constexpr int phases = 1;
    using Shape = MlaBatchShape;
    struct Args {
        Shape shape;
        MlaDecode::Args first;  // of the first token, but for its position, which is not read
        std::byte* scratch = nullptr;  // [scratch_bytes(shape)]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        MlaDecode::set_weight(args.first, index, w);
    }
    static std::int64_t scratch_bytes(const Shape& shape);

    // The single row: op mla_decode of token t at position n_positions − n + t, for t < n in this
    // order: q [n][q_rank] or [n][n_heads][head_size], kv [n][width], out [n][n_heads][n_value].
    static std::int64_t rows(const Shape& /*shape*/, int /*phase*/) { return 1; }
    static Cost cost(const Shape& s) {
        Cost cost = MlaDecode::cost(s);
        cost.other_bytes *= s.n;
        cost.flops *= static_cast<double>(s.n);
        return cost;
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MlaBatch> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MlaBatch>& test_case);
};

// The arguments of op mla_decode for token t, whose position lies at `position`.
MlaDecode::Args attention_of(const MlaBatch::Args& args, std::int64_t t,
                             const std::int32_t* position);

}  // namespace steady
