// Random bits from SHA-256. The hash is used because its bits are fair and independent for every
// practical purpose, the same on every machine and easy to recompute.
#include "runner/plan/schedule.h"

#include <openssl/sha.h>

#include <array>

namespace steady {

namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest_of(const std::array<std::uint64_t, 5>& fields) {
    std::array<unsigned char, 5 * 8> bytes{};
    for (std::size_t field = 0; field < fields.size(); ++field)
        for (std::size_t byte = 0; byte < 8; ++byte)
            bytes[8 * field + byte] = static_cast<unsigned char>(fields[field] >> (8 * byte));
    Digest digest{};
    SHA256(bytes.data(), bytes.size(), digest.data());
    return digest;
}

}  // namespace

int coin(std::uint64_t seed, std::uint64_t gate, std::uint64_t pair, std::uint64_t attempt,
         std::uint64_t block) {
    return digest_of({seed, gate, pair, attempt, block})[0] & 1;
}

std::string draw_coins(std::uint64_t seed, std::uint64_t gate, std::uint64_t pair,
                       std::uint64_t attempt, int n_blocks) {
    std::string coins;
    for (int block = 0; block < n_blocks; ++block)
        coins += coin(seed, gate, pair, attempt, static_cast<std::uint64_t>(block)) ? '1' : '0';
    return coins;
}

std::uint64_t draw_layout_seed(std::uint64_t seed, std::uint64_t gate, std::uint64_t pair,
                               std::uint64_t attempt) {
    const Digest digest = digest_of({seed, gate, pair, attempt, ~std::uint64_t{0}});
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
        value |= static_cast<std::uint64_t>(digest[byte]) << (8 * byte);
    return value;
}

std::uint64_t coin_index(const Spec& spec, PairKind kind, int number) {
    const auto offset = static_cast<std::uint64_t>(number);
    switch (kind) {
        case PairKind::aa:
            return offset;
        case PairKind::measure:
            return static_cast<std::uint64_t>(spec.schedule.aa_pairs) + offset;
        case PairKind::control:
            return (std::uint64_t{1} << 32) + offset;
        case PairKind::warmup:
            return (std::uint64_t{1} << 33) + offset;
    }
    return offset;
}

Pair draw_pair(const Spec& spec, int coins_per_pair, std::uint64_t seed, int gate, PairKind kind,
               int number, int attempt) {
    Pair pair;
    pair.gate = gate;
    pair.number = number;
    pair.attempt = attempt;
    pair.kind = kind;
    pair.coins = draw_coins(seed, static_cast<std::uint64_t>(gate), coin_index(spec, kind, number),
                            static_cast<std::uint64_t>(attempt), coins_per_pair);
    return pair;
}

std::uint64_t layout_seed_of(const Spec& spec, std::uint64_t seed, const Pair& pair) {
    return draw_layout_seed(seed, static_cast<std::uint64_t>(pair.gate),
                            coin_index(spec, pair.kind, pair.number),
                            static_cast<std::uint64_t>(pair.attempt));
}

char opens_first(std::uint64_t layout_seed) { return (layout_seed & 1U) != 0 ? 'B' : 'A'; }

std::vector<Pair> make_schedule(const Spec& spec, const Plan& plan, std::uint64_t seed) {
    std::vector<Pair> schedule;
    for (const Measurement& one : plan.measurements) {
        const auto add = [&](PairKind kind, int n) {
            for (int number = 0; number < n; ++number)
                schedule.push_back(
                    draw_pair(spec, plan.coins_per_pair, seed, one.owner, kind, number, 0));
        };
        add(PairKind::aa, one.aa_pairs);
        add(PairKind::control, one.control_pairs);
        add(PairKind::measure, one.pairs_max);
    }
    return schedule;
}

}  // namespace steady
