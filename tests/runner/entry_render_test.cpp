// Entries: every section in its order, the same bytes each time, nothing hostile gets through,
// notes survive, and any edit of the rendered part is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "kernels/base/error.h"
#include "runner/entry/entry.h"
#include "runner/entry/entry_figures.h"
#include "runner/judge/placement.h"
#include "runner/record/record_json.h"
#include "tests/support/sample_record.h"

namespace steady {
namespace {

const char* const kSections[] = {"## Question",
                                 "## Hypothesis and prediction",
                                 "## Verdict",
                                 "## Gates",
                                 "## Pairs",
                                 "## How it was measured",
                                 "## Where the time went",
                                 "## Assumption checks",
                                 "## Environment",
                                 "## What this rules out, and when to retry",
                                 "## Earlier attempts",
                                 "## Repeat",
                                 "## Notes"};

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++n;
    }
    return n;
}

// Inside code spans and blocks everything is literal. A span ends at a run of as many backquotes.
std::string without_code(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t open = std::min(text.find('`', at), text.size());
        out += text.substr(at, open - at);
        const std::size_t run = std::min(text.find_first_not_of('`', open), text.size()) - open;
        const bool escaped = open > 0 && text[open - 1] == '\\';
        std::size_t close = open + run;
        while (!escaped && run > 0 && close < text.size()) {
            close = text.find('`', close);
            if (close == std::string::npos) {
                break;
            }
            const std::size_t length =
                std::min(text.find_first_not_of('`', close), text.size()) - close;
            close += length;
            if (length == run) {
                break;
            }
        }
        at = std::min(close, text.size());
    }
    return out;
}

void expect_sections(const std::string& entry) {
    EXPECT_EQ(entry.rfind("---\nid: \"", 0), 0U);
    std::size_t at = 0;
    for (const char* heading : kSections) {
        const std::size_t next = entry.find("\n" + std::string(heading) + "\n", at);
        EXPECT_NE(next, std::string::npos) << heading;
        at = next == std::string::npos ? at : next;
    }
    EXPECT_EQ(count(entry, "\n## "), std::size(kSections));
    EXPECT_EQ(count(entry, "\n# "), 1U);
    EXPECT_EQ(entry.back(), '\n');
    EXPECT_EQ(entry.find("\n\n\n"), std::string::npos);
}

TEST(EntryRender, AllSectionsInOrder) {
    for (const Record& record : {accepted_record(), rejected_record(), wrong_output_record()}) {
        const std::string entry = render(record);
        expect_sections(entry);
        EXPECT_EQ(entry, render(record));
        // and from the record as it is stored
        EXPECT_EQ(entry, render(record_from_text(record_text(record))));
        if (const char* folder = std::getenv("STEADY_FIGURE_DIR")) {
            std::ofstream(folder + ("/" + std::string(name(record.analysis->verdict))) +
                          record.analysis->reason + ".md")
                << entry;
        }
    }
}

TEST(EntryRender, SaysWhatAnEngineerQuotes) {
    const std::string entry = render(accepted_record());
    for (const char* part :
         {"verdict: accept", "pairs: 17", "date: 2026-11-21", "Predicted +2.0 % to +5.0 %",
          "inside the range", "`kernels.q4_0_experts` | `avx512_vnni` | `avx512_vnni_fused`",
          "Launches per token: A 565, B 471", "1 of 18 measured: 1 × steal 3.1 % in the window",
          "drawn before the first pair from seed 7", "| 5, try 2 |", "✓ pass",
          "steady rerun experts-fused-vnni-", "AMD EPYC 9R14"}) {
        EXPECT_NE(entry.find(part), std::string::npos) << part;
    }
    const std::string reject = render(rejected_record());
    EXPECT_NE(reject.find("Try again when: the expert width or the cache size changes"),
              std::string::npos);
    EXPECT_NE(reject.find("was shown"), std::string::npos);
    const std::string wrong = render(wrong_output_record());
    EXPECT_NE(wrong.find("No pair was timed."), std::string::npos);
    EXPECT_NE(wrong.find("Speed was not measured"), std::string::npos);
}

