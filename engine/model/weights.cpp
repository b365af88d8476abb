// The tensor table against the Config: one line per tensor, in forward order. The same walk serves
// two purposes, collecting shapes for the plan (nothing placed) and placing bytes for an arm.
#include "engine/model/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace steady {
namespace {

struct Walk {
    const GgufFile& file;
    const Config& config;
    const KernelPlan* plan = nullptr;  // null: shapes only
    WeightStore* store = nullptr;
    ModelUses uses{};
    std::int64_t placed_bytes = 0;  // of distinct placements
    std::set<const std::byte*> placed{};

    const Tensor& expect(const std::string& name, std::vector<std::int64_t> dims) const;
    const std::byte* put(const Placement& placement);
    const float* vector(const std::string& name, std::int64_t n);
    Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t cols,
                  std::int64_t groups = 1);
    Matrix place(Matrix matrix, Placement placement, bool used_by_matvec);
    void note_matvec(const Matrix& matrix);
    const VariantBase* packer(Type type) const;
    void attention(Block& block, const std::string& prefix);
    void query(Block& block, const std::string& prefix);
    void folded_query(Block& block, const std::string& prefix);
    const char* query_name() const {
        return config.q_rank == 0 ? "attn_q.weight" : "attn_q_b.weight";
    }
    std::int64_t query_cols() const { return config.q_rank == 0 ? config.dim : config.q_rank; }
    void key_value_up(Block& block, const std::string& prefix);
    void experts(Block& block, const std::string& prefix);
    Matrix expert_matrix(const Tensor& tensor, std::int64_t rows, std::int64_t cols,
                         std::int64_t stride, std::int64_t first);
    Block block(std::int64_t index);
    Weights weights();
};

std::string dims_text(const std::vector<std::int64_t>& dims) {
    std::string text;
    for (const std::int64_t dim : dims) text += (text.empty() ? "" : " × ") + std::to_string(dim);
    return text;
}

const Tensor& Walk::expect(const std::string& name, std::vector<std::int64_t> dims) const {
    const Tensor& tensor = file.require_tensor(name);
    std::vector<std::int64_t> found;
    for (const std::uint64_t dim : tensor.dims) found.push_back(static_cast<std::int64_t>(dim));
    while (dims.size() < 4) dims.push_back(1);
    if (found != dims) {
        while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
        throw Error{fmt::format(
            "{}: tensor '{}' has shape {}; the model's metadata ask for {} (row length first)",
            file.path(), name, dims_text(found), dims_text(dims))};
    }
    if (dims[0] % block_values(tensor.type) != 0) {
        throw Error{fmt::format("{}: tensor '{}': rows of {} values cannot be {}", file.path(),
                                name, dims[0], type_name(tensor.type))};
    }
    return tensor;
}

const std::byte* Walk::put(const Placement& placement) {
    const std::byte* data = store->place(placement);
    if (placed.insert(data).second) placed_bytes += WeightStore::bytes_of(placement);
    return data;
}

const float* Walk::vector(const std::string& name, std::int64_t n) {
    const Tensor& tensor = expect(name, {n});
    if (tensor.type != Type::f32) {
        throw Error{fmt::format("{}: tensor '{}' is {}; norms and biases must be f32", file.path(),
                                name, type_name(tensor.type))};
    }
    if (store == nullptr) return nullptr;
    return reinterpret_cast<const float*>(put({&tensor, 1, 1, 1, 0}));
}

// The variant that multiplies matrices of this type, and so decides their layout.
const VariantBase* Walk::packer(Type type) const {
    if (plan == nullptr) return nullptr;
    if (plan->block->joined) return &plan->variant<Products>();  // the others' layout is its
    switch (type) {
        case Type::q4_0:
            return &plan->variant<Q4_0Matvec>();
        case Type::q5_k:
            return &plan->variant<Q5_KMatvec>();
        case Type::q6_k:
            return &plan->variant<Q6_KMatvec>();
        case Type::q8_0:
            return &plan->variant<Q8_0Matvec>();
        case Type::f32:
            return &plan->variant<F32Matvec>();
        default:
            return &plan->variant<OtherMatvec>();
    }
}

