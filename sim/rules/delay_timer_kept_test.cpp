// When steps of workflow runs that wait for a time go on.
#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr NodeId kEngine{5};

struct DelayTimerKeptTest : RuleTest {
    DelayTimerKeptTest() : RuleTest(rules::delay_timer_kept) {
        define({
            {"at", [this](auto& time) { at(duration_of(time)); }},
            {"to", [this](auto& time) { now = Time(duration_of(time)); }},
            {"begin", [this](auto&) { begin(); }},
            {"go", [this](auto& time) { go_on(duration_of(time)); }},
            {"step", [this](auto& json) { write(json); }},
            {"again", [this](auto&) { write(kWaits, Topology::kGateway); }},
            {"timer",
             [this](auto& second) {
                 by_command(kEngine, {"ZADD"},
                            [&] { keys.zset_set(RuleTest::at<SortedSet>(kTimers), "f:r", std::stod(second)); });
             }},
            {"over", [this](auto&) { completed(); }},
            {"short_delays", [this](auto&) { tunables.wf_scan_interval = 20s, tunables.delay_persist_min = 60s; }},
        });
    }

    void at(Duration time) {
        now = Time(time);
        befall(EventKind::heartbeat, kEngine);
    }
    void run(const std::string& document, NodeId by = kEngine) { set_text("wf:run:r", document, by); }
    void define_steps(const std::string& definition) { set_text("wf:def:f", definition, Topology::kGateway); }
    void write(std::string_view step, NodeId by = kEngine) {
        run(fmt::format(R"({{"id":"r","workflow_id":"f","status":"running","steps":{{"d":{}}}}})", step), by);
    }
    /// At ten seconds; it is over at a minute.
    void begin() {
        at(10s);
        write(kWaits);
    }
    void go_on(Duration time) {
        at(time);
        write(R"({"status":"succeeded","attempts":1})");
    }
    void completed() {
        keys.list_insert(RuleTest::at<List>("wf:run:timeline:r"), 0,
                         R"({"type":"step_delay_completed","step_id":"d"})");
    }
    static constexpr const char* kTimers = "cordum:wf:delay:timers";
    static constexpr const char* kWaits =
        R"({"status":"running","attempts":1,"next_attempt_at":"1970-01-01T00:01:00Z"})";
};

constexpr Story kDelays[] = {
    {"ADelayEndsWhenItsTimeHasComeByTheClockOfRedis", "begin go=60s times=1"},
    {"NotAMillisecondBefore", "begin go=59999ms", "the step d of the run r goes on 1 ms before its time"},
    {"NorATryAfterAFailureBeforeItsPauseIsOver",
     "at=10s step={\"status\":\"pending\",\"attempts\":1,\"next_attempt_at\":\"1970-01-01T00:00:12Z\"} at=11s "
     "step={\"status\":\"running\",\"attempts\":2}",
     "goes on 1000 ms before its time"},
    {"AStepThatIsCancelledMeanwhileIsNotEarly", "begin at=20s step={\"status\":\"cancelled\",\"attempts\":1} times=0"},
    {"ItIsLateWhenThePollerHasHadItsTime", "begin go=85s", "goes on 25000 ms after its time"},
    {"AShortOneWhenTheReconcilerHas", "short_delays begin go=110s ok begin go=150s", "goes on 90000 ms after its time"},
    {"AfterADisturbanceItHasItsTimeOnceMore", "begin to=59s fault=crash to=100s heal=crash go=110s"},
    {"WhatAPollerHasPutOffIsCountedFromThen", "begin at=62s timer=122 go=130s"},
    {"WhatAGatewayWritesBackIsCountedFromThen", "begin go=60s over at=500s again go=505s over ok over",
     "is over for the second time"},
    {"ItIsOverOnce", "begin over ok over", "the delay d of the run r is over for the second time"},
};
using DelaysTold = Told<DelayTimerKeptTest>;
TEST_P(DelaysTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, DelaysTold, ::testing::ValuesIn(kDelays), title_of);

