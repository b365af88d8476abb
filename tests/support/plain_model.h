// A deepseek2 model of any size with random weights, and what it computes: one plain program in
// double precision, written from the formulas and sharing nothing with the engine but the meaning
// of the number formats. It recomputes everything for each position and keeps no cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace steady::plain {

using Values = std::vector<double>;

struct Yarn {
    double factor = 40, original_context = 4096, log_multiplier = 0.0707;
};

struct Sizes {
    int dim = 64, blocks = 2, dense = 1, heads = 2;
    int q_rank = 32;  // 0: one query matrix
    int kv_rank = 32, rot = 8, nope = 24, value = 16;
    int ff = 96, experts = 4, used = 2, expert_ff = 32, shared = 1;
    bool sigmoid = true, bias = true, normalise = true, tied = false;
    double scale = 1.8, base = 1e6, epsilon = 1e-5;
    std::optional<Yarn> yarn{};
    int vocab = 48;
    int head() const { return nope + rot; }
};

// By pointers: in a sanitized build the operators of vectors and their iterators take most of the
// time.
template <class Number>
double dot(const Number* a, const double* b, std::size_t n, double sum = 0) {
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

// Weights by GGUF name, matrices row by row.
struct Model {
    Sizes sizes;
    std::map<std::string, std::vector<float>> weights;

    // y[r] = Σ w[first_row + r][c] · x[c]
    Values times(const std::string& name, const Values& x, int rows, int first_row = 0) const {
        const std::vector<float>& w = weights.at(name);
        Values y(static_cast<std::size_t>(rows));
        for (std::size_t r = 0; r < y.size(); ++r) {
            const std::size_t row = (static_cast<std::size_t>(first_row) + r) * x.size();
            if (row + x.size() > w.size()) throw std::out_of_range(name);
            y[r] = dot(w.data() + row, x.data(), x.size());
        }
        return y;
    }

    Values norm(const Values& x, const std::string& name) const {
        const std::vector<float>& w = weights.at(name);
        double squares = 0;
        for (const double v : x) squares += v * v;
        const double root = std::sqrt(squares / static_cast<double>(x.size()) + sizes.epsilon);
        Values y(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / root * static_cast<double>(w[i]);
        return y;
    }

    Values swiglu(const std::string& gate, const std::string& up, const std::string& down,
                  const Values& x, int hidden, int first = 0) const {
        const Values g = times(gate, x, hidden, first * hidden);
        Values h = times(up, x, hidden, first * hidden);
        for (std::size_t i = 0; i < h.size(); ++i) h[i] *= g[i] / (1 + std::exp(-g[i]));
        return times(down, h, sizes.dim, first * sizes.dim);
    }

    double angle(int pair, int position) const {
        const double n = sizes.rot;
        const double plain = position * std::pow(sizes.base, -2.0 * pair / n);
        if (!sizes.yarn) return plain;
        const auto correction = [&](double turns) {
            return n * std::log(sizes.yarn->original_context / (2 * std::numbers::pi * turns)) /
                   (2 * std::log(sizes.base));
        };
        const double low = std::max(0.0, std::floor(correction(32)));
        const double high = std::min(n - 1, std::ceil(correction(1)));
        const double ramp = 1 - std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
        return plain * (ramp + (1 - ramp) / sizes.yarn->factor);
    }

    // The last `rot` values of x, in interleaved pairs.
    void rotate(Values& x, int position) const {
        const std::size_t start = x.size() - static_cast<std::size_t>(sizes.rot);
        for (int i = 0; i < sizes.rot / 2; ++i) {
            double& a = x[start + 2 * static_cast<std::size_t>(i)];
            double& b = x[start + 2 * static_cast<std::size_t>(i) + 1];
            const double t = angle(i, position);
            const double turned = a * std::cos(t) - b * std::sin(t);
            b = a * std::sin(t) + b * std::cos(t);
            a = turned;
        }
    }

    double attention_scale() const {
        const double plain = 1 / std::sqrt(static_cast<double>(sizes.head()));
        if (!sizes.yarn) return plain;
        const double m = 1 + sizes.yarn->log_multiplier * std::log(sizes.yarn->factor);
        return m * m * plain;
    }

    struct Row {  // of one position
        Values latent, k_pe;
    };

    // Keys and values of each head in full: nothing is absorbed.
    Values attention(const std::string& b, const Values& h, int position,
                     std::vector<Row>& rows) const {
        const Sizes& s = sizes;
        const int q_rows = s.heads * s.head();
        Values q =
            s.q_rank == 0
                ? times(b + "attn_q.weight", h, q_rows)
                : times(b + "attn_q_b.weight",
                        norm(times(b + "attn_q_a.weight", h, s.q_rank), b + "attn_q_a_norm.weight"),
                        q_rows);
        Values kv = times(b + "attn_kv_a_mqa.weight", h, s.kv_rank + s.rot);
        Row row;
        row.latent = norm({kv.begin(), kv.begin() + s.kv_rank}, b + "attn_kv_a_norm.weight");
        row.k_pe.assign(kv.begin() + s.kv_rank, kv.end());
        rotate(row.k_pe, position);
        rows.push_back(row);
        Values all;
        for (int head = 0; head < s.heads; ++head) {
            Values query(q.begin() + head * s.head(), q.begin() + (head + 1) * s.head());
            rotate(query, position);
            Values scores, out(static_cast<std::size_t>(s.value));
            double sum = 0;
            for (const Row& at : rows) {
                const Values key = times(b + "k", at.latent, s.nope, head * s.nope);
                const double latent = dot(key.data(), query.data(), key.size());
                scores.push_back(attention_scale() * dot(at.k_pe.data(), query.data() + s.nope,
                                                         at.k_pe.size(), latent));
            }
            const double most = *std::max_element(scores.begin(), scores.end());
            for (double& score : scores) sum += score = std::exp(score - most);
            for (std::size_t t = 0; t < rows.size(); ++t) {
                const Values v =
                    times(b + "attn_v_b.weight", rows[t].latent, s.value, head * s.value);
                for (std::size_t i = 0; i < v.size(); ++i) out[i] += scores[t] / sum * v[i];
            }
            all.insert(all.end(), out.begin(), out.end());
        }
        return times(b + "attn_output.weight", all, s.dim);
    }

    Values experts(const std::string& b, const Values& h) const {
        const Sizes& s = sizes;
        Values probs = times(b + "ffn_gate_inp.weight", h, s.experts);
        const double most = *std::max_element(probs.begin(), probs.end());
        double all = 0;
        for (double& p : probs) all += p = s.sigmoid ? 1 / (1 + std::exp(-p)) : std::exp(p - most);
        for (double& p : probs) p /= s.sigmoid ? 1 : all;
        std::vector<int> order(static_cast<std::size_t>(s.experts));
        std::iota(order.begin(), order.end(), 0);
        const auto score = [&](int e) {
            const auto at = static_cast<std::size_t>(e);
            return probs[at] +
                   (s.bias ? static_cast<double>(weights.at(b + "exp_probs_b.bias")[at]) : 0);
        };
        std::sort(order.begin(), order.end(), [&](int x, int y) { return score(x) > score(y); });
        order.resize(static_cast<std::size_t>(s.used));
        double sum = 0;
        for (const int e : order) sum += probs[static_cast<std::size_t>(e)];
        Values y(h.size());
        for (const int e : order) {
            const double weight = probs[static_cast<std::size_t>(e)] /
                                  (s.normalise ? std::max(sum, 6.103515625e-5) : 1) * s.scale;
            const Values one = swiglu(b + "ffn_gate_exps.weight", b + "ffn_up_exps.weight",
                                      b + "ffn_down_exps.weight", h, s.expert_ff, e);
            for (std::size_t i = 0; i < y.size(); ++i) y[i] += weight * one[i];
        }
        if (s.shared == 0) return y;
        const Values one = swiglu(b + "ffn_gate_shexp.weight", b + "ffn_up_shexp.weight",
                                  b + "ffn_down_shexp.weight", h, s.shared * s.expert_ff);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += one[i];
        return y;
    }

    // Logits of the last token.
    std::vector<float> logits(const std::vector<std::int32_t>& tokens) const {
        std::vector<std::vector<Row>> rows(static_cast<std::size_t>(sizes.blocks));
        Values x;
        for (std::size_t p = 0; p < tokens.size(); ++p) {
            const std::vector<float>& table = weights.at("token_embd.weight");
            const auto row = table.begin() + tokens[p] * sizes.dim;
            x.assign(row, row + sizes.dim);
            for (int i = 0; i < sizes.blocks; ++i) {
                const std::string b = "blk." + std::to_string(i) + ".";
                const Values a = attention(b, norm(x, b + "attn_norm.weight"), static_cast<int>(p),
                                           rows[static_cast<std::size_t>(i)]);
                for (std::size_t j = 0; j < x.size(); ++j) x[j] += a[j];
                const Values h = norm(x, b + "ffn_norm.weight");
                const Values f = i < sizes.dense
                                     ? swiglu(b + "ffn_gate.weight", b + "ffn_up.weight",
                                              b + "ffn_down.weight", h, sizes.ff)
                                     : experts(b, h);
                for (std::size_t j = 0; j < x.size(); ++j) x[j] += f[j];
            }
        }
        const Values y = times(sizes.tied ? "token_embd.weight" : "output.weight",
                               norm(x, "output_norm.weight"), sizes.vocab);
        return {y.begin(), y.end()};
    }
};

}  // namespace steady::plain