template <class Shape>
void add_shape(std::vector<Shape>& shapes, const Shape& shape) {
    const std::string text = to_text(shape);
    const auto same = [&](const Shape& other) { return to_text(other) == text; };
    if (std::none_of(shapes.begin(), shapes.end(), same)) shapes.push_back(shape);
}

void Walk::note_matvec(const Matrix& m) {
    const MatvecShape shape{m.groups, m.rows, m.cols};
    const MatmulShape batch{m.groups, m.rows, m.cols, m.groups * kDefaultBatch};
    UsedShapes& shapes = uses.shapes;
    switch (m.type) {
        case Type::q4_0:
            add_shape(std::get<Uses<Q4_0Matmul>>(shapes).shapes, batch);
            return add_shape(std::get<Uses<Q4_0Matvec>>(shapes).shapes, shape);
        case Type::q5_k:
            add_shape(std::get<Uses<Q5_KMatmul>>(shapes).shapes, batch);
            return add_shape(std::get<Uses<Q5_KMatvec>>(shapes).shapes, shape);
        case Type::q6_k:
            add_shape(std::get<Uses<Q6_KMatmul>>(shapes).shapes, batch);
            return add_shape(std::get<Uses<Q6_KMatvec>>(shapes).shapes, shape);
        case Type::q8_0:
            add_shape(std::get<Uses<Q8_0Matmul>>(shapes).shapes, batch);
            return add_shape(std::get<Uses<Q8_0Matvec>>(shapes).shapes, shape);
        case Type::f32:
            return add_shape(std::get<Uses<F32Matvec>>(shapes).shapes, shape);
        default:
            return add_shape(std::get<Uses<OtherMatvec>>(shapes).shapes,
                             {m.type, m.groups, m.rows, m.cols});
    }
}

Matrix Walk::place(Matrix m, Placement placement, bool used_by_matvec) {
    m.type = placement.type();
    if (used_by_matvec) note_matvec(m);
    if (store == nullptr) return m;
    if (placement.packer == nullptr && used_by_matvec) placement.packer = packer(m.type);
    const bool packed = placement.packer != nullptr && placement.packer->pack != nullptr;
    m.group_bytes =
        packed ? placement.packer->packed_bytes({m.rows, m.cols, m.type}) : m.source_bytes();
    m.data = put(placement);
    return m;
}

Matrix Walk::matrix(const std::string& name, std::int64_t rows, std::int64_t cols,
                    std::int64_t groups) {
    const Tensor& tensor =
        groups == 1 ? expect(name, {cols, rows}) : expect(name, {cols, rows, groups});
    if (block_values(tensor.type) > 1) uses.traits.quantised = true;
    return place({tensor.type, groups, rows, cols}, {&tensor, groups, rows, rows, 0}, true);
}

// attn_k_b and attn_v_b, or the older attn_kv_b that holds both (per head: K rows, then V rows).
// What a file lacks in the orientation that the step wants is transposed into floats.
void Walk::key_value_up(Block& block, const std::string& prefix) {
    const Config& c = config;
    const bool absorbed =
        plan == nullptr || (plan->mla->cache != CacheForm::full && !plan->mla->folded);
    const bool materialised = plan != nullptr && plan->mla->cache == CacheForm::full;
    if (c.split_kv_b) {
        const std::string name = prefix + "attn_k_b.weight";
        const Tensor& k_b = expect(name, {c.n_nope, c.kv_rank, c.n_heads});
        if (absorbed) block.attn_k_b = matrix(name, c.kv_rank, c.n_nope, c.n_heads);
        if (materialised) {
            block.attn_k_rows =
                place({Type::f32, c.n_heads, c.n_nope, c.kv_rank},
                      {&k_b, c.n_heads, c.kv_rank, c.kv_rank, 0, nullptr, true}, true);
        }
        block.attn_v_b = matrix(prefix + "attn_v_b.weight", c.n_value, c.kv_rank, c.n_heads);
        return;
    }
    const std::int64_t stride = c.n_nope + c.n_value;
    const Tensor& both = expect(prefix + "attn_kv_b.weight", {c.kv_rank, c.n_heads * stride});
    if (absorbed) {
        block.attn_k_b = place({Type::f32, c.n_heads, c.kv_rank, c.n_nope},
                               {&both, c.n_heads, c.n_nope, stride, 0, nullptr, true}, true);
    }
    if (materialised) {
        block.attn_k_rows = place({both.type, c.n_heads, c.n_nope, c.kv_rank},
                                  {&both, c.n_heads, c.n_nope, stride, 0}, true);
    }
    block.attn_v_b = place({both.type, c.n_heads, c.n_value, c.kv_rank},
                           {&both, c.n_heads, c.n_value, stride, c.n_nope}, true);
}

