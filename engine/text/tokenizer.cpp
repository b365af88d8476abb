// Special tokens cut the text, the pre-tokeniser cuts what lies between them, and each piece is
// merged on its own.
#include "engine/text/tokenizer.h"

#include <fmt/format.h>

#include "engine/text/byte_alphabet.h"
#include "engine/text/tokenizer_data.h"

namespace steady {
namespace {

using Tokens = std::vector<std::int32_t>;

void encode_bytes(const std::vector<std::int32_t>& symbol_tokens, std::string_view bytes,
                  Tokens& out) {
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        const std::int32_t token = symbol_tokens[byte];
        if (token < 0) {
            throw Error(
                fmt::format("tokenizer: found byte 0x{:02x} in the text, allowed: bytes "
                            "that the vocabulary has a token for",
                            byte));
        }
        out.push_back(token);
    }
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
    Tokens out;
    std::vector<Symbol> symbols;
    std::string encoded;
    const auto encode_piece = [&](std::string_view piece) {
        if (data_->whole_pieces_first) {
            encoded.clear();
            for (const char c : piece) encoded += byte_text(static_cast<std::uint8_t>(c));
            const auto whole = data_->tokens.find(encoded);
            if (whole != data_->tokens.end()) {
                out.push_back(whole->second);
                return;
            }
        }
        symbols.clear();
        for (const char c : piece) symbols.push_back(static_cast<unsigned char>(c));
        for (const Symbol symbol : data_->merger.run(symbols)) {
            const std::int32_t token = data_->symbol_tokens[static_cast<std::size_t>(symbol)];
            if (token >= 0) {
                out.push_back(token);
            } else {
                encode_bytes(data_->symbol_tokens, data_->orphans.at(symbol), out);
            }
        }
    };
    const auto encode_plain = [&](std::string_view plain) {
        std::size_t at = 0;
        for (const std::size_t length : data_->pretokenizer.split(plain)) {
            encode_piece(plain.substr(at, length));
            at += length;
        }
    };
    std::size_t at = 0;
    for (const SpecialMatch& match : data_->special.find(text, parse_special)) {
        encode_plain(text.substr(at, match.begin - at));
        out.push_back(match.token);
        at = match.begin + match.length;
    }
    encode_plain(text.substr(at));
    return out;
}

std::string_view Tokenizer::piece(std::int32_t token) const {
    if (token < 0 || token >= n_vocab()) return {};
    return data_->pieces[static_cast<std::size_t>(token)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
    std::string text;
    for (const std::int32_t token : tokens) text += piece(token);
    return text;
}

std::int32_t Tokenizer::n_vocab() const { return static_cast<std::int32_t>(data_->texts.size()); }

std::optional<std::int32_t> Tokenizer::find(std::string_view text) const {
    const auto found = data_->tokens.find(text);
    if (found == data_->tokens.end()) return std::nullopt;
    return found->second;
}

std::optional<std::int32_t> Tokenizer::bos() const { return data_->bos; }
std::optional<std::int32_t> Tokenizer::eos() const { return data_->eos; }
bool Tokenizer::add_bos() const { return data_->add_bos; }
const std::string& Tokenizer::pretokenizer() const { return data_->name; }

bool Tokenizer::is_stop(std::int32_t token) const {
    return token >= 0 && token < n_vocab() && data_->stops[static_cast<std::size_t>(token)];
}

}  // namespace steady
