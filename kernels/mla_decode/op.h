// One token's attention from the query's low rank to the heads' values: query product, rotation,
// absorption, the cached row, softmax over all positions, values. It joins seven ops because no
// head needs another in between: on a GPU a group of blocks takes a head from end to end.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/matrix/any_matrix.h"
#include "kernels/mla_attention/op.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct MlaDecodeShape {
    std::int64_t n_heads = 0;
    std::int64_t q_rank = 0;  // 0: the query comes whole
    std::int64_t n_nope = 0, n_rot = 0, n_value = 0, kv_rank = 0;
    std::int64_t n_positions = 0;  // this token's included
    Type cache = Type::f32;        // of the cached values: f32, f16 or bf16
    Type type = Type::q4_0;        // of the matrices
    // 1: k_b is multiplied into q_b, in Q8_0, so that the query comes out in latent space
    std::int64_t folded = 0;
    static std::array<ShapeField<MlaDecodeShape>, 10> fields() {
        return {{{"n_heads", &MlaDecodeShape::n_heads},
                 {"q_rank", &MlaDecodeShape::q_rank},
                 {"n_nope", &MlaDecodeShape::n_nope},
                 {"n_rot", &MlaDecodeShape::n_rot},
                 {"n_value", &MlaDecodeShape::n_value},
                 {"kv_rank", &MlaDecodeShape::kv_rank},
                 {"n_positions", &MlaDecodeShape::n_positions},
                 {"cache", nullptr, &MlaDecodeShape::cache},
                 {"type", nullptr, &MlaDecodeShape::type},
                 {"folded", &MlaDecodeShape::folded}}};
    }
    std::string problem() const {
        if (cache != Type::f32 && cache != Type::f16 && cache != Type::bf16) {
            return "cache must be f32, f16 or bf16";
        }
        if (folded < 0 || folded > 1 || (folded == 1 && q_rank == 0)) {
            return "folded must be 0, or 1 where the query has a q_rank";
        }
        const std::int64_t block = block_values(type);
        if (q_rank % block != 0 || n_nope % block != 0 || kv_rank % block != 0) {
            return "q_rank, n_nope and kv_rank must be multiples of the type's block";
        }
        if (key_cols() % block_values(key_type()) != 0) {
            return "q_rank must be a multiple of 32 where folded is 1";
        }
        return n_heads > 0 && n_nope > 0 && n_rot > 0 && n_rot % 2 == 0 && n_value > 0 &&
                       kv_rank > 0 && n_positions > 0
                   ? ""
                   : "all but q_rank, cache, type and folded are required, n_rot even";
    }
    std::int64_t head_size() const { return n_nope + n_rot; }
    std::int64_t width() const { return kv_rank + n_rot; }
    // Of a head in q_b, and of k_b.
    std::int64_t query_rows() const { return folded == 1 ? n_rot : head_size(); }
    std::int64_t key_cols() const { return folded == 1 ? q_rank : n_nope; }
    Type key_type() const { return folded == 1 ? Type::q8_0 : type; }
};

struct MlaDecode {
    static constexpr const char* name = "mla_decode";
    static constexpr int phases = 1;
    static constexpr int kParts = 128;  // that positions may be cut into, each with sums of its own
    using Shape = MlaDecodeShape;
    struct Args {
        Shape shape;
        const float* q = nullptr;        // [q_rank] before its norm, or [n_heads][head_size]
        const float* q_norm = nullptr;   // [q_rank]
        AnyMatrix q_b;                   // [n_heads][query_rows][q_rank], absent without q_rank
        const float* kv = nullptr;       // [kv_rank + n_rot], before norm and rotation
        const float* kv_norm = nullptr;  // [kv_rank]
        float eps = 0;
        AnyMatrix k_b;               // [n_heads][kv_rank][key_cols]
        AnyMatrix v_b;               // [n_heads][n_value][kv_rank]
        const float* cos = nullptr;  // [positions][n_rot / 2]
        const float* sin = nullptr;
        const std::int32_t* position = nullptr;  // [1]: of this token
        std::byte* cache = nullptr;  // [positions][kv_rank + n_rot] of shape.cache; gets a row
        float scale = 1;
        float* out = nullptr;      // [n_heads][n_value]
        float* scratch = nullptr;  // [scratch_floats(shape)]
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        (index == 0 ? args.k_b : index == 1 ? args.v_b : args.q_b).w = w;
    }

    static std::int64_t scratch_floats(const Shape& s) {
        return s.n_heads * (s.width() + kParts * (s.kv_rank + 2));
    }

    // Row h: q = q_b[h] · normed(q), its last n_rot values rotated; c = [normed(kv) | rotated];
    // cache[position] = c, rounded; a = [k_b[h] · q_nope | q_rot]; p = softmax(scale · a ·
    // cache[t]); out[h] = v_b[h] · Σ_t p[t] · cache[t][0:kv_rank]. Folded: q_rot = q_b[h] ·
    // normed(q), rotated, and a = [k_b[h] · normed(q) | q_rot].
    static std::int64_t rows(const Shape& shape, int /*phase*/) { return shape.n_heads; }
    static Cost cost(const Shape& s) {
        const std::int64_t query = s.q_rank == 0 ? 0 : s.query_rows() * row_bytes(s.type, s.q_rank);
        const std::int64_t head = query + s.kv_rank * row_bytes(s.key_type(), s.key_cols()) +
                                  s.n_value * row_bytes(s.type, s.kv_rank);
        const std::int64_t products =
            s.n_heads * (s.query_rows() * s.q_rank + s.kv_rank * (s.key_cols() + s.n_value) +
                         s.n_positions * (s.width() + s.kv_rank));
        return {.weight_bytes = s.n_heads * head + s.n_positions * row_bytes(s.cache, s.width()),
                .other_bytes = 4 * (s.q_rank + s.width() + s.n_heads * s.n_value),
                .flops = 2.0 * static_cast<double>(products)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MlaDecode> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MlaDecode>& test_case);
};

// The op in double, for heads [begin, end): body of the reference and of the cases.
void plain_mla_decode(const MlaDecode::Args& args, Range heads, float* out, std::byte* new_row);

}  // namespace steady
