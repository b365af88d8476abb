// A head from end to end in one cluster of blocks. Its matrices' rows are dealt out eight at a
// time, results go to every block's shared memory; positions are dealt out warp by warp, and joined
// as softmax allows. So the whole attention is one phase between the products before and behind it.
#include "kernels/mla_decode/head.h"

namespace steady::cuda {
namespace {

__device__ Running attend_all(const MlaCall& call, const Memory& m, int position,
                              const Team& team) {
    const int rank = call.latent.n, width = rank + call.n_rot;
    const auto from = [](const float* values) {
        return [values](int p) { return float2{values[p], values[p + 1]}; };
    };
    Lane query;
    take_lane(query, rank, call.n_rot, from(m.query));
    Running run;
    const int n_warps = team.size * kWarps;
    const int warp = static_cast<int>(threadIdx.x) / 32 * team.size + team.rank;
    for (int t = warp; t <= position; t += n_warps) {
        Lane row;
        const long long at = static_cast<long long>(t) * width;
        if (t == position) {
            take_lane(row, rank, call.n_rot, from(m.row));
        } else {
            take_lane(row, rank, call.n_rot, [&](int p) { return two_cached(call, at + p); });
        }
        attend(run, query, row, call.scale);
    }
    return run;
}

// The warps' sums to the block's, which every block of the team gets: largest score, total, sums.
__device__ void join_warps(const MlaCall& call, const Memory& m, const Running& run,
                           const Team& team) {
    const int rank = call.latent.n, stride = rounded(rank);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    if (lane == 0) {
        m.most[2 * warp] = run.most;
        m.most[2 * warp + 1] = run.total;
    }
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
        const int p = 2 * (lane + 32 * i);
        if (p >= rank) continue;
        *reinterpret_cast<float2*>(m.sums + warp * stride + p) = run.sum[i];
    }
    __syncthreads();
    float most = -INFINITY, total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, m.most[2 * w]);
    float weight[kWarps];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
        const float own = m.most[2 * w];
        weight[w] = own == -INFINITY ? 0.0F : __expf(own - most);
        total += m.most[2 * w + 1] * weight[w];
    }
    float* place = m.team + team.rank * (stride + 2);
    for (int c = static_cast<int>(threadIdx.x); c < rank; c += kThreads) {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) sum += weight[w] * m.sums[w * stride + c];
        for (int b = 0; b < team.size; ++b) team.of(place, b)[2 + c] = sum;
    }
    if (static_cast<int>(threadIdx.x) < team.size) {
        float* head = team.of(place, static_cast<int>(threadIdx.x));
        head[0] = most;
        head[1] = total;
    }
}

// The blocks' sums to the head's, in m.v.
__device__ void join_blocks(const MlaCall& call, const Memory& m, const Team& team, bool bytes) {
    const int rank = call.latent.n, stride = rounded(rank) + 2;
    float most = -INFINITY, total = 0;
    for (int b = 0; b < team.size; ++b) most = fmaxf(most, m.team[b * stride]);
    float weight[kMostTeam];
#pragma unroll
    for (int b = 0; b < kMostTeam; ++b) {
        const float own = b < team.size ? m.team[b * stride] : -INFINITY;
        weight[b] = own == -INFINITY ? 0.0F : __expf(own - most);
        total += b < team.size ? m.team[b * stride + 1] * weight[b] : 0.0F;
    }
    // Each thread reads in finish_vector the four values that it writes here.
    for (int i = static_cast<int>(threadIdx.x); 4 * i < rank; i += kThreads) {
        float sum[4] = {};
#pragma unroll
        for (int b = 0; b < kMostTeam; ++b) {
            if (b >= team.size) continue;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (4 * i + j < rank) sum[j] += weight[b] * m.team[b * stride + 2 + 4 * i + j];
            }
        }
        const float part = 1.0F / total;
        reinterpret_cast<float4*>(m.v.f)[i] = {sum[0] * part, sum[1] * part, sum[2] * part,
                                               sum[3] * part};
    }
    finish_vector(m.v, rank, 1, nullptr, {}, bytes);
}

