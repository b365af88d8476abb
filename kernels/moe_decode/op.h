// A block's whole feed-forward with experts for one token: norm, router, choice, the chosen experts
// and the shared one, their weighted sum and the residual. On a GPU that is two or three phases
// where the same in ops of their own is eight.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/matrix/any_matrix.h"
#include "kernels/moe_router/op.h"
#include "kernels/registry/activation.h"
#include "kernels/registry/registry.h"

namespace steady {

struct MoeDecodeShape {
    std::int64_t n_experts = 0, n_used = 0;
    std::int64_t cols = 0;    // model width
    std::int64_t hidden = 0;  // expert width
    std::int64_t shared = 0;  // width of the shared expert; 0: none
    Type type = Type::q4_0;   // of the experts' matrices
    Type shared_type = Type::q4_0;
    static std::array<ShapeField<MoeDecodeShape>, 7> fields() {
        return {{{"n_experts", &MoeDecodeShape::n_experts},
                 {"n_used", &MoeDecodeShape::n_used},
                 {"cols", &MoeDecodeShape::cols},
                 {"hidden", &MoeDecodeShape::hidden},
                 {"shared", &MoeDecodeShape::shared},
                 {"type", nullptr, &MoeDecodeShape::type},
                 {"shared_type", nullptr, &MoeDecodeShape::shared_type}}};
    }
    std::string problem() const {
        if (n_used < 1 || n_used > n_experts) return "n_used must be in 1 … n_experts";
        const std::int64_t block = block_values(type), other = block_values(shared_type);
        if (cols % block != 0 || hidden % block != 0 || cols % other != 0 || shared % other != 0) {
            return "cols, hidden and shared must be multiples of their types' blocks";
        }
        return cols > 0 && hidden > 0 ? "" : "cols and hidden are required";
    }
    std::int64_t n_hidden() const { return n_used * hidden + shared; }
};

struct MoeDecode {
    static constexpr const char* name = "moe_decode";
    static constexpr int phases = 3;
    using Shape = MoeDecodeShape;
    struct Args {
        Shape shape;
        float* x = nullptr;           // [cols]: the residual, read and added to
        const float* norm = nullptr;  // [cols]
        float eps = 0;
        AnyMatrix router;             // [n_experts][cols]
        const float* bias = nullptr;  // [n_experts] or null
        Gating gating = Gating::softmax;
        bool normalise = false;
        float scale = 1;
        AnyMatrix gate, up;                             // [n_experts][hidden][cols]
        AnyMatrix down;                                 // [n_experts][cols][hidden]
        AnyMatrix shared_gate, shared_up, shared_down;  // [shared][cols], [cols][shared]; or absent
        float* logits = nullptr;                        // [n_experts], scratch
        std::int32_t* ids = nullptr;                    // [n_used], scratch
        float* weights = nullptr;                       // [n_used], scratch
        float* hidden =
            nullptr;  // [2][n_used * hidden + shared], scratch: room for two forms of them
    };
    using Run = void (*)(const Args&, Range) noexcept;

    static void set_weight(Args& args, std::size_t index, const std::byte* w) {
        AnyMatrix* const all[] = {&args.router,      &args.gate,      &args.up,         &args.down,
                                  &args.shared_gate, &args.shared_up, &args.shared_down};
        all[index]->w = w;
    }

    // v = x / sqrt(mean(x²) + eps) · norm. Phase 0, row e: logits[e] = router[e] · v. Then ids and
    // weights as op moe_router has them. Phase 1, row r: hidden = silu(gate · v) · (up · v) of row
    // r of the chosen experts, one after the other, then of the shared one. Phase 2, row c: x[c] +=
    // Σ_e weights[e] · (down[ids[e]][c] · hidden[e]) + shared_down[c] · hidden[shared]
    static std::int64_t rows(const Shape& shape, int phase) {
        return phase == 0 ? shape.n_experts : phase == 1 ? shape.n_hidden() : shape.cols;
    }
    static Cost cost(const Shape& s) {
        const std::int64_t routed = 3 * s.n_used * s.hidden * s.cols;
        const std::int64_t shared = 3 * s.shared * s.cols;
        return {.weight_bytes = 4 * s.n_experts * s.cols + row_bytes(s.type, routed) +
                                row_bytes(s.shared_type, shared),
                .other_bytes = 8 * s.cols + 8 * s.n_hidden(),
                .flops = 2.0 * static_cast<double>(routed + shared + s.n_experts * s.cols)};
    }
    static std::vector<Shape> model_shapes();
    static std::vector<Shape> odd_shapes(Random& random);
    static Case<MoeDecode> make_case(const Shape& shape, Random& random, Input input);
    static double worst_error(const Case<MoeDecode>& test_case);
};

// The op in double: body of the reference and of the cases. Ranges of a phase as Op::rows counts.
void plain_moe_decode(const MoeDecode::Args& args, Range range);

}  // namespace steady
