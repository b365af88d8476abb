// Damages GGUF files where it hurts: the mutator knows where lengths, counts, types, dimensions and
// offsets stand, and gives them values that have broken loaders. Every mutation follows from its
// seed alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace steady::test {

// Where a number stands in a file.
struct Field {
    std::size_t offset;
    std::size_t bytes;
};

// Walks a sound header. Only for files that the loader accepts.
class FieldWalker {
public:
    explicit FieldWalker(const std::string& file) : file_(file) {
        skip(4);
        number(4);
        const std::uint64_t n_tensors = number(8);
        const std::uint64_t n_entries = number(8);
        for (std::uint64_t i = 0; i < n_entries; ++i) walk_entry();
        for (std::uint64_t i = 0; i < n_tensors; ++i) walk_tensor();
    }
    const std::vector<Field>& fields() const { return fields_; }
    std::size_t header_bytes() const { return at_; }

private:
    std::uint64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, file_.data() + at_, bytes);
        fields_.push_back({at_, bytes});
        at_ += bytes;
        return value;
    }
    void skip(std::uint64_t bytes) { at_ += static_cast<std::size_t>(bytes); }
    void walk_text(bool wanted = true) {
        const std::uint64_t length = number(8);
        if (!wanted) fields_.pop_back();
        skip(length);
    }
    void walk_entry() {
        constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        walk_text();
        std::uint64_t type = number(4);
        std::uint64_t n = 1;
        if (type == 9) {
            type = number(4);
            n = number(8);
        }
        for (std::uint64_t i = 0; i < n; ++i) {
            const bool wanted = i < 4 || i + 2 > n;  // of long lists only the ends
            if (type == 8) {
                walk_text(wanted);
            } else {
                number(sizes[type]);
                if (!wanted) fields_.pop_back();
            }
        }
    }
    void walk_tensor() {
        walk_text();
        const std::uint64_t n_dims = number(4);
        for (std::uint64_t i = 0; i < n_dims; ++i) number(8);
        number(4);
        number(8);
    }

    const std::string& file_;
    std::size_t at_ = 0;
    std::vector<Field> fields_;
};

class Mutator {
public:
    explicit Mutator(std::string file) : file_(std::move(file)) {
        const FieldWalker walker(file_);
        fields_ = walker.fields();
        header_bytes_ = walker.header_bytes();
    }

    std::string mutate(std::uint64_t seed) const {
        std::mt19937_64 random(seed);
        std::string out = file_;
        const std::uint64_t n = 1 + random() % 3;
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::uint64_t kind = random() % 16;
            if (kind < 10) {
                change_field(out, random);
            } else if (kind < 12) {
                out[random() % std::min(out.size(), header_bytes_)] ^=
                    static_cast<char>(1U << (random() % 8));
            } else {
                change_shape(out, random, kind);
            }
            if (out.size() < header_bytes_) break;
        }
        return out;
    }

private:
    void change_field(std::string& out, std::mt19937_64& random) const {
        const Field& field = fields_[random() % fields_.size()];
        if (field.offset + field.bytes > out.size()) return;
        std::uint64_t value = 0;
        std::memcpy(&value, out.data() + field.offset, field.bytes);
        constexpr std::uint64_t interesting[] = {0,
                                                 1,
                                                 2,
                                                 3,
                                                 4,
                                                 8,
                                                 9,
                                                 12,
                                                 13,
                                                 31,
                                                 32,
                                                 33,
                                                 64,
                                                 255,
                                                 1ULL << 16,
                                                 (1ULL << 31) - 1,
                                                 1ULL << 31,
                                                 (1ULL << 32) - 1,
                                                 1ULL << 32,
                                                 1ULL << 40,
                                                 (1ULL << 61),
                                                 (1ULL << 63) - 1,
                                                 1ULL << 63,
                                                 ~0ULL - 31,
                                                 ~0ULL};
        switch (random() % 6) {
            case 0:
                value += 1;
                break;
            case 1:
                value -= 1;
                break;
            case 2:
                value = random();
                break;
            case 3:
                value ^= 1ULL << (random() % (8 * field.bytes));
                break;
            default:
                value = interesting[random() % std::size(interesting)];
        }
        std::memcpy(out.data() + field.offset, &value, field.bytes);
    }

    // Cuts, drops, doubles or swaps a stretch of the header.
    void change_shape(std::string& out, std::mt19937_64& random, std::uint64_t kind) const {
        const std::size_t from = fields_[random() % fields_.size()].offset;
        const std::size_t n = 1 + random() % 64;
        if (from + n > out.size()) return;
        const std::string stretch = out.substr(from, n);
        if (kind == 12) out.resize(from);
        if (kind == 13) out.erase(from, n);
        if (kind == 14) out.insert(from, stretch);
        if (kind == 15) out.replace(random() % (header_bytes_ - 64), n, stretch);
    }

    std::string file_;
    std::vector<Field> fields_;
    std::size_t header_bytes_ = 0;
};

}  // namespace steady::test
