// The tiles of AMX over the layout rows16 of Q8_0, whose quants are bytes already. Expected: twice
// the tokens per second of avx512_vnni_rows16 where sixteen vectors or more share a matrix.
#include "kernels/layouts/matmul_amx.h"
#include "kernels/q8_0_matmul/op.h"
#include "kernels/q8_0_matmul/rows16.h"

namespace steady {

KERNEL_TARGET_BEGIN(KERNEL_AMX)
namespace {

struct Parts {
    static constexpr Type kType = Type::q8_0;
    static constexpr Input kInput = Input::q8;
    static constexpr std::int64_t kUnit = 32;
    static constexpr std::int64_t kUnitBytes = q8_0_rows16::kBlockBytes;
    static constexpr std::int64_t kFewest = 9;
    static constexpr int kAhead = 4096;
    using Few = q8_0_matmul::Dot;
    using Sums = matmul_amx::SumsOf<kInput, kUnit>;

    static void few(const MatmulArgs& args, Range rows, std::int64_t v, std::int64_t end) {
        for (std::int64_t r = rows.begin; r < rows.end; r += matmul_rows16::kRows) {
            matmul_rows16::tiles<Few, Few::kMost>(args, r, v, end);
        }
    }

    // The quants are stored with 128 added.
    static void unpack(const std::byte* block, std::int64_t units, std::byte* bytes) {
        const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
        for (std::int64_t u = 0; u < units; ++u) {
            fetch<kAhead, 9>(block);
            for (int j = 0; j < 8; ++j) {
                const __m512i w = avx512::load(block + 32 + 64 * j);
                _mm512_store_si512(bytes + 64 * j, _mm512_xor_si512(w, sign));
            }
            block += q8_0_rows16::kBlockBytes;
            bytes += matmul_amx::kRows * kUnit;
        }
    }

    static void add(const std::byte* packed, std::int64_t units, const Sums& sums,
                    const matmul_amx::Vectors& x, std::int64_t first,
                    float (&total)[matmul_amx::kVectors][matmul_amx::kRows]) {
        matmul_amx::add_blocks<Parts>(packed, units, sums, x, first, total);
    }
};

}  // namespace
KERNEL_TARGET_END

static const Variant<Q8_0Matmul> variant{"amx_int8_rows16_parts",
                                         matmul_amx::options<Q8_0Matmul, Parts>(q8_0_rows16::pack)};

}  // namespace steady