void Walk::query(Block& block, const std::string& prefix) {
    const Config& c = config;
    if (c.q_rank != 0) {
        block.attn_q_a = matrix(prefix + "attn_q_a.weight", c.q_rank, c.dim);
        block.attn_q_a_norm = vector(prefix + "attn_q_a_norm.weight", c.q_rank);
    }
    if (plan != nullptr && plan->mla->folded) return;
    Matrix& heads = c.q_rank == 0 ? block.attn_q : block.attn_q_b;
    heads = matrix(prefix + query_name(), c.n_heads * c.head_size(), query_cols());
}

// The rotated rows of each head as they are, and the others multiplied by the head's k_b.
void Walk::folded_query(Block& block, const std::string& prefix) {
    const Config& c = config;
    uses.traits.query_ranked = c.q_rank != 0;
    uses.traits.keys_fold = c.split_kv_b && query_cols() % block_values(Type::q8_0) == 0;
    if (!uses.traits.keys_fold || (plan != nullptr && !plan->mla->folded)) return;
    const std::int64_t cols = query_cols();
    const Tensor& query = expect(prefix + query_name(), {cols, c.n_heads * c.head_size()});
    const Tensor& k_b = expect(prefix + "attn_k_b.weight", {c.n_nope, c.kv_rank, c.n_heads});
    block.attn_q_rot = place({query.type, 1, c.n_heads * c.n_rot, cols},
                             {&query, c.n_heads, c.n_rot, c.head_size(), c.n_nope}, true);
    block.attn_q_folded =
        place({Type::q8_0, 1, c.n_heads * c.kv_rank, cols},
              {&query, c.n_heads, c.n_nope, c.head_size(), 0, nullptr, false, &k_b}, true);
}

void Walk::attention(Block& block, const std::string& prefix) {
    const Config& c = config;
    block.attn_norm = vector(prefix + "attn_norm.weight", c.dim);
    query(block, prefix);
    block.attn_kv_a_mqa = matrix(prefix + "attn_kv_a_mqa.weight", c.latent_size(), c.dim);
    block.attn_kv_a_norm = vector(prefix + "attn_kv_a_norm.weight", c.kv_rank);
    key_value_up(block, prefix);
    folded_query(block, prefix);
    block.attn_output = matrix(prefix + "attn_output.weight", c.dim, c.n_heads * c.n_value);
    block.ffn_norm = vector(prefix + "ffn_norm.weight", c.dim);
}

// One of the experts' tensors: whole for op q4_0_experts, expert by expert for a matvec.
Matrix Walk::expert_matrix(const Tensor& tensor, std::int64_t rows, std::int64_t cols,
                           std::int64_t stride, std::int64_t first) {
    const bool fused = plan != nullptr && !plan->block->joined && plan->moe->needs_q4_0_experts;
    const VariantBase* by = nullptr;
    if (plan != nullptr) by = fused ? &plan->variant<Q4_0Experts>() : packer(tensor.type);
    if (tensor.type != Type::q4_0) uses.traits.experts_are_q4_0 = false;
    if (plan == nullptr) note_matvec({tensor.type, 1, rows, cols});
    return place({tensor.type, config.n_experts, rows, cols},
                 {&tensor, config.n_experts, rows, stride, first, by}, false);
}

