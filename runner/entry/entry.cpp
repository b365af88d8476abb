// Joins the sections of an entry and separates what is rendered from the Notes that people write.
#include "runner/entry/entry.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/error.h"
#include "runner/base/text.h"
#include "runner/entry/entry_data.h"
#include "runner/entry/entry_sections.h"

namespace steady {
namespace {

constexpr std::string_view kNotes = "\n## Notes\n";
constexpr std::string_view kEmptyNotes =
    "\nThis section is yours: it is kept when the entry is rendered again.\n";

const std::string& ended_at(const Record& record) {
    if (!record.decided_at.empty()) return record.decided_at;
    const bool measured = !record.attempts.empty() && !record.attempts.back().ended.empty();
    return measured ? record.attempts.back().ended : record.submitted_at;
}

std::string file_stem(const Record& record) {
    const std::string date = ended_at(record).substr(0, 10);
    const bool dated = date.size() == 10 && date[4] == '-' && date[7] == '-' &&
                       date.find_first_not_of("0123456789-") == std::string::npos;
    const bool plain =
        !record.id.empty() &&
        record.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (!dated || !plain) {
        throw Error{fmt::format("record {}: no date of decision or no plain id, so it has no entry",
                                escape_line(record.id)),
                    kExitInternal};
    }
    return fmt::format("journal/{}-{}", date, record.id);
}

// The rendered part: everything up to and including the heading "Notes".
std::string_view rendered_part(std::string_view text) {
    const std::size_t at = text.find(kNotes);
    return at == std::string_view::npos ? text : text.substr(0, at + kNotes.size());
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

}  // namespace

std::string entry_path(const Record& record) { return file_stem(record) + ".md"; }
std::string figure_path(const Record& record) { return file_stem(record) + ".svg"; }

bool has_entry(const Record& record) {
    return record.analysis || record.state == "cancelled" || record.state == "failed";
}

bool is_entry_of(const Record& record, std::string_view existing) {
    constexpr std::string_view kDecided = "\ndecided: \"";
    const std::size_t at = existing.find(kDecided);
    return at == std::string_view::npos ||
           existing.substr(at + kDecided.size()).starts_with(ended_at(record) + "\"");
}

std::string render(const Record& record) {
    if (!has_entry(record)) {
        throw Error{"record " + escape_line(record.id) + ": not decided yet, so it has no entry",
                    kExitInternal};
    }
    std::string out;
    if (!record.analysis) {
        out = entry::short_head(record, ended_at(record));
        for (const auto section : {entry::question, entry::hypothesis, entry::how_it_ended,
                                   entry::runs, entry::earlier}) {
            out += section(record);
        }
        out.pop_back();
        return out + std::string(kNotes) + std::string(kEmptyNotes);
    }
    const SharedRows rows(record);
    out = entry::front_matter(record);
    for (const auto section :
         {entry::question, entry::hypothesis, entry::verdict, entry::sweep, entry::gates,
          entry::pairs, entry::placements, entry::clocks, entry::layout, entry::method,
          entry::profile, entry::checks, entry::environment, entry::meaning, entry::runs,
          entry::earlier, entry::repeat}) {
        out += section(record);
    }
    out.pop_back();  // the heading brings its own line break
    return with_empty_notes(std::move(out));
}

std::string render(const Record& record, std::string_view existing) {
    return with_notes_of(existing, render(record));
}

std::string with_empty_notes(std::string rendered) {
    return std::move(rendered.append(kNotes).append(kEmptyNotes));
}

std::string with_notes_of(std::string_view existing, const std::string& fresh) {
    const std::size_t notes = existing.find(kNotes);
    if (notes == std::string_view::npos) {
        return fresh;
    }
    return std::string(rendered_part(fresh)) + std::string(existing.substr(notes + kNotes.size()));
}

std::vector<std::string> check_entry(std::string_view existing, const Record& record) {
    constexpr std::size_t kMaxShown = 10;
    const std::string fresh = render(record);
    const std::vector<std::string_view> is = lines_of(rendered_part(existing));
    const std::vector<std::string_view> should = lines_of(rendered_part(fresh));
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::max(is.size(), should.size()); ++i) {
        const bool extra = i >= should.size();
        const bool missing = i >= is.size();
        if (!extra && !missing && is[i] == should[i]) {
            continue;
        }
        if (out.size() == kMaxShown) {
            out.emplace_back("… and more");
            break;
        }
        const auto quoted = [](std::string_view line) {
            return "\"" + escape_line(shorten(line, 100)) + "\"";
        };
        out.push_back(fmt::format("line {}: found {}, the record says {}", i + 1,
                                  missing ? "the end of the file" : quoted(is[i]),
                                  extra ? "nothing here" : quoted(should[i])));
        if (is.size() != should.size()) {
            out.emplace_back("lines were added or removed; the rest is not compared");
            break;
        }
    }
    return out;
}

}  // namespace steady
