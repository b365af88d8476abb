// Tokens sorted by expert, then every expert's matrices as tiles of halves in one launch, as in op
// products_batch; the router keeps floats. Expected: the experts' weights are read once per batch,
// where token by token they are read once per choice.
#include "kernels/layouts/planes.h"
#include "kernels/moe_batch/cuda.h"

namespace steady::cuda_halves {
namespace {

// Gate, up and down of the experts, or of the shared one.
struct Expert {
    cuda::Matrix gate, up, down;
    bool floats_in() const { return cuda::reads_floats(gate) || cuda::reads_floats(up); }
    bool floats_between() const { return cuda::reads_floats(down); }
};

Expert expert_of(const AnyMatrix& gate, const AnyMatrix& up, const AnyMatrix& down) {
    return {cuda::device_matrix(gate, false), cuda::device_matrix(up, false),
            cuda::device_matrix(down, false)};
}

struct Flow {
    cuda::Vectors x;  // normed tokens
    std::int64_t places, hidden, groups;
    cuda::TileLists lists;
    float* y;
    const float* residual;
};

// y = down · (silu(gate · x) ∘ (up · x)) of each place.
void run_expert(const Expert& e, const Flow& flow, cuda::Room room) {
    const auto hidden = static_cast<int>(flow.hidden), n = static_cast<int>(flow.places);
    cuda::TileProduct first = {};
    first.m[0] = e.gate;
    first.m[1] = e.up;
    first.y[0] = room.take<float>(flow.places * flow.hidden);
    first.y[1] = room.take<float>(flow.places * flow.hidden);
    first.y_stride[0] = first.y_stride[1] = hidden;
    first.matrices = 2;
    first.groups = static_cast<int>(flow.groups);
    first.n = n;
    first.x = flow.x;
    first.lists = flow.lists;
    cuda::multiply_tiles(first);
    const cuda::Vectors between = room.vectors(flow.places, flow.hidden, e.floats_between());
    cuda::make_vectors({{first.y[0], first.y[1], 0, hidden, cuda::Make::gated, false},
                        hidden,
                        hidden,
                        flow.places},
                       between);
    cuda::TileProduct last = {};
    last.m[0] = e.down;
    last.y[0] = flow.y;
    last.y_stride[0] = e.down.rows / first.groups;
    last.matrices = 1;
    last.groups = first.groups;
    last.n = n;
    last.x = between;
    last.residual = flow.residual;
    last.lists = flow.lists;
    last.lists.x_row = nullptr;
    cuda::multiply_tiles(last);
}

void run_router(const MoeBatch::Args& args, const cuda::Vectors& x) {
    cuda::TileProduct product = {};
    product.m[0] = cuda::device_matrix(args.first.router, false);
    product.y[0] = args.first.logits;
    product.y_stride[0] = product.m[0].rows;
    product.matrices = 1;
    product.groups = 1;
    product.n = static_cast<int>(args.shape.n);
    product.x = x;
    cuda::multiply_tiles(product);
    cuda::choose_experts(args);
}

void run(const MoeBatch::Args& args, Range /*range*/) noexcept {
    const MoeBatchShape& s = args.shape;
    const MoeDecode::Args& first = args.first;
    const Expert routed = expert_of(first.gate, first.up, first.down);
    const Expert shared = expert_of(first.shared_gate, first.shared_up, first.shared_down);
    cuda::Room room(args.scratch);
    const bool floats = cuda::reads_floats(cuda::device_matrix(first.router, false)) ||
                        routed.floats_in() || (s.shared > 0 && shared.floats_in());
    const cuda::Vectors x = room.vectors(s.n, s.cols, floats);
    const auto cols = static_cast<int>(s.cols);
    cuda::make_vectors(
        {{first.x, first.norm, first.eps, cols, cuda::Make::normed, false}, cols, 0, s.n}, x);
    run_router(args, x);
    const cuda::Sorted sorted = cuda::room_for_places(room, s);
    cuda::sort_tokens(args, sorted);
    auto* outputs = room.take<float>(s.n * s.n_used * s.cols);
    if (s.shared > 0) run_expert(shared, {x, s.n, s.shared, 1, {}, first.x, first.x}, room);
    const cuda::TileLists lists = {sorted.first,   sorted.token, sorted.tiles,
                                   sorted.n_tiles, sorted.most,  sorted.tile};
    run_expert(routed, {x, s.n * s.n_used, s.hidden, s.n_experts, lists, outputs, nullptr}, room);
    cuda::add_experts(args, sorted, outputs);
}

// What sorting counts lies in shared memory.
bool supports(const MoeBatchShape& shape) { return shape.n_experts <= 1024; }

}  // namespace

static const Variant<MoeBatch> variant{"cuda_halves",
                                       {.compute = 80,
                                        .supports = supports,
                                        .granule = kWhole,
                                        .input = Input::q8,
                                        .layout = planes::kLayout,
                                        .pack_rows = planes::kRows,
                                        .packed_bytes = planes::packed_bytes,
                                        .pack = planes::pack,
                                        .run = run}};

}  // namespace steady::cuda_halves