void Walk::experts(Block& block, const std::string& prefix) {
    const Config& c = config;
    block.ffn_gate_inp = matrix(prefix + "ffn_gate_inp.weight", c.n_experts, c.dim);
    if (file.tensor(prefix + "exp_probs_b.bias") != nullptr) {
        block.exp_probs_b = vector(prefix + "exp_probs_b.bias", c.n_experts);
    }
    if (file.tensor(prefix + "ffn_gate_up_exps.weight") != nullptr) {
        const Tensor& both =
            expect(prefix + "ffn_gate_up_exps.weight", {c.dim, 2 * c.expert_ff, c.n_experts});
        block.ffn_gate_exps = expert_matrix(both, c.expert_ff, c.dim, 2 * c.expert_ff, 0);
        block.ffn_up_exps = expert_matrix(both, c.expert_ff, c.dim, 2 * c.expert_ff, c.expert_ff);
    } else {
        const std::vector<std::int64_t> dims{c.dim, c.expert_ff, c.n_experts};
        block.ffn_gate_exps = expert_matrix(expect(prefix + "ffn_gate_exps.weight", dims),
                                            c.expert_ff, c.dim, c.expert_ff, 0);
        block.ffn_up_exps = expert_matrix(expect(prefix + "ffn_up_exps.weight", dims), c.expert_ff,
                                          c.dim, c.expert_ff, 0);
    }
    block.ffn_down_exps =
        expert_matrix(expect(prefix + "ffn_down_exps.weight", {c.expert_ff, c.dim, c.n_experts}),
                      c.dim, c.expert_ff, c.dim, 0);
    if (c.n_shared_experts == 0) return;
    block.ffn_gate = matrix(prefix + "ffn_gate_shexp.weight", c.shared_ff(), c.dim);
    block.ffn_up = matrix(prefix + "ffn_up_shexp.weight", c.shared_ff(), c.dim);
    block.ffn_down = matrix(prefix + "ffn_down_shexp.weight", c.dim, c.shared_ff());
}

Block Walk::block(std::int64_t index) {
    const std::string prefix = fmt::format("blk.{}.", index);
    Block block;
    attention(block, prefix);
    block.dense = config.is_dense(index);
    if (!block.dense) {
        experts(block, prefix);
        return block;
    }
    block.ffn_gate = matrix(prefix + "ffn_gate.weight", config.ff, config.dim);
    block.ffn_up = matrix(prefix + "ffn_up.weight", config.ff, config.dim);
    block.ffn_down = matrix(prefix + "ffn_down.weight", config.dim, config.ff);
    return block;
}

Weights Walk::weights() {
    const Config& c = config;
    Weights all;
    const Tensor& embedding = expect("token_embd.weight", {c.dim, c.n_vocab});
    const bool tied = file.tensor("output.weight") == nullptr;
    uses.traits.has_experts = c.n_dense_blocks < c.n_blocks;
    uses.traits.n_value = c.n_value;
    uses.traits.head_size = c.head_size();
    uses.traits.experts_are_q4_0 = uses.traits.has_experts;
    const bool joined = plan != nullptr && plan->block->joined;
    all.token_embd = place(
        {embedding.type, 1, c.n_vocab, c.dim},
        {&embedding, 1, c.n_vocab, c.n_vocab, 0, joined ? packer(embedding.type) : nullptr}, false);
    for (std::int64_t i = 0; i < c.n_blocks; ++i) all.blocks.push_back(block(i));
    all.output_norm = vector("output_norm.weight", c.dim);
    all.output = matrix(tied ? "token_embd.weight" : "output.weight", c.n_vocab, c.dim);
    return all;
}

std::int64_t bytes_read(const Matrix& m) { return m.present() ? m.groups * m.source_bytes() : 0; }

