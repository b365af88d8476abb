// A whole block of the model for one token: first products, attention, output product, and the
// feed-forward, with experts or dense. On a GPU each kernel hands the next one its vector ready to
// multiply, which ops of their own cannot, and the router rides on the output product.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/mla_decode/op.h"
#include "kernels/moe_decode/op.h"
#include "kernels/products/op.h"
#include "kernels/registry/registry.h"

namespace steady {

struct BlockDecodeShape {
    std::int64_t cols = 0;  // model width
    std::int64_t n_heads = 0;
    std::int64_t q_rank = 0;  // 0: the query comes whole
    std::int64_t n_nope = 0, n_rot = 0, n_value = 0, kv_rank = 0;
    std::int64_t n_positions = 0;                        // this token's included
    Type cache = Type::f32;                              // of the cached values: f32, f16 or bf16
    Type type = Type::q4_0;                              // of the attention's matrices
    std::int64_t n_experts = 0, n_used = 0, hidden = 0;  // 0: a dense feed-forward
    Type expert_type = Type::q4_0;
    std::int64_t shared = 0;  // width of the shared expert, or of the dense feed-forward
    Type shared_type = Type::q4_0;
    Type router_type = Type::f32;
    static std::array<ShapeField<BlockDecodeShape>, 17> fields() {
        return {{{"cols", &BlockDecodeShape::cols},
                 {"n_heads", &BlockDecodeShape::n_heads},
                 {"q_rank", &BlockDecodeShape::q_rank},
                 {"n_nope", &BlockDecodeShape::n_nope},
                 {"n_rot", &BlockDecodeShape::n_rot},
                 {"n_value", &BlockDecodeShape::n_value},
                 {"kv_rank", &BlockDecodeShape::kv_rank},
                 {"n_positions", &BlockDecodeShape::n_positions},
                 {"cache", nullptr, &BlockDecodeShape::cache},
                 {"type", nullptr, &BlockDecodeShape::type},
                 {"n_experts", &BlockDecodeShape::n_experts},
                 {"n_used", &BlockDecodeShape::n_used},
                 {"hidden", &BlockDecodeShape::hidden},
                 {"expert_type", nullptr, &BlockDecodeShape::expert_type},
                 {"shared", &BlockDecodeShape::shared},
                 {"shared_type", nullptr, &BlockDecodeShape::shared_type},
                 {"router_type", nullptr, &BlockDecodeShape::router_type}}};
    }
    MlaDecodeShape attention() const {
        return {n_heads, q_rank, n_nope, n_rot, n_value, kv_rank, n_positions, cache, type};
    }
    MoeDecodeShape experts() const {
        return {n_experts, n_used, cols, hidden, shared, expert_type, shared_type};
    }
    bool dense() const { return n_experts == 0; }
    std::int64_t n_hidden() const { return n_used * hidden + shared; }
    std::string problem() const;
};

struct BlockDecode {
    static constexpr const char* name = "block_decode";
    static constexpr int phases = 6;
    static constexpr int kCopies = 8;  // of what a variant hands to hundreds of blocks, in scratch
    static constexpr int kChosen = 4;  // words at its end: whether the experts are chosen
    using Shape = BlockDecodeShape;
    // The arguments of the ops that it joins, linked with each other: attention reads what the
    // first products write, and so on. Of a dense block `experts` has the shared matrices only.
    struct Args {
        Shape shape;
        Products::Args first;  // x normed → attention.q, attention.kv
        MlaDecode::Args attention;
        Products::Args output;    // attention.out → x, added
        MoeDecode::Args experts;  // x → x
        // Where blocks follow each other: whether the block before left x ready for this one in
        // scratch, and the norm of the block behind, for which this one shall; null: nobody.
        bool handed = false;
        const float* next_norm = nullptr;  // [cols]
        float* scratch = nullptr;          // [scratch_floats(shape)], the same for all blocks
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w);

    static std::int64_t scratch_floats(const Shape& shape);

    // Phases: first products, attention by head, output product, router, hidden values, outputs; as
    // the joined ops have them.
    static std::int64_t rows(const Shape& shape, int phase);
    static Cost cost(const Shape& shape);
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<BlockDecode> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<BlockDecode>& test_case);
};

// The phases in double, by the references of the ops that it joins.
void plain_block_decode(const BlockDecode::Args& args, Range range);

}  // namespace steady
