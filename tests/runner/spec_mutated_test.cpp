// Whatever happens to a good file, the answer is a list of errors that point into it: never a
// crash, never an internal error, and the same meaning always has the same hash.
#include <gtest/gtest.h>

#include <random>

#include "runner/base/json_reader.h"
#include "runner/base/sha256.h"
#include "runner/base/text.h"
#include "runner/spec/spec.h"
#include "tests/runner/spec_files.h"

namespace steady {
namespace {

using Rng = std::mt19937_64;

std::size_t below(Rng& rng, std::size_t n) { return rng() % n; }

std::vector<std::string> good_texts() {
    std::vector<std::string> out;
    for (const auto& path : data_files("specs/good")) {
        out.push_back(read_file(path.string()));
    }
    return out;
}

void collect(JsonValue& value, std::vector<JsonValue*>& out) {
    out.push_back(&value);
    for (JsonMember& member : value.members) {
        collect(member.value, out);
    }
    for (JsonValue& item : value.items) {
        collect(item, out);
    }
}

JsonValue random_value(Rng& rng) {
    const char* const kValues[] = {"null",  "true", "-1",     "0",       "1e400",     "\"\"",
                                   "\"%\"", "[]",   "{}",     "[[1]]",   "\"1%\"",    "\"\\u0000\"",
                                   "1.5",   "7",    "\"..\"", "\"{x}\"", "\"model\"", "{\"A\":{}}"};
    return *read_json(kValues[below(rng, std::size(kValues))]).root;
}

void mutate_tree(JsonValue& root, Rng& rng) {
    std::vector<JsonValue*> all;
    collect(root, all);
    JsonValue& victim = *all[below(rng, all.size())];
    switch (below(rng, 6)) {
        case 0:
            victim = random_value(rng);
            break;
        case 1:
            if (!victim.members.empty()) {
                auto at = victim.members.begin() +
                          static_cast<std::ptrdiff_t>(below(rng, victim.members.size()));
                victim.members.erase(at);
            }
            break;
        case 2:
            if (!victim.members.empty()) {
                std::string& key = victim.members[below(rng, victim.members.size())].key;
                key.insert(below(rng, key.size() + 1), 1, "x~/\x01"[below(rng, 4)]);
            }
            break;
        case 3:
            if (!victim.members.empty()) {  // twice the same key
                victim.members.push_back(victim.members[below(rng, victim.members.size())]);
            }
            break;
        case 4:
            if (!victim.items.empty()) {
                std::swap(victim.items.front(), victim.items.back());
                victim.items.push_back(random_value(rng));
            }
            break;
        default:
            if (!victim.text.empty()) {
                victim.text.erase(below(rng, victim.text.size()));
                victim.kind = JsonValue::Kind::string;
                if (first_invalid_utf8(victim.text)) {
                    victim.text = "x";
                }
            }
    }
}

void expect_sound(const SpecResult& result, const std::string& text) {
    EXPECT_EQ(result.spec.has_value(), result.errors.empty());
    EXPECT_LE(result.errors.size(), 20U);
    const JsonDocument document = read_json(text);
    int line = 0;
    for (const SpecError& error : result.errors) {
        const bool exists = document.root
                                ? resolve_pointer(*document.root, error.pointer) != nullptr
                                : error.pointer.empty();
        EXPECT_TRUE(exists) << error.pointer << "\n" << text;
        EXPECT_GE(error.line, line);
        EXPECT_GE(error.column, 1);
        EXPECT_FALSE(error.found.empty());
        EXPECT_FALSE(error.allowed.empty());
        line = error.line;
        for (const char c : describe(error, "x.json")) {
            EXPECT_GE(static_cast<unsigned char>(c), 0x20) << "a raw control character";
        }
    }
}

TEST(SpecMutated, ThousandTreesPointToExistingPlaces) {
    if (STEADY_SANITIZED) GTEST_SKIP() << "changes files at random, as fuzz_spec does";
    const std::uint64_t seed = 20261121;
    Rng rng(seed);
    const std::vector<std::string> texts = good_texts();
    int n_refused = 0;
    for (int i = 0; i < 1000; ++i) {
        JsonValue root = *read_json(texts[below(rng, texts.size())]).root;
        for (std::size_t n = 1 + below(rng, 4); n > 0; --n) {
            const std::string before = canonical_json(root);
            while (canonical_json(root) == before) {
                mutate_tree(root, rng);
            }
        }
        const std::string text = canonical_json(root);
        const SpecResult result = parse_spec(text, "");
        n_refused += result.spec ? 0 : 1;
        expect_sound(result, text);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", file " << i;
    }
    EXPECT_GT(n_refused, 700);
}

TEST(SpecMutated, ThousandByteSlipsPointToExistingPlaces) {
    const std::uint64_t seed = 20261122;
    Rng rng(seed);
    const std::vector<std::string> texts = good_texts();
    for (int i = 0; i < 1000; ++i) {
        std::string text = texts[below(rng, texts.size())];
        const std::size_t at = below(rng, text.size());
        switch (below(rng, 4)) {
            case 0:
                text.resize(at);
                break;
            case 1:
                text.erase(at, 1 + below(rng, 8));
                break;
            case 2:
                text[at] = static_cast<char>(below(rng, 256));
                break;
            default:
                text.insert(at, 1, "{}[],:\"\\/*-0eE"[below(rng, 14)]);
        }
        expect_sound(parse_spec(text, ""), text);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", file " << i;
    }
}

// The same tree in another order of keys, with other spaces, comments, escapes and number forms.
void reformat(const JsonValue& value, Rng& rng, std::string& out) {
    const auto space = [&] {
        const char* const kSpaces[] = {"", " ", "\n  ", "\t", " /* , } */ ", "// \"x\": 1\n"};
        out += kSpaces[below(rng, std::size(kSpaces))];
    };
    const auto text = [&](const std::string& plain) {
        out += '"';
        for (const char c : plain) {
            if (c == '"' || c == '\\') {
                out += '\\';
            }
            if (static_cast<unsigned char>(c) < 0x80 && c != '"' && c != '\\' &&
                below(rng, 8) == 0) {
                const char* const kHex = "0123456789abcdef";
                out += std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
            } else {
                out += c;
            }
        }
        out += '"';
    };
    space();
    if (value.kind == JsonValue::Kind::object) {
        std::vector<const JsonMember*> members;
        for (const JsonMember& member : value.members) {
            members.push_back(&member);
        }
        std::shuffle(members.begin(), members.end(), rng);
        out += '{';
        for (std::size_t i = 0; i < members.size(); ++i) {
            out += i > 0 ? "," : "";
            space();
            text(members[i]->key);
            space();
            out += ':';
            reformat(members[i]->value, rng, out);
        }
        space();
        out += '}';
    } else if (value.kind == JsonValue::Kind::array) {
        out += '[';
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            out += i > 0 ? "," : "";
            reformat(value.items[i], rng, out);
        }
        space();
        out += ']';
    } else if (value.kind == JsonValue::Kind::string) {
        text(value.text);
    } else if (value.kind == JsonValue::Kind::number) {
        const bool fraction = value.text.find_first_of(".eE") != std::string::npos;
        const char* const kTails[] = {"", "0", "0e0"};
        out += value.text + (fraction ? kTails[below(rng, 3)] : "");
    } else {
        out += canonical_json(value);
    }
    space();
}

TEST(SpecMutated, HundredCopiesInOtherDressHaveOneHash) {
    if (STEADY_SANITIZED) GTEST_SKIP() << "changes files at random, as fuzz_spec does";
    Rng rng(20261123);
    for (const std::string& original : good_texts()) {
        const SpecResult expected = parse_spec(original, "");
        ASSERT_TRUE(expected.spec);
        const JsonValue root = *read_json(original).root;
        for (int i = 0; i < 100; ++i) {
            std::string copy;
            reformat(root, rng, copy);
            const SpecResult result = parse_spec(copy, "");
            ASSERT_TRUE(result.spec) << describe(result.errors.at(0), "copy") << "\n" << copy;
            ASSERT_EQ(result.spec->canonical, expected.spec->canonical);
            ASSERT_EQ(result.spec->sha256, expected.spec->sha256);
        }
        // and the canonical form is its own canonical form
        EXPECT_EQ(parse_spec(expected.spec->canonical, "").spec->sha256, expected.spec->sha256);
    }
}

TEST(SpecMutated, AnyChangeOfMeaningChangesTheHash) {
    const std::string text = read_data("specs/good/burn-1.json");
    std::string other = text;
    other.replace(other.find("\"max\": 200"), 10, "\"max\": 201");
    EXPECT_NE(parse_spec(text, "").spec->sha256, parse_spec(other, "").spec->sha256);
}

TEST(SpecMutated, HashIsSha256OfTheCanonicalText) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const SpecResult result = parse_spec(read_data("specs/good/burn-1.json"), "");
    ASSERT_TRUE(result.spec);
    EXPECT_EQ(result.spec->sha256, sha256_hex(result.spec->canonical));
}

TEST(SpecMutated, ManyErrorsAreCutAtTwenty) {
    std::string text = "{";
    for (int i = 0; i < 50; ++i) {
        text += "\"zz" + std::to_string(i) + "\": 1,\n";
    }
    const SpecResult result = parse_spec(text + "\"id\": 1}", "");
    EXPECT_EQ(result.errors.size(), 20U);
    ASSERT_FALSE(result.warnings.empty());
    EXPECT_NE(result.warnings.back().find("more errors"), std::string::npos);
}

}  // namespace
}  // namespace steady