std::int64_t bytes_per_token(const Weights& w, const Config& c) {
    std::int64_t bytes = row_bytes(w.token_embd.type, c.dim) + bytes_read(w.output) + 4 * c.dim;
    for (const Block& b : w.blocks) {
        for (const Matrix* m :
             {&b.attn_q, &b.attn_q_a, &b.attn_q_b, &b.attn_q_rot, &b.attn_q_folded,
              &b.attn_kv_a_mqa, &b.attn_k_b, &b.attn_k_rows, &b.attn_v_b, &b.attn_output,
              &b.ffn_gate, &b.ffn_up, &b.ffn_down, &b.ffn_gate_inp}) {
            bytes += bytes_read(*m);
        }
        bytes += 4 * (2 * c.dim + c.q_rank + c.kv_rank);
        if (b.dense) continue;
        for (const Matrix* m : {&b.ffn_gate_exps, &b.ffn_up_exps, &b.ffn_down_exps}) {
            bytes += c.n_experts_used * m->source_bytes();
        }
        if (b.exp_probs_b != nullptr) bytes += 4 * c.n_experts;
    }
    return bytes;
}

// Sorts an op's shapes by the weight bytes of one call, most first.
template <class Op>
void sort_by_bytes(Uses<Op>& uses) {
    std::stable_sort(uses.shapes.begin(), uses.shapes.end(),
                     [](const typename Op::Shape& a, const typename Op::Shape& b) {
                         return Op::cost(a).weight_bytes > Op::cost(b).weight_bytes;
                     });
}

// A block in one op, for each type that its matrices have.
void add_block_shapes(std::vector<BlockDecodeShape>& shapes, const Config& c, const Block& b) {
    BlockDecodeShape shape{c.dim,     c.n_heads, c.q_rank, c.n_nope, c.n_rot,
                           c.n_value, c.kv_rank, 512,      Type::f32};
    const Matrix* attention[] = {&b.attn_v_b,      &b.attn_q,   &b.attn_q_a,   &b.attn_q_b,
                                 &b.attn_kv_a_mqa, &b.attn_k_b, &b.attn_output};
    const Matrix* experts[] = {&b.ffn_gate_exps, &b.ffn_up_exps, &b.ffn_down_exps};
    const Matrix* shared[] = {&b.ffn_gate, &b.ffn_up, &b.ffn_down};
    const auto width = [](const Matrix& m) { return m.present() ? m.rows : 0; };
    shape.type = b.attn_v_b.type;
    shape.shared = width(b.ffn_gate);
    if (shape.shared > 0) shape.shared_type = b.ffn_gate.type;
    if (!b.dense) {
        shape.n_experts = c.n_experts;
        shape.n_used = c.n_experts_used;
        shape.hidden = c.expert_ff;
        shape.expert_type = b.ffn_gate_exps.type;
        shape.router_type = b.ffn_gate_inp.type;
    }
    add_shape(shapes, shape);
    const auto add_types = [&](std::span<const Matrix* const> of, Type BlockDecodeShape::*field) {
        for (const Matrix* m : of) {
            BlockDecodeShape other = shape;
            other.*field = m->type;
            if (m->present()) add_shape(shapes, other);
        }
    };
    add_types(attention, &BlockDecodeShape::type);
    add_types(experts, &BlockDecodeShape::expert_type);
    add_types(shared, &BlockDecodeShape::shared_type);
}

