// Jobs and questions of programs that are no part of this project.
#include <functional>
#include <set>

#include "tests/runner/storage_fixture.h"

namespace steady {
namespace {

class ProgramStore : public StoreTest {};

// Between `run`'s submission and its claim a worker polls: the job is not for it.
TEST_F(ProgramStore, AJobThatItsAskerTakesIsNobodyElses) {
    Store owner = make(DatabaseRole::owner);
    const Spec spec = example_spec("mine");
    const Submitted mine = owner.submit({.spec = &spec,
                                         .plan = example_plan(3),
                                         .seed = 42,
                                         .need_tags = {"commands"},
                                         .for_caller = true});
    EXPECT_FALSE(store_.claim(random_uuid(), host_, 30)) << "a worker without the tag";
    const auto other = store_.register_host("fedcba987654", {"commands"});
    EXPECT_FALSE(store_.claim(random_uuid(), other, 30)) << "a worker with it, too early";
    const auto lease = store_.claim(worker_, host_, 30, mine.job);
    ASSERT_TRUE(lease) << "whoever asked takes it on any host";
    EXPECT_EQ(store_.stop(*lease, "released", ""), "queued");
    EXPECT_FALSE(store_.claim(random_uuid(), host_, 30)) << "given back: still not without the tag";
    EXPECT_TRUE(store_.claim(random_uuid(), other, 30)) << "but for one that has it";
}

TEST_F(ProgramStore, ARequeuedJobWaitsForItsAskerToo) {
    Store owner = make(DatabaseRole::owner);
    const Spec spec = example_spec("again");
    const Submitted again =
        owner.submit({.spec = &spec, .plan = example_plan(3), .seed = 42, .need_tags = {}});
    owner.cancel(again.id);
    EXPECT_EQ(owner.requeue(again.id, true), "queued");
    EXPECT_FALSE(store_.claim(random_uuid(), host_, 30));
    EXPECT_TRUE(store_.claim(worker_, host_, 30, again.job));
}

TEST_F(ProgramStore, ZeroIsAValueAndNotANumberIsNot) {
    submit();
    const Lease lease = claim();
    Pair pair = example_plan(1)[0];
    pair.a["major_faults"] = {0};
    pair.b["major_faults"] = {3};
    EXPECT_NO_THROW(store_.put_pair(lease, pair));
    EXPECT_EQ(store_.load_pairs(lease.job, false).at(0).a.at("major_faults"),
              std::vector<double>{0});
    Pair wrong = example_plan(2)[1];
    wrong.a["major_faults"] = wrong.b["major_faults"] = {-1};
    EXPECT_THROW(store_.put_pair(lease, wrong), std::exception);
}

Spec command_spec() {
    Spec spec;
    spec.subject.program = "outside";
    spec.subject.name = "sort";
    spec.arms["A"].run = {"sort", "-S", "64M"};
    spec.arms["B"].run = {"sort", "-S", "1G"};
    Gate gate;
    gate.role = Role::decides;
    gate.metric = "wall_seconds";
    spec.gates = {gate};
    return spec;
}

// Two different commands must not inherit each other's evidence.
TEST(QuestionOfAProgram, IsEverythingThatDecidesWhatRuns) {
    const std::string asked = question_sha(command_spec());
    EXPECT_EQ(question_sha(command_spec()), asked);
    EXPECT_NE(question_sha(command_spec(), {{"A", "4f1c"}, {"B", "77aa"}}), asked);
    const std::vector<std::function<void(Spec&)>> changes = {
        [](Spec& spec) { spec.arms["B"].run[2] = "2G"; },
        [](Spec& spec) { spec.arms["B"].args = {"-u"}; },
        [](Spec& spec) { spec.arms["B"].env["LC_ALL"] = "C"; },
        [](Spec& spec) { spec.subject.repo = "coreutils"; },
        [](Spec& spec) { spec.subject.build = {{"make"}}; },
        [](Spec& spec) { spec.gates[0].run = {"sort"}; },
        [](Spec& spec) { spec.gates[0].adapter = "perf"; },
        [](Spec& spec) { spec.gates[0].select = "x"; },
        [](Spec& spec) { spec.gates[0].direction = Direction::higher_is_better; },
        [](Spec& spec) { spec.matrix["size"] = {"1"}; },
    };
    std::set<std::string> all = {asked};
    for (const auto& change : changes) {
        Spec spec = command_spec();
        change(spec);
        EXPECT_TRUE(all.insert(question_sha(spec)).second) << all.size();
    }
    Spec other = command_spec();
    other.schedule.pairs_max = 17;
    other.gates[0].worth = 0.2;
    EXPECT_EQ(question_sha(other), asked) << "thresholds are no part of it";
}

// Records were exported before the direction was part of a question: they are read as they are.
TEST(QuestionOfAProgram, StandsAtTheHashThatAnEarlierVersionGaveIt) {
    const std::string before = question_sha(command_spec());
    Spec spec = command_spec();
    spec.gates[0].direction = Direction::higher_is_better;
    EXPECT_TRUE(asks(spec, question_sha(spec)));
    EXPECT_TRUE(asks(spec, before));
    spec.arms["B"].args = {"-u"};
    EXPECT_FALSE(asks(spec, before)) << "another command";
}

}  // namespace
}  // namespace steady
