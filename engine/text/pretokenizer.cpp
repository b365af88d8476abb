// The regular expressions are those of llama.cpp, whose token numbers are the reference, with its
// habits made explicit: white space is one fixed set of characters, wide spaces are never part of
// another class, and youtu's letters are not told apart by case. Unicode classes come from PCRE2.
#include "engine/text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <span>

#include "kernels/base/error.h"
#include "kernels/base/utf8.h"

namespace steady {
namespace {

// White space, as the inside of a class.
constexpr std::string_view kSpace =
    "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}";

constexpr std::string_view kContraction =
    "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";

// Letters, numbers and marks, as the inside of a class: those of PCRE2 10.42, which knows Unicode
// 14, and those of Unicode 15.1, which the reference knows.
constexpr std::string_view kLetter =
    "\\p{L}\\x{11240}\\x{1123F}\\x{11F02}\\x{11F04}-\\x{11F10}\\x{11F12}-\\x{11F33}\\x{1342F}"
    "\\x{13441}-\\x{13446}\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}"
    "\\x{1E4D0}-\\x{1E4EB}\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}";
constexpr std::string_view kNumber =
    "\\p{N}\\x{11F50}-\\x{11F59}\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}";
constexpr std::string_view kMark =
    "\\p{M}\\x{CF3}\\x{ECE}\\x{10EFD}-\\x{10EFF}\\x{11241}\\x{11F00}\\x{11F01}\\x{11F03}"
    "\\x{11F34}-\\x{11F3A}\\x{11F3E}-\\x{11F42}\\x{13440}\\x{13447}-\\x{13455}\\x{1E08F}"
    "\\x{1E4EC}-\\x{1E4EF}";

// {0}: white space, {1}: contractions, {2}: DeepSeek's letters, {3}: letters, {4}: numbers,
// {5}: marks.
constexpr std::string_view kGlm4Piece =
    "{1}|[^\\r\\n{3}{4}]?[{3}]+|[{4}]{{1,3}}"
    "| ?[^{0}{3}{4}]+[\\r\\n]*|[{0}]*[\\r\\n]+|[{0}]+(?![^{0}])|[{0}]+";
constexpr std::string_view kGlm4[] = {kGlm4Piece};

// Hangul; CJK punctuation; Bopomofo; Han and kana.
constexpr std::string_view kYoutuEastern =
    "[\\x{{AC00}}-\\x{{D7A3}}\\x{{3131}}-\\x{{318E}}]+"
    "|[\\x{{FF01}}\\x{{2026}}\\x{{201C}}\\x{{201D}}\\x{{2018}}\\x{{2019}}\\x{{2014}}\\x{{FF1A}}"
    "\\x{{FF1B}}\\x{{FF0C}}\\x{{3001}}-\\x{{303F}}\\x{{FE30}}-\\x{{FE4F}}]+"
    "|[\\x{{3105}}-\\x{{312F}}]+"
    "|[\\x{{4E00}}-\\x{{9FA5}}\\x{{3040}}-\\x{{309F}}\\x{{30A0}}-\\x{{30FF}}]+";
constexpr std::string_view kYoutuPiece =
    "[^\\r\\n{3}{4}]?[{3}{5}]+{1}?|[{4}]"
    "| ?[^{0}{3}{4}]+[\\r\\n/]*|[{0}]*[\\r\\n]+|[{0}]+(?![^{0}])|[{0}]+";
constexpr std::string_view kYoutuPatterns[] = {kYoutuEastern, kYoutuPiece};

// Letters of the scripts with case, as DeepSeek's vocabulary lists them: the inside of a class.
constexpr std::string_view kDeepseekLetters =
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}"
    "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}"
    "\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}"
    "\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}"
    "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}"
    "\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}"
    "\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}"
    "\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}"
    "\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}"
    "\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}"
    "\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}"
    "\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}"
    "\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}"
    "\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}"
    "\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}";

// "" stands for the white space at the end of a piece: as a regular expression, [{0}]+$ would
// take quadratic time on a long run of spaces.
constexpr std::string_view kTrailingSpace = "";

constexpr std::string_view kDeepseekWord = "[{0}]?[{2}]+";
constexpr std::string_view kDeepseekPunctuation =
    "[{0}]?[!-/:-~\\x{{FF01}}-\\x{{FF0F}}\\x{{FF1A}}-\\x{{FF5E}}\\x{{2018}}-\\x{{201F}}"
    "\\x{{3001}}\\x{{3002}}]+";
// U+0800 to U+9FA5 less white space, and Hangul.
constexpr std::string_view kDeepseekEastern =
    "[\\x{{800}}-\\x{{167F}}\\x{{1681}}-\\x{{1FFF}}\\x{{200B}}-\\x{{2027}}\\x{{202A}}-\\x{{202E}}"
    "\\x{{2030}}-\\x{{205E}}\\x{{2060}}-\\x{{2FFF}}\\x{{3001}}-\\x{{9FA5}}"
    "\\x{{AC00}}-\\x{{D7FF}}]+";
constexpr std::string_view kDeepseekPatterns[] = {
    "[\\r\\n]", kDeepseekWord, kDeepseekPunctuation, kTrailingSpace, kDeepseekEastern, "[{4}]+"};

struct Family {
    std::string_view name;
    std::span<const std::string_view> expressions;
};

constexpr Family kFamilies[] = {{"glm4", kGlm4},
                                {"chatglm-bpe", kGlm4},
                                {"deepseek-llm", kDeepseekPatterns},
                                {"youtu", kYoutuPatterns}};

bool is_space(std::uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

using Pieces = std::vector<std::size_t>;

void push(Pieces& pieces, std::size_t length) {
    if (length != 0) pieces.push_back(length);
}

struct Code {
    pcre2_code* value;
    explicit Code(const std::string& pattern) {
        int error = 0;
        PCRE2_SIZE at = 0;
        value = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
        if (value == nullptr) {
            throw Error(
                fmt::format("pre-tokeniser: PCRE2 error {} at {} of '{}'", error, at, pattern),
                kExitInternal);
        }
        pcre2_jit_compile(value, PCRE2_JIT_COMPLETE);  // without JIT it is merely slower
    }
    ~Code() { pcre2_code_free(value); }
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
};

struct MatchData {
    pcre2_match_data* value = pcre2_match_data_create(1, nullptr);
    MatchData() = default;
    ~MatchData() { pcre2_match_data_free(value); }
    MatchData(const MatchData&) = delete;
    MatchData& operator=(const MatchData&) = delete;
};

// Cuts one piece at every match: before it, and behind it.
void cut_at_matches(const Code& code, const MatchData& match, std::string_view piece,
                    Pieces& pieces) {
    std::size_t at = 0;
    while (at < piece.size()) {
        const int found = pcre2_match(code.value, reinterpret_cast<PCRE2_SPTR>(piece.data()),
                                      piece.size(), at, PCRE2_NO_UTF_CHECK, match.value, nullptr);
        if (found == PCRE2_ERROR_NOMATCH) break;
        if (found < 0) {
            throw Error(fmt::format("pre-tokeniser: PCRE2 error {} at byte {} of a piece of {}",
                                    found, at, piece.size()),
                        kExitInternal);
        }
        const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.value);
        push(pieces, range[0] - at);
        push(pieces, range[1] - range[0]);
        at = range[1];
    }
    push(pieces, piece.size() - at);
}

void cut_trailing_space(std::string_view piece, Pieces& pieces) {
    std::size_t end = 0;  // of the last character that is not white space
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t length = utf8_length(piece, at);
        const std::size_t next = at + length;
        if (!is_space(utf8_decode(piece, at, length))) end = next;
        at = next;
    }
    push(pieces, end);
    push(pieces, piece.size() - end);
}

