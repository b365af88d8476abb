// The feed-forward with experts for a batch of a prompt's tokens: what op moe_decode does for one,
// for n of them. Tokens are sorted by the experts that they chose, so that an expert's weights are
// read once for all of its tokens.
#pragma once

#include "kernels/moe_decode/op.h"

namespace steady {

struct MoeBatchShape : MoeDecodeShape {
    std::int64_t n = 1;  // tokens
    static std::array<ShapeField<MoeBatchShape>, 8> fields() {
        return {{{"n_experts", &MoeBatchShape::n_experts},
                 {"n_used", &MoeBatchShape::n_used},
                 {"cols", &MoeBatchShape::cols},
                 {"hidden", &MoeBatchShape::hidden},
                 {"shared", &MoeBatchShape::shared},
                 {"type", nullptr, &MoeBatchShape::type},
                 {"shared_type", nullptr, &MoeBatchShape::shared_type},
                 {"n", &MoeBatchShape::n}}};
    }
    std::string problem() const {
        return n > 0 ? MoeDecodeShape::problem() : "n is required: how many tokens";
    }
};

struct MoeBatch {
    static constexpr const char* name = "moe_batch";
    static constexpr int phases = 1;
    using Shape = MoeBatchShape;
    struct Args {
        Shape shape;
        MoeDecode::Args first;         // of the first token; x, logits, ids, weights of n follow it
        std::byte* scratch = nullptr;  // [scratch_bytes(shape)]; first.hidden is not used
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        MoeDecode::set_weight(args.first, index, w);
    }
    static std::int64_t scratch_bytes(const Shape& s);

    // Row t: op moe_decode of token t.
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n; }
    static Cost cost(const Shape& s);
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MoeBatch> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MoeBatch>& test_case);
};

// The arguments of op moe_decode for token t; hidden is the caller's.
MoeDecode::Args experts_of(const MoeBatch::Args& args, std::int64_t t, float* hidden);

}  // namespace steady