// Of the joined ops; types are the first block's of each kind.
void note_joined_ops(UsedShapes& shapes, const Config& c, const Weights& w) {
    std::get<Uses<TokenRow>>(shapes).shapes = {{w.token_embd.type, c.n_vocab, c.dim}};
    std::get<Uses<GreedyToken>>(shapes).shapes = {{c.n_vocab}};
    const Block& last = w.blocks.back();
    std::get<Uses<Products>>(shapes).shapes = {
        {w.output.type, w.output.rows, w.output.cols, 1, 2},
        {last.attn_output.type, last.attn_output.rows, last.attn_output.cols, 1, 1, 2}};
    std::get<Uses<MlaDecode>>(shapes).shapes = {{c.n_heads, c.q_rank, c.n_nope, c.n_rot, c.n_value,
                                                 c.kv_rank, 512, Type::f32, last.attn_v_b.type}};
    for (const ProductsShape& shape : std::get<Uses<Products>>(shapes).shapes) {
        std::get<Uses<ProductsBatch>>(shapes).shapes.push_back({shape, kDefaultBatch});
    }
    std::get<Uses<MlaBatch>>(shapes).shapes = {
        {std::get<Uses<MlaDecode>>(shapes).shapes[0], kDefaultBatch}};
    auto& whole = std::get<Uses<BlockDecode>>(shapes).shapes;
    for (const Block& b : w.blocks) add_block_shapes(whole, c, b);
    if (last.dense) return;
    std::get<Uses<MoeDecode>>(shapes).shapes = {
        {c.n_experts, c.n_experts_used, c.dim, c.expert_ff, c.shared_ff(), last.ffn_gate_exps.type,
         last.ffn_gate.present() ? last.ffn_gate.type : Type::q4_0}};
    std::get<Uses<MoeBatch>>(shapes).shapes = {
        {std::get<Uses<MoeDecode>>(shapes).shapes[0], kDefaultBatch}};
}

void note_other_ops(UsedShapes& shapes, const Config& c, const ModelTraits& traits,
                    Type embedding) {
    std::get<Uses<DequantizeRow>>(shapes).shapes = {{embedding, c.dim}};
    auto& norms = std::get<Uses<RmsNorm>>(shapes).shapes;
    for (const std::int64_t n : {c.dim, c.q_rank, c.kv_rank}) {
        if (n > 0) add_shape(norms, RmsNormShape{n});
    }
    auto& quantising = std::get<Uses<RmsNormQ8>>(shapes).shapes;
    for (const std::int64_t n : {c.dim, c.q_rank}) {
        if (n > 0 && n % kActivationBlock == 0) add_shape(quantising, QuantizeShape{n});
    }
    std::get<Uses<Rope>>(shapes).shapes = {{c.n_heads, c.n_rot}, {1, c.n_rot}};
    auto& swiglu = std::get<Uses<Swiglu>>(shapes).shapes;
    for (const std::int64_t n : {c.ff, c.shared_ff()}) {
        if (n > 0) add_shape(swiglu, SwigluShape{n});
    }
    std::get<Uses<Add>>(shapes).shapes = {{c.dim}};
    std::get<Uses<MlaAttention>>(shapes).shapes = {{c.n_heads, c.kv_rank, c.n_rot, 512}};
    IntegerCacheOps::for_each([&]<class Op>() {
        const typename Op::Shape shape{c.n_heads, c.kv_rank, c.n_rot, 512};
        if (shape.problem().empty()) std::get<Uses<Op>>(shapes).shapes = {shape};
    });
    if (!traits.has_experts) return;
    std::get<Uses<MoeRouter>>(shapes).shapes = {{c.n_experts, c.n_experts_used}};
    if (!traits.experts_are_q4_0) return;
    std::get<Uses<Q4_0Experts>>(shapes).shapes = {
        {c.n_experts, c.n_experts_used, c.dim, c.expert_ff}};
}

}  // namespace

ModelUses model_uses(const GgufFile& file, const Config& config) {
    Walk walk{file, config};
    const Weights weights = walk.weights();
    note_other_ops(walk.uses.shapes, config, walk.uses.traits, weights.token_embd.type);
    note_joined_ops(walk.uses.shapes, config, weights);
    for_each_op(walk.uses.shapes, [](auto& uses) { sort_by_bytes(uses); });
    return walk.uses;
}

Weights place_weights(const GgufFile& file, const Config& config, const KernelPlan& plan,
                      WeightStore& store) {
    Walk walk{file, config, &plan, &store};
    Weights weights = walk.weights();
    weights.bytes_per_token = bytes_per_token(weights, config);
    weights.placed_bytes = walk.placed_bytes;
    return weights;
}

}  // namespace steady
