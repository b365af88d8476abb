// Enqueues the queries of attention deep in a text.
#include "kernels/block_decode/body_query.h"

namespace steady::cuda {
namespace {

template <class T>
void run(const QueryCall& call, const Size& size) {
    all_q4_0(call.attention) ? launch_body<QueryBody<T, true>>(size, call)
                             : launch_body<QueryBody<T, false>>(size, call);
}

}  // namespace

void run_query(const AttentionCall& call, int n_heads, float* out, bool in_pieces) {
    QueryRoom room = {};
    Size size;
    size.threads = kThreads;
    size.cluster = kAttentionTeam;
    size.blocks = n_heads * kAttentionTeam;
    size.shared_bytes = lay_out(call, nullptr, room);
    const QueryCall query = {call, out, in_pieces};
    call.head.value == Value::f16 ? run<__half>(query, size) : run<__nv_bfloat16>(query, size);
}

}  // namespace steady::cuda
