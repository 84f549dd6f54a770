#include "sim/explain/sweeps.h"

#include <gmock/gmock.h>

namespace lockstep::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId kReplica{5};

class Sweeps : public ::testing::Test {
protected:
    Sweeps() { recorder.on_event({}, {}); }
    void happens() { recorder.on_event({}, {}); }
    void list(std::string_view job, std::string_view index = "job:index:running") {
        recorder.zset_set(kReplica, index, job, nullptr, 1);
        happens();
    }
    void sweep(std::string_view answer, bool reads = true, std::string_view index = "job:index:running") {
        const std::string_view words[] = {"EVALSHA", "sum", "2", "cordum:reconciler:default", index};
        recorder.command(kReplica, words, 0);
        if (reads) recorder.zset_listed(kReplica, index);
        fakes::Event event;
        event.kind = fakes::EventKind::redis;
        event.payload = answer;
        recorder.on_event(event, Time(std::chrono::seconds{7}));
    }
    std::vector<std::string> told(std::string_view state = "RUNNING", std::uint64_t since = 1) {
        return sweep_lines(recorder.take(), {"redis", "nats", "kernel", "gateway", "operator", "scheduler-0"}, "a",
                           state, since);
    }
    SweepRecorder recorder;
};

TEST_F(Sweeps, ThatNobodyMadeAreMissed) {
    sweep("*1\r\n$4\r\npage\r\n", true, "job:index:pending");
    EXPECT_THAT(told(), ElementsAre("nobody swept job:index:running since it became RUNNING (#1)"));
}

TEST_F(Sweeps, SayWhetherTheJobWasListed) {
    sweep("*1\r\n$4\r\npage\r\n");
    list("a");
    sweep("*1\r\n$4\r\npage\r\n");
    EXPECT_THAT(told(), ElementsAre(HasSubstr("since it became RUNNING (#1): 2, the last"),
                                    AllOf(HasSubstr("7.000000s scheduler-0"), HasSubstr("it was not listed there")),
                                    HasSubstr("it was listed, and the page passed it over as not due")));
}

TEST_F(Sweeps, SayWhatTheRecordSaysOfTheNextTry) {
    list("a");
    recorder.hash_set(kReplica, "job:meta:a", "ls_last_cause", nullptr, "no_workers");
    happens();
    sweep("*1\r\n$4\r\npage\r\n");
    EXPECT_THAT(told(), ElementsAre(HasSubstr("1, the last"), HasSubstr("not due, ls_last_cause no_workers")));
}

TEST_F(Sweeps, SayWhetherThePageNamedIt) {
    list("a");
    sweep("*3\r\n$4\r\npage\r\n$1\r\na\r\n$2\r\n10\r\n");
    EXPECT_THAT(told(), ElementsAre(HasSubstr("1, the last"), HasSubstr("the page named it")));
}

TEST_F(Sweeps, SayWhetherTheLockWasLost) {
    list("a");
    sweep("*1\r\n$4\r\nlost\r\n", false);
    EXPECT_THAT(told(), ElementsAre(HasSubstr("1, the last"), HasSubstr("the tick lock was not its own any more")));
}

TEST_F(Sweeps, OnlyTheLastOnesAreTold) {
    for (int i = 0; i < 9; ++i) sweep("*1\r\n$4\r\npage\r\n");
    EXPECT_EQ(told().size(), 4U);
}

TEST_F(Sweeps, ConcernNoJobThatHasEnded) {
    sweep("*1\r\n$4\r\npage\r\n");
    EXPECT_THAT(told("TIMEOUT"), IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
