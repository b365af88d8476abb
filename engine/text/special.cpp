// Every occurrence of every token is collected first, then they are granted their bytes from the
// longest token to the shortest. One hash look-up for each possible length at a position, and only
// where a special token's first byte stands.
#include "engine/text/special.h"

#include <algorithm>

namespace steady {

void SpecialTokens::add(std::string_view text, std::int32_t token, bool control) {
    if (text.empty()) return;
    tokens_.insert_or_assign(std::string(text), Entry{token, control});
    auto& lengths = lengths_[static_cast<unsigned char>(text[0])];
    const auto place =
        std::lower_bound(lengths.begin(), lengths.end(), text.size(), std::greater<>());
    if (place == lengths.end() || *place != text.size()) lengths.insert(place, text.size());
}

std::vector<SpecialMatch> SpecialTokens::find(std::string_view text, bool controls) const {
    std::vector<SpecialMatch> found;
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (const std::size_t length : lengths_[static_cast<unsigned char>(text[at])]) {
            if (length > text.size() - at) continue;
            const auto entry = tokens_.find(text.substr(at, length));
            if (entry == tokens_.end() || (entry->second.control && !controls)) continue;
            found.push_back({at, length, entry->second.token});
        }
    }
    std::sort(found.begin(), found.end(), [](const SpecialMatch& a, const SpecialMatch& b) {
        return a.length != b.length ? a.length > b.length : a.begin < b.begin;
    });
    // Longer matches are granted first, so that an overlap always shows at one of the ends.
    std::vector<bool> taken(found.empty() ? 0 : text.size(), false);
    std::vector<SpecialMatch> granted;
    for (const SpecialMatch& match : found) {
        if (taken[match.begin] || taken[match.begin + match.length - 1]) continue;
        for (std::size_t i = 0; i < match.length; ++i) taken[match.begin + i] = true;
        granted.push_back(match);
    }
    std::sort(granted.begin(), granted.end(),
              [](const SpecialMatch& a, const SpecialMatch& b) { return a.begin < b.begin; });
    return granted;
}

}  // namespace steady