// Replaces every byte outside of UTF-8 by U+FFFD (three bytes).
std::string repaired(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            utf8_append(out, 0xFFFD);
        } else {
            out += text.substr(at, length);
        }
        at += length == 0 ? 1 : length;
    }
    return out;
}

// Lengths in the repaired text back to lengths in the original.
Pieces original_lengths(std::string_view text, const Pieces& repaired_lengths) {
    Pieces lengths;
    std::size_t at = 0;
    for (std::size_t wanted : repaired_lengths) {
        const std::size_t start = at;
        while (wanted > 0) {
            const std::size_t length = utf8_length(text, at);
            wanted -= length == 0 ? 3 : length;
            at += length == 0 ? 1 : length;
        }
        lengths.push_back(at - start);
    }
    return lengths;
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

}  // namespace

struct Pretokenizer::Rules {
    std::vector<std::unique_ptr<Code>> codes;  // nullptr: white space at the end
};

Pretokenizer::Pretokenizer(std::string_view name) : rules_(std::make_unique<Rules>()) {
    for (const Family& family : kFamilies) {
        if (family.name != name) continue;
        for (const std::string_view expression : family.expressions) {
            const bool is_regex = !expression.empty();
            rules_->codes.push_back(is_regex ? std::make_unique<Code>(fmt::format(
                                                   fmt::runtime(expression), kSpace, kContraction,
                                                   kDeepseekLetters, kLetter, kNumber, kMark))
                                             : nullptr);
        }
        return;
    }
    throw Error(fmt::format("pre-tokeniser: found '{}', allowed: {}", name, names()));
}

bool Pretokenizer::knows(std::string_view name) {
    return std::any_of(std::begin(kFamilies), std::end(kFamilies),
                       [&](const Family& family) { return family.name == name; });
}

std::string Pretokenizer::names() {
    std::string all;
    for (const Family& family : kFamilies) {
        all += all.empty() ? "" : ", ";
        all += family.name;
    }
    return all;
}

Pretokenizer::~Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;

std::vector<std::size_t> Pretokenizer::split(std::string_view text) const {
    if (text.empty()) return {};
    if (!is_utf8(text)) {
        const std::string valid = repaired(text);
        return original_lengths(text, split(valid));
    }
    const MatchData match;
    Pieces pieces{text.size()};
    for (const std::unique_ptr<Code>& code : rules_->codes) {
        Pieces finer;
        std::size_t at = 0;
        for (const std::size_t length : pieces) {
            const std::string_view piece = text.substr(at, length);
            code ? cut_at_matches(*code, match, piece, finer) : cut_trailing_space(piece, finer);
            at += length;
        }
        pieces = std::move(finer);
    }
    return pieces;
}

}  // namespace steady
