#include "sim/oracles/dead_letter_complete.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId kScheduler{5};

class DeadLetterCompleteTest : public ::testing::Test {
protected:
    DeadLetterCompleteTest() {
        keys.add_observer(oracle);
        keys.act_for(kScheduler);
        fakes::Event call = testing::event_of(EventKind::redis, "J", When::before);
        call.node = kScheduler;
        call.script = "commit";
        oracle.on_event(call, {});
    }
    void write_letter() { keys.set_string("dlq:entry:J", R"({"reason_code":"job_failed"})", fakes::redis::kNever); }
    void list_letter() {
        auto* index = keys.find("dlq:index");
        keys.zset_set(index != nullptr ? *index : keys.create<fakes::redis::SortedSet>("dlq:index"), "J", 1);
    }
    void rest() { oracle.at_rest({.redis = keys}); }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    DeadLetterComplete oracle{judge, tunables};
    fakes::redis::Keyspace keys;
};

TEST_F(DeadLetterCompleteTest, TheIndexListsEveryLetter) {
    write_letter();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("dlq:index does not list it")));
    judge.found.clear();
    list_letter();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, AndNoneThatNeverWas) {
    list_letter();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has no dead letter")));
}

TEST_F(DeadLetterCompleteTest, ALetterMayRunOutBeforeItsPlaceInTheIndex) {
    write_letter();
    list_letter();
    keys.remove(*keys.find("dlq:entry:J"), fakes::redis::Removal::expired);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, OneThatIsTakenOutGoesFromTheIndexToo) {
    write_letter();
    list_letter();
    keys.remove(*keys.find("dlq:entry:J"));
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has no dead letter")));
}

}  // namespace
}  // namespace lockstep::sim