// Folded, a head's product with k_b reads what its product with q_b reads, so that the blocks meet
// once less.
template <class U, class Keys, bool kFolded>
__device__ void attention(const MlaCall& call, const Memory& m, const Team& team) {
    const int head = static_cast<int>(blockIdx.x) / team.size;
    const int rank = call.latent.n, head_size = call.n_nope + call.n_rot;
    const int query_rows = kFolded ? call.n_rot : head_size;
    HeadProduct<U, kFolded ? 1 : 4> q_b(call.q_b, head * query_rows, call.ranked ? query_rows : 0,
                                        team);
    HeadProduct<Keys, kFolded ? 8 : 2> k_b(call.k_b, head * rank, rank, team);
    HeadProduct<U, 2> v_b(call.v_b, head * call.n_value, call.n_value, team);
    const float4 weights = call.ranked ? first_weights(call.query) : float4{};
    if (call.ranked) q_b.ask();
    k_b.ask();
    v_b.ask();
    const auto to_all = [&](float* base) {
        return [&team, base](int row, float value, int lane, int lanes) {
            for (int b = lane; b < team.size; b += lanes) team.of(base, b)[row] = value;
        };
    };
    wait_for_producers();
    const int position = __ldcg(call.position);
    if (call.ranked) {
        prepare(call.query, m.v, weights, m.parts);
    } else {
        for (int i = static_cast<int>(threadIdx.x); i < head_size; i += kThreads) {
            m.head[i] = __ldcg(call.q + head * head_size + i);
        }
    }
    make_row(call, m, position, blockIdx.x == 0);
    // Nobody writes into a block that has not begun.
    team.meet();
    if (call.ranked) {
        q_b.finish(m.v, to_all(m.head + head_size - query_rows));
        if (kFolded) k_b.finish(m.v, to_all(m.query));
        team.meet();
    }
    if (!kFolded) take_vector(m.v, m.head, call.n_nope, !reads_floats(call.k_b));
    rotate(call, position, m.head + call.n_nope, m.query + rank);
    __syncthreads();
    if (!kFolded) {
        k_b.finish(m.v, to_all(m.query));
        team.meet();
    }
    join_warps(call, m, attend_all(call, m, position, team), team);
    team.meet();
    join_blocks(call, m, team, !reads_floats(call.v_b));
    __syncthreads();
    v_b.finish(m.v, [&](int row, float value, int lane, int /*lanes*/) {
        if (lane == 0) call.out[head * call.n_value + row] = value;
    });
}

// The three matrices are mostly of one type; where they are not, each finds its own.
template <class U, class Keys = U, bool kFolded = false>
__global__ void __launch_bounds__(kThreads, 2) mla_kernel(const __grid_constant__ MlaCall call) {
    extern __shared__ uint4 memory[];
    let_consumers_start();
    const int widest = max(max(call.ranked ? call.query.n : 0, call.n_nope), call.latent.n);
    const Memory m = memory_at(reinterpret_cast<unsigned char*>(memory), widest,
                               call.n_nope + call.n_rot, call.latent.n + call.n_rot, call.latent.n);
    attention<U, Keys, kFolded>(call, m, Team::own());
}

}  // namespace

MlaCall call_of(const MlaDecode::Args& args, bool as_floats) {
    const MlaDecodeShape& s = args.shape;
    const auto number = [](std::int64_t n) { return static_cast<int>(n); };
    MlaCall call = {};
    call.q_b = device_matrix(args.q_b, as_floats);
    call.k_b = device_matrix(args.k_b, as_floats);
    call.v_b = device_matrix(args.v_b, as_floats);
    call.ranked = s.q_rank != 0;
    call.query = {
        args.q,       args.q_norm,
        args.eps,     number(s.q_rank),
        Make::normed, !reads_floats(call.q_b) || (s.folded == 1 && !reads_floats(call.k_b))};
    call.q = args.q;
    call.latent = {args.kv, args.kv_norm, args.eps, number(s.kv_rank), Make::normed, false};
    call.n_nope = number(s.n_nope);
    call.n_rot = number(s.n_rot);
    call.n_value = number(s.n_value);
    call.cos = args.cos;
    call.sin = args.sin;
    call.position = args.position;
    call.cache = reinterpret_cast<unsigned char*>(args.cache);
    call.value = value_of(s.cache);
    call.scale = args.scale;
    call.out = args.out;
    return call;
}

std::size_t memory_of(const MlaDecodeShape& s) {
    const auto number = [](std::int64_t n) { return static_cast<int>(n); };
    return memory_bytes(number(std::max({s.q_rank, s.n_nope, s.kv_rank})), number(s.head_size()),
                        number(s.width()), number(s.kv_rank));
}

void run_mla_decode(const MlaDecode::Args& args, bool as_floats, int cluster) {
    const MlaCall call = call_of(args, as_floats);
    Size size;
    size.threads = kThreads;
    size.cluster = cluster;
    size.blocks = static_cast<int>(args.shape.n_heads) * cluster;
    size.shared_bytes = memory_of(args.shape);
    const bool same =
        call.k_b.form == call.v_b.form && (!call.ranked || call.q_b.form == call.k_b.form);
    if (args.shape.folded == 1) {
        const bool keys_apart = call.q_b.form == Form::q4_0 && call.v_b.form == Form::q4_0 &&
                                call.k_b.form == Form::q8_0;
        keys_apart ? launch(mla_kernel<Unit<Form::q4_0>, Unit<Form::q8_0>, true>, size, call)
                   : launch(mla_kernel<AnyUnit, AnyUnit, true>, size, call);
    } else if (same && call.k_b.form == Form::q4_0) {
        launch(mla_kernel<Unit<Form::q4_0>>, size, call);
    } else if (same && call.k_b.form == Form::floats) {
        launch(mla_kernel<Unit<Form::floats>>, size, call);
    } else {
        launch(mla_kernel<AnyUnit>, size, call);
    }
}

}  // namespace steady::cuda