TEST_F(DelayTimerKeptTest, AWaitThatARunIsTriedAgainWithIsTheOneThatItHad) {
    define_steps(R"({"id":"f","steps":{"d":{"type":"worker","retry":{"max_retries":1,"initial_backoff_sec":2}}}})");
    const auto write = [this](const char* second, const char* status, const char* due, const char* retried) {
        run(fmt::format(
            R"({{"id":"r","workflow_id":"f","status":"{}","updated_at":"1970-01-01T00:00:{}Z"{},"steps":{{"d":)"
            R"({{"status":"pending","attempts":1,"next_attempt_at":"1970-01-01T00:00:{}Z"}}}}}})",
            status, second, retried, due));
    };
    constexpr const char* kRetried = R"(,"metadata":{"retried_at":"1970-01-01T00:00:11Z"})";
    at(10s);
    write("10", "running", "12", "");
    write("10", "failed", "12", "");
    at(11s);
    write("11", "running", "12", kRetried);
    EXPECT_THAT(found, IsEmpty());
    write("11", "running", "14", kRetried);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is to wait for 3000 ms, and its definition says 2000")));
}

TEST_F(DelayTimerKeptTest, TheTimerOfARunIsThatOfTheEarliest) {
    at(10s);
    for (const double second : {60, 90}) {
        by_command(kEngine, {"EVALSHA"}, [&] {
            keys.set_string("wf:run:r",
                            fmt::format(R"({{"id":"r","workflow_id":"f","status":"running","steps":{{"d":{},"e":)"
                                        R"({{"status":"running","next_attempt_at":"1970-01-01T00:01:30Z"}}}}}})",
                                        kWaits),
                            fakes::redis::kNever);
            keys.zset_set(RuleTest::at<fakes::redis::SortedSet>("cordum:wf:delay:timers"), "f:r", second);
        });
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("the timer of the run r is set to 90000 ms, and its step d is due at")));
}

TEST_F(DelayTimerKeptTest, ARunEndsWhenItsTimeIsOverAndNotBefore) {
    define_steps(R"({"id":"f","timeout_sec":60,"steps":{}})");
    const auto write_run = [this](Duration time, const char* status, const char* more) {
        at(time);
        run(fmt::format(R"({{"id":"r","workflow_id":"f","status":"{}","started_at":"1970-01-01T00:00:10Z"{}}})", status,
                        more));
    };
    const char* over = R"(,"error":{"message":"the run has exceeded its time limit"})";
    const char* retried = R"(,"metadata":{"retried_at":"1970-01-01T00:02:00Z"})";
    const char* both = R"(,"metadata":{"retried_at":"1970-01-01T00:02:00Z"},
                           "error":{"message":"the run has exceeded its time limit"})";
    write_run(10s, "running", "");
    write_run(70s, "timed_out", over);
    EXPECT_THAT(found, IsEmpty());
    write_run(120s, "running", retried);
    write_run(180s, "timed_out", both);
    EXPECT_THAT(found, IsEmpty());
    write_run(120s, "running", "");
    write_run(120s, "timed_out", both);
    EXPECT_THAT(found, Contains(HasSubstr("the run r ends 60000 ms before its time")));
    found.clear();
    write_run(10s, "running", "");
    write_run(68s, "timed_out", over);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r ends 2000 ms before its time")));
    found.clear();
    write_run(10s, "running", "");
    write_run(100s, "running", R"(,"steps":{})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r goes on 30000 ms after its time")));
    found.clear();
    define_steps(R"({"id":"f","steps":{}})");
    write_run(10s, "running", "");
    write_run(70s, "timed_out", over);
    EXPECT_THAT(found, ElementsAre(HasSubstr("ends by a time limit, and has none")));
}

