// Splits text into the pieces that byte-level BPE then merges, by a list of regular expressions,
// each applied to what the previous one left. Names are those of GGUF files: glm4 (also
// chatglm-bpe), deepseek-llm, youtu.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace steady {

class Pretokenizer {
public:
    // Error listing the known names if `name` is not one of them.
    explicit Pretokenizer(std::string_view name);
    ~Pretokenizer();
    Pretokenizer(Pretokenizer&&) noexcept;
    Pretokenizer& operator=(Pretokenizer&&) noexcept;

    static bool knows(std::string_view name);
    static std::string names();  // "glm4, …"

    // The lengths of the pieces in bytes; they add up to text.size(). Any bytes are accepted: what
    // is not UTF-8 counts as U+FFFD, byte by byte. Time is linear in the text.
    std::vector<std::size_t> split(std::string_view text) const;

private:
    struct Rules;
    std::unique_ptr<Rules> rules_;
};

}  // namespace steady
