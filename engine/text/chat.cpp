// One table row per model: what stands before a turn, and what stands behind it.
#include "engine/text/chat.h"

#include <string_view>

namespace steady {
namespace {

struct Marks {
    std::string_view before, after;
};

struct Format {
    std::string_view begin;
    Marks system, user, assistant;
    std::string_view answer;  // where the model takes over
};

// GLM-4.7 opens with its reasoning; past answers are shown without theirs.
constexpr Format kGlm{.begin = "[gMASK]<sop>",
                      .system = {"<|system|>", ""},
                      .user = {"<|user|>", ""},
                      .assistant = {"<|assistant|></think>", ""},
                      .answer = "<|assistant|><think>"};

constexpr Format kDeepseek{.begin = "<｜begin▁of▁sentence｜>",
                           .system = {"", "\n\n"},
                           .user = {"User: ", "\n\n"},
                           .assistant = {"Assistant: ", "<｜end▁of▁sentence｜>"},
                           .answer = "Assistant:"};

constexpr Format kYoutu{.begin = "<|begin_of_text|>",
                        .system = {"", ""},
                        .user = {"<|User|>", ""},
                        .assistant = {"<|Assistant|>", "<|end_of_text|>"},
                        .answer = "<|Assistant|>"};

const Format& format_of(const std::string& pretokenizer) {
    if (pretokenizer == "deepseek-llm") return kDeepseek;
    return pretokenizer == "youtu" ? kYoutu : kGlm;
}

// Neighbouring stretches of the same kind are encoded together: BPE joins a mark that is plain
// text, such as "User: ", with the words behind it.
struct Stretches {
    const Tokenizer& tokenizer;
    std::vector<std::int32_t> tokens{};
    std::string plain{};

    void flush() {
        const auto more = tokenizer.encode(plain, false);
        tokens.insert(tokens.end(), more.begin(), more.end());
        plain.clear();
    }
    void mark(std::string_view text) {
        const auto whole = tokenizer.encode(text, true);
        // A mark without any special token is ordinary text.
        if (whole == tokenizer.encode(text, false)) {
            plain += text;
            return;
        }
        flush();
        tokens.insert(tokens.end(), whole.begin(), whole.end());
    }
};

}  // namespace

std::vector<std::int32_t> encode_chat(const Tokenizer& tokenizer, std::span<const ChatTurn> turns) {
    const Format& format = format_of(tokenizer.pretokenizer());
    Stretches out{.tokenizer = tokenizer};
    out.mark(format.begin);
    for (const ChatTurn& turn : turns) {
        const Marks& marks = turn.role == ChatRole::system ? format.system
                             : turn.role == ChatRole::user ? format.user
                                                           : format.assistant;
        out.mark(marks.before);
        out.plain += turn.text;
        out.mark(marks.after);
    }
    out.mark(format.answer);
    out.flush();
    return out.tokens;
}

}  // namespace steady