// The band rests on the deciding gate's pairs and the history; other gates' pairs are not in it.
TEST(EntryRender, PairsOfAAgainstAAreThoseOfTheBand) {
    Record record = accepted_record();
    record.evidence.prior.reset();
    const auto decides = std::find_if(record.spec.gates.begin(), record.spec.gates.end(),
                                      [](const Gate& gate) { return gate.role == Role::decides; });
    for (Pair& pair : record.pairs)
        if (pair.kind == PairKind::aa)
            pair.gate = static_cast<int>(decides - record.spec.gates.begin());
    EXPECT_NE(render(record).find("A against A: 6 pairs, band"), std::string::npos);
    Pair other = record.pairs.front();
    ASSERT_EQ(other.kind, PairKind::aa);
    other.discarded = "steal 3.1 % in the window";
    record.pairs.push_back(other);
    other.discarded.clear();
    other.gate = 0;
    record.pairs.push_back(other);
    EXPECT_NE(render(record).find("A against A: 6 pairs, band"), std::string::npos);
    record.evidence.prior.emplace().history.aa_pairs.assign(30, 0.001);
    EXPECT_NE(render(record).find("6 pairs and 30 from this machine's history, 36 together, band"),
              std::string::npos);
}

TEST(EntryRender, ARefusalOfALargePredictionNamesTheWayOut) {
    Record refused = wrong_output_record();
    refused.analysis->verdict = Verdict::inconclusive;
    refused.analysis->reason = "machine_too_noisy";
    refused.spec.hypothesis.predict = {"decode_tps", 0.5, 0.9, {}};
    const std::string way_out = "The prediction begins at +50.0 %";
    EXPECT_NE(render(refused).find(way_out), std::string::npos);
    refused.spec.hypothesis.predict->low = 0.001;  // below any worth
    EXPECT_EQ(render(refused).find("The prediction begins at"), std::string::npos);
}

TEST(EntryRender, OfManyAttemptsTheNewestAreListed) {
    Record record = accepted_record();
    record.earlier.clear();
    for (int i = 1; i <= 50; ++i) record.earlier.push_back("tried-" + std::to_string(i));
    const std::string text = render(record);
    EXPECT_NE(text.find("30 before these:\n\n- `tried-31`"), std::string::npos);
    EXPECT_NE(text.find("- `tried-50`\n\n"), std::string::npos);
    EXPECT_EQ(text.find("`tried-30`"), std::string::npos);
}

TEST(EntryRender, TablesHaveAsManyCellsAsTheirHead) {
    Record record = hostile_record("canary");
    record.evidence.profile->arms["B"][0].variant = "a|b\\|c";
    for (const Record& one : {accepted_record(), record}) {
        std::size_t head = 0;
        std::istringstream lines(render(one));
        for (std::string line; std::getline(lines, line);) {
            std::size_t bars = 0;
            for (std::size_t i = 0; i < line.size(); ++i) {
                bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
            }
            if (line.empty() || line[0] != '|') {
                head = 0;
            } else if (head == 0) {
                head = bars;
            } else {
                EXPECT_EQ(bars, head) << line;
            }
        }
    }
}

