// The plain computation. Every range makes the new row for itself; that of head 0 stores it.
#include <cstring>

#include "kernels/mla_decode/op.h"

namespace steady {
namespace {

void run(const MlaDecode::Args& args, Range heads) noexcept {
    if (heads.begin >= heads.end) return;
    const std::int64_t stride = row_bytes(args.shape.cache, args.shape.width());
    std::vector<std::byte> row(static_cast<std::size_t>(stride));
    plain_mla_decode(args, heads, args.out, row.data());
    if (heads.begin == 0) std::memcpy(args.cache + *args.position * stride, row.data(), row.size());
}

}  // namespace

static const Variant<MlaDecode> variant{"reference", {.run = run}};

}  // namespace steady
