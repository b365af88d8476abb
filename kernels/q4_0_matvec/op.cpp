// Shapes and cases of the Q4_0 matrices.
#include "kernels/q4_0_matvec/op.h"

#include "kernels/matrix/matvec_case.h"

namespace steady {

std::vector<MatvecShape> Q4_0Matvec::model_shapes() {
    return {
        // GLM-4.7-Flash: attn_q_a, attn_q_b, attn_kv_a_mqa, attn_k_b, attn_v_b, attn_output, dense
        {1, 768, 2048},
        {1, 5120, 768},
        {1, 576, 2048},
        {20, 512, 192},
        {20, 256, 512},
        {1, 2048, 5120},
        {1, 10240, 2048},
        {1, 2048, 10240},
        // DeepSeek-V2-Lite: attn_q, attn_k_b, attn_v_b, attn_output, dense
        {1, 3072, 2048},
        {16, 512, 128},
        {16, 128, 512},
        {1, 2048, 2048},
        {1, 10944, 2048},
        {1, 2048, 10944},
        // youtu-llm 2B: attn_q_a, attn_q_b, dense
        {1, 1536, 2048},
        {1, 3072, 1536},
        {1, 6144, 2048},
        {1, 2048, 6144}};
}

static const RegisteredOp<Q4_0Matvec> q4_0_matvec_op;

}  // namespace steady