TEST(EntryRender, HostileTextIsInertAndSecretsAreGone) {
    const std::string canary = "s3cr3t-canary-value";
    const Record record = hostile_record(canary);
    const std::string entry = render(record);
    expect_sections(entry);  // no heading, rule or front matter was smuggled in
    EXPECT_EQ(entry.find(canary), std::string::npos);
    EXPECT_EQ(entry.find('\x1b'), std::string::npos);
    const std::string prose = without_code(entry);
    for (const char* raw : {"<script", "<b>", "<!--"}) {
        EXPECT_EQ(prose.find(raw), std::string::npos) << raw;
    }
    EXPECT_EQ(entry.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_EQ(count(entry, "\n---\n"), 1U);
    EXPECT_EQ(entry_figure(record).find(canary), std::string::npos);
}

TEST(EntryRender, NotesBelongToPeople) {
    const Record record = accepted_record();
    std::string mine = render(record) + "\nThe gain is gone with one thread.\n\n## Notes\n\nmore\n";
    EXPECT_TRUE(check_entry(mine, record).empty());
    EXPECT_EQ(render(record, mine), mine);
    // an entry of an older decision keeps its notes when the record is decided anew
    Record later = record;
    later.analysis->effect = 0.0777;
    const std::string again = render(later, mine);
    EXPECT_NE(again.find("B is faster: decode_tps +7.77 %"), std::string::npos);
    EXPECT_NE(again.find("The gain is gone with one thread."), std::string::npos);
    EXPECT_EQ(render(record, "no entry at all"), render(record));
}

TEST(EntryRender, AnyEditIsFound) {
    const Record record = accepted_record();
    const std::string entry = render(record);
    EXPECT_TRUE(check_entry(entry, record).empty());
    const std::size_t notes = entry.find("\n## Notes\n");
    int n_tried = 0;
    for (std::size_t at = 0; at < notes; at += 397) {
        std::string edited = entry;
        edited[at] = edited[at] == 'x' ? 'y' : 'x';
        EXPECT_FALSE(check_entry(edited, record).empty()) << "edit at " << at;
        ++n_tried;
    }
    EXPECT_GT(n_tried, 15);
    const auto differences = check_entry("junk", record);
    ASSERT_FALSE(differences.empty());
    EXPECT_NE(differences[0].find("line 1"), std::string::npos);
    EXPECT_FALSE(check_entry("", record).empty());
    EXPECT_LE(check_entry(std::string(500, '\n'), record).size(), 11U);
}

TEST(EntryRender, PathsAreDatedAndPlain) {
    const Record record = accepted_record();
    EXPECT_EQ(entry_path(record), "journal/2026-11-21-" + record.id + ".md");
    EXPECT_EQ(figure_path(record), "journal/2026-11-21-" + record.id + ".svg");
    Record bad = record;
    bad.id = "../../etc/passwd";
    EXPECT_THROW(entry_path(bad), Error);
    bad = record;
    bad.decided_at = "yesterday";
    EXPECT_THROW(entry_path(bad), Error);
    EXPECT_THROW(render(running_record()), Error);
}

TEST(EntryRender, ARepetitionSaysThatItIsOne) {
    Record record = accepted_record();
    record.earlier.clear();
    EXPECT_NE(render(record).find("None on this question."), std::string::npos);
    record.rerun = 1;
    EXPECT_NE(render(record).find("this is run 2 of the same file"), std::string::npos);
}

// With several processes an op's change has an interval; a record from before keeps its words.
TEST(EntryRender, TheProfileSaysHowSureItIs) {
    Record record = accepted_record();
    const std::string now = render(record);
    EXPECT_NE(now.find("8 processes in which the arms took turns"), std::string::npos);
    EXPECT_NE(now.find("| ▲ −5."), std::string::npos);
    EXPECT_NE(now.find("| ~ "), std::string::npos);
    for (auto& [arm, rows] : record.evidence.profile->arms) {
        for (protocol::ProfileRow& row : rows) row.process_ns.clear();
    }
    const std::string before = render(record);
    EXPECT_NE(before.find("| −5.6 % |"), std::string::npos);
    EXPECT_NE(before.find("In the column “time”, negative is less time. One profile of each arm, "
                          "measured separately from the timed pairs"),
              std::string::npos);
}

TEST(Entry, PlacementsOfTheWeightsAreShown) {
    Record record = accepted_record();
    EXPECT_EQ(count(render(record), "Placements of the weights"), 0U) << "a record from before";
    int n = 0;
    for (Pair& pair : record.pairs) {
        if (pair.kind != PairKind::measure) continue;
        const double placement = 100 + n / 3;
        pair.a[kPlacement] = pair.b[kPlacement] = {placement};
        if (n > 0 && n % 3 == 0) pair.a[kPlacementSeconds] = pair.b[kPlacementSeconds] = {0.5};
        ++n;
    }
    const std::string text = render(record);
    EXPECT_EQ(count(text, "## Placements of the weights"), 1U);
    EXPECT_EQ(count(text, "Standard deviation between placements"), 1U);
    EXPECT_EQ(count(text, "Moving the weights took 0.0 s"), 0U);
    EXPECT_TRUE(check_entry(text, record).empty());
}

}  // namespace
}  // namespace steady
