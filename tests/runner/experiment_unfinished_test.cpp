// A run that ends without a verdict says why, what is kept, and what to type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/cli/jobs.h"

namespace steady {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(UnfinishedRun, ALostLeaseSaysHowToContinue) {
    Record record;
    record.id = "my-idea-0123abcd";
    record.pairs.resize(4);
    for (std::size_t i = 0; i < 3; ++i) record.pairs[i].sealed = true;
    const std::string text =
        not_finished(record, {WorkEnd::lease_lost, record.id, "the lease was lost"});
    EXPECT_THAT(text, HasSubstr("my-idea-0123abcd was not finished: the lease was lost. "));
    EXPECT_THAT(text, HasSubstr("Give the same command again to continue (3 pairs are stored)"));
    EXPECT_THAT(text, HasSubstr("`steady show my-idea-0123abcd`"));
}

TEST(UnfinishedRun, OtherwiseTheNoteOfTheJobIsShown) {
    Record record;
    record.id = "my-idea-0123abcd";
    record.note = "no model x.gguf";
    const std::string text = not_finished(record, {WorkEnd::failed, record.id, ""});
    EXPECT_THAT(text, HasSubstr("no model x.gguf"));
    EXPECT_THAT(text, Not(HasSubstr("same command")));
}

}  // namespace
}  // namespace steady