TEST_F(DelayTimerKeptTest, WhoWaitsForAPlaceAmongItsSiblingsIsNotLate) {
    const auto children = [&](std::string_view p, std::string_view q) {
        const std::string document = fmt::format(
            R"({{"id":"r","workflow_id":"f","status":"running","steps":{{"p":{},"q":{},"par":{{"status":"running"}}}}}})",
            p, q);
        run(document);
    };
    constexpr std::string_view kTried = R"({"status":"pending","attempts":1,"next_attempt_at":"1970-01-01T00:00:12Z"})";
    constexpr std::string_view kRunning = R"({"status":"running","attempts":1})";
    define_steps(R"({"id":"f","steps":{"par":{"type":"parallel","max_parallel":1,"input":{"steps":["p","q"]}},
                          "p":{"type":"worker"},"q":{"type":"worker"}}})");
    at(10s);
    children(kTried, kRunning);
    at(200s);
    children(R"({"status":"running","attempts":2})", R"({"status":"succeeded","attempts":1})");
    EXPECT_THAT(found, IsEmpty());
    at(210s);
    children(R"({"status":"pending","attempts":2,"next_attempt_at":"1970-01-01T00:03:35Z"})", kRunning);
    children(R"({"status":"pending","attempts":2,"next_attempt_at":"1970-01-01T00:03:35Z"})",
             R"({"status":"succeeded","attempts":1})");
    at(300s);
    children(R"({"status":"running","attempts":3})", R"({"status":"succeeded","attempts":1})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the step p of the run r goes on 85000 ms after its time")))
        << "it has had its place for long";
}

TEST_F(DelayTimerKeptTest, ItLastsAsLongAsItsDefinitionSays) {
    const auto waits = [&](std::string_view step) {
        const std::string document = fmt::format(
            R"({{"id":"r","workflow_id":"f","status":"running","updated_at":"1970-01-01T00:00:10Z","steps":{{{}}}}})",
            step);
        run(document);
    };
    define_steps(R"({"id":"f","steps":{"d":{"type":"delay","delay_sec":30},
                          "w":{"type":"worker","retry":{"max_retries":3,"initial_backoff_sec":2,"multiplier":3}}}})");
    at(10s);
    waits(R"("d":{"status":"running","started_at":"1970-01-01T00:00:10Z","next_attempt_at":"1970-01-01T00:00:40Z"},
             "w":{"status":"pending","attempts":2,"next_attempt_at":"1970-01-01T00:00:16Z"})");
    EXPECT_THAT(found, IsEmpty());
    waits(R"("d":{"status":"running","started_at":"1970-01-01T00:00:10Z","next_attempt_at":"1970-01-01T00:00:39Z"},
             "w":{"status":"pending","attempts":3,"next_attempt_at":"1970-01-01T00:00:10.018Z"})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("d of the run r is to wait for 29000 ms, and its definition says 30000"),
                                   HasSubstr("w of the run r is to wait for 18 ms, and its definition says 18000")));
}

TEST_F(DelayTimerKeptTest, WhatComesBackAfterALossHasWaitedAlready) {
    const std::string definition =
        R"({"id":"f","steps":{"d":{"type":"worker","retry":{"max_retries":1,"initial_backoff_sec":3}}}})";
    const auto document = [](int second, int due) {
        return fmt::format(
            R"({{"id":"r","workflow_id":"f","status":"running","updated_at":"1970-01-01T00:00:{}Z","steps":
            {{"d":{{"status":"pending","attempts":1,"next_attempt_at":"1970-01-01T00:00:{}Z"}}}}}})",
            second, due);
    };
    define_steps(definition);
    run(document(10, 13));
    keys.restore([&] { keys.set_string("wf:run:r", document(10, 20), kNever); });
    at(11s);
    run(document(11, 20));
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DelayTimerKeptTest, ATimerThatAPollerMovedAfterALossExplainsALateStep) {
    tunables.wf_scan_interval = 5s;
    begin();
    at(61s);
    const std::string stored = std::get<std::string>(keys.find("wf:run:r")->second.value);
    keys.restore([&] { keys.set_string("wf:run:r", stored, kNever); });
    at(62s);
    by_command(kEngine, {"EVALSHA"},
               [this] { keys.zset_set(keys.create<SortedSet>("cordum:wf:delay:timers"), "f:r", 122); });
    go_on(122s + 3 * tunables.delay_poller_interval);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DelayTimerKeptTest, ADelayThatALossTookBackIsOverOnceMore) {
    begin();
    const std::string stored = std::get<std::string>(keys.find("wf:run:r")->second.value);
    completed();
    go_on(60s);
    keys.restore([&] { keys.set_string("wf:run:r", stored, kNever); });
    completed();
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
