#include "sim/scenario/loader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/scenario/scenario_test_text.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Scenario loaded(std::string_view text, const LoadOptions& options = {}) {
    auto scenario = parse_scenario(text, "test.json", options);
    if (scenario) return *scenario;
    for (const auto& error : scenario.error()) ADD_FAILURE() << to_string(error);
    return {};
}

std::vector<LoadError> refused(std::string_view text, const LoadOptions& options = {}) {
    auto scenario = parse_scenario(text, "test.json", options);
    EXPECT_FALSE(scenario) << "was accepted: " << text;
    return scenario ? std::vector<LoadError>{} : scenario.error();
}

TEST(Loader, ReadsTheExampleOfTheManualCompletely) {
    const Scenario s = loaded(kManualExample);

    EXPECT_EQ(s.name, "paused-dispatcher-does-not-dispatch-twice");
    EXPECT_EQ(s.tags, (std::vector<std::string>{"locks", "pause"}));
    EXPECT_EQ(s.seed, 7U);
    EXPECT_EQ(s.duration, 15min);
    EXPECT_EQ(s.cluster.schedulers, 3);
    EXPECT_EQ(s.cluster.config.job_lock_ttl, 60s);
    EXPECT_EQ(s.cluster.config.max_dispatch_retries, 3);
    EXPECT_EQ(s.cluster.config.dispatch_timeout, 2min);
    EXPECT_EQ(s.cluster.config.running_timeout, 4min);
    EXPECT_EQ(s.cluster.config.reconciler_interval, 30s);
    EXPECT_FALSE(s.cluster.config.output_policy_enabled);
    EXPECT_EQ(nlohmann::json::parse(s.cluster.documents.timeouts)["reconciler"]["dispatch_timeout_seconds"], 120);
    EXPECT_EQ(s.cluster.kernel_latency.a, 2ms);
    ASSERT_EQ(s.cluster.workers.size(), 1U);
    EXPECT_EQ(s.cluster.workers[0].count, 4);
    EXPECT_EQ(s.cluster.workers[0].service_time.kind, Distribution::Kind::exponential);
    EXPECT_EQ(s.cluster.workers[0].service_time.a, 2s);
    EXPECT_DOUBLE_EQ(s.cluster.workers[0].outcomes.at("FAILED_RETRYABLE"), 0.01);
    EXPECT_EQ(s.cluster.redis_persistence, RedisPersistence::everysec);
    EXPECT_EQ(s.cluster.redis_replica_lag, 50ms);
    EXPECT_EQ(s.cluster.network_latency.a, 200us);
    EXPECT_EQ(s.cluster.clock_offset.a, -50ms);
    EXPECT_EQ(s.cluster.clock_drift_ppm, 50);

    ASSERT_EQ(s.load.size(), 5U);
    EXPECT_EQ(s.load[0].count, 200);
    EXPECT_DOUBLE_EQ(s.load[0].per_second, 20);
    EXPECT_EQ(s.load[1].job_id, "special");
    EXPECT_EQ(s.load[1].topic, "job.default");
    EXPECT_EQ(nlohmann::json::parse(s.load[1].job_json)["labels"]["preferred_worker_id"], "w-2");
    EXPECT_EQ(s.load[3].kind, Load::Kind::cancel);
    EXPECT_EQ(s.load[4].kind, Load::Kind::approve);

    ASSERT_EQ(s.faults.size(), 3U);
    EXPECT_EQ(s.faults[0].kind(), "pause");
    EXPECT_EQ(s.faults[0].duration, 75s);
    EXPECT_EQ(std::get<faults::RedisErrors>(s.faults[1].what).outcome, "unknown");
    EXPECT_DOUBLE_EQ(s.faults[1].part<faults::OfCalls>()->rate, 0.3);
    ASSERT_TRUE(s.faults[2].on);
    EXPECT_EQ(s.faults[2].on->event, fakes::EventKind::publish);
    EXPECT_EQ(s.faults[2].on->nth, 3);
    EXPECT_EQ(s.faults[2].pointer, "/faults/2");

    ASSERT_TRUE(s.chaos);
    EXPECT_EQ(s.chaos->heal_at, 8min);
    EXPECT_TRUE(s.expect.all_invariants);
    EXPECT_TRUE(s.expect.states.at("SUCCEEDED").holds(180));
    EXPECT_FALSE(s.expect.states.at("PENDING").holds(1));
    EXPECT_EQ(s.expect.jobs.at("special"), "CANCELLED");
    ASSERT_EQ(s.expect.metrics.size(), 1U);
    EXPECT_EQ(s.expect.metrics[0].metric, "cordum_scheduler_scheduler_dispatch_latency_seconds");
    EXPECT_EQ(s.expect.metrics[0].statistic, "p99");
    EXPECT_DOUBLE_EQ(s.expect.metrics[0].expected.value, 30);
    ASSERT_EQ(s.expect.events.size(), 1U);
    EXPECT_EQ(s.expect.events[0].outcome, "unknown");
    EXPECT_EQ(s.expect.sometimes, (std::vector<std::string>{"publish_outcome_unknown"}));
}

TEST(Loader, ReadsThePacketsOfAStranger) {
    const Scenario s = loaded(R"({"name": "t", "load": [
        {"at": "3s", "forge": {"job_result": {"job_id": "x", "worker_id": "w"}}, "count": 3, "rate": "1/s"},
        {"forge": {"heartbeat": {"worker_id": "w", "cpu_load": "NaN"}}, "subject": "sys.job.result"}]})");
    ASSERT_EQ(s.load.size(), 2U);
    EXPECT_EQ(s.load[0].kind, Load::Kind::forge);
    EXPECT_EQ(s.load[0].count, 3);
    EXPECT_EQ(s.load[1].subject, "sys.job.result");
}

TEST(Loader, RefusesForgeriesThatNobodyCouldPublish) {
    const auto why = [](const std::string& line) {
        const auto errors = refused(R"({"name": "t", "load": [)" + line + "]}");
        return errors.empty() ? std::string{} : to_string(errors.front());
    };
    EXPECT_THAT(why(R"({"forge": {"colour": "red"}})"), HasSubstr("a BusPacket has no field \"colour\""));
    EXPECT_THAT(why(R"({"forge": {"trace_id": "x"}})"), HasSubstr("expected a packet with a payload"));
    EXPECT_THAT(why(R"({"forge": {"heartbeat": {}}, "subject": "a.*"})"), HasSubstr("without wildcards"));
    EXPECT_THAT(why(R"({"forge": {"heartbeat": {}}, "topic": "job.default"})"), HasSubstr("goes with submits only"));
    EXPECT_THAT(why(R"({"topic": "job.default", "subject": "a"})"), HasSubstr("goes with \"forge\" and \"raw\" only"));
}

TEST(Loader, ReadsWhatAStrangerAndAnOperatorSend) {
    const Scenario s = loaded(R"({"name": "t", "load": [
        {"raw": "hello", "subject": "sys.job.result", "count": 2},
        {"at": "1s", "redis": ["set", "k", ""]}]})");
    EXPECT_EQ(s.load[0].kind, Load::Kind::forge);
    EXPECT_EQ(s.load[0].raw, "hello");
    EXPECT_EQ(s.load[0].count, 2);
    EXPECT_EQ(s.load[1].kind, Load::Kind::redis);
    EXPECT_EQ(s.load[1].command, (std::vector<std::string>{"set", "k", ""}));
}

TEST(Loader, ReadsWhatNarrowsAFault) {
    const Scenario s = loaded(R"({"name": "t", "load": [{"job": {"job_id": "a"}}], "faults": [
        {"at": "0s", "do": "redis.errors", "script": "commit", "key": "job:*", "job": "a", "count": 3},
        {"on": {"event": "cancel", "when": "before"}, "do": "redis.script_flush"},
        {"on": {"event": "submit"}, "do": "redis.script_flush"}]})");
    EXPECT_EQ(s.faults[0].part<faults::OfRedisCalls>()->script, "commit");
    EXPECT_EQ(s.faults[0].part<faults::OfRedisCalls>()->key, "job:*");
    EXPECT_EQ(s.faults[0].part<faults::OfRedisCalls>()->job, "a");
    EXPECT_EQ(s.faults[0].part<faults::OfRedisCalls>()->count, 3U);
    EXPECT_EQ(s.faults[1].on->when, fakes::When::before);
    EXPECT_EQ(s.faults[2].on->when, fakes::When::answered) << "it has no other end";
}

TEST(Loader, ReadsExpectationsOnValuesAndOnWhatCameBefore) {
    const Scenario s = loaded(R"({"name": "t", "at_least": "2m", "load": [{"job": {"job_id": "a"}}], "expect": {
        "dead_letters": [{"job": "a", "code": "x*", "count": 0}],
        "redis": [{"key": "k", "field": "f", "value": "v*", "at": "1m"}, {"key": "k", "absent": true}],
        "events": [{"event": "stored", "fields": {"job_result.error_code": "x", "jobRequest.labels.colour": "red"},
                    "before_event": {"event": "state", "to": "RUNNING", "per": "job"}, "in_state": "FAILED"}]}})");
    EXPECT_EQ(s.at_least, 2min);
    EXPECT_EQ(s.expect.dead_letters[0].code, "x*");
    EXPECT_TRUE(s.expect.dead_letters[0].count.holds(0));
    EXPECT_EQ(s.expect.redis[0].at, Duration(1min));
    EXPECT_TRUE(s.expect.redis[1].absent);
    const EventExpectation& event = s.expect.events[0];
    EXPECT_EQ(event.fields.size(), 2U);
    EXPECT_EQ(event.before_event->per, Trigger::Per::job);
    EXPECT_EQ(event.in_state, "FAILED");
}

TEST(Loader, NamesWhatIsNearestToAnUnknownName) {
    const auto why = [](const std::string& rest) {
        const auto errors = refused(R"({"name": "t", )" + rest + "}");
        return errors.empty() ? std::string{} : to_string(errors.front());
    };
    EXPECT_THAT(why(R"("load": [{"redis": ["GTE", "k"]}])"),
                HasSubstr("/load/0/redis/0: there is no Redis command \"GTE\"; did you mean \"GET\"?"));
    EXPECT_THAT(why(R"("faults": [{"at": "0s", "do": "redis.errors", "commands": ["evalsah"]}])"),
                HasSubstr("did you mean \"EVALSHA\"?"));
    EXPECT_THAT(why(R"("faults": [{"at": "0s", "do": "redis.errors", "script": "comit"}])"),
                HasSubstr("there is no script \"comit\"; did you mean \"commit\"?"));
    EXPECT_THAT(why(R"("faults": [{"on": {"event": "redis", "script": "comit"}, "do": "redis.script_flush"}])"),
                HasSubstr("did you mean \"commit\"?"));
    EXPECT_THAT(why(R"("load": [{"job": {"job_id": "a", "labls": {}}}])"),
                HasSubstr("/load/0/job/labls: a JobRequest has no field \"labls\"; did you mean \"labels\"?"));
    EXPECT_THAT(why(R"("load": [{"forge": {"heartbeat": {"worker": "w"}}}])"),
                HasSubstr("/load/0/forge/heartbeat/worker: a Heartbeat has no field \"worker\""));
    EXPECT_THAT(why(R"("load": [{"job": {"env": {"SIM_OUTCOME": "hangs"}}}])"), HasSubstr("did you mean \"hang\"?"));
    EXPECT_THAT(why(R"("cluster": {"workers": [{"id": "w", "first_outcomes": ["SUCEEDED"]}]})"),
                HasSubstr("did you mean \"SUCCEEDED\"?"));
    EXPECT_THAT(why(R"("expect": {"events": [{"event": "stored", "fields": {"job_reslt.job_id": "a"}}]})"),
                HasSubstr("did you mean \"job_result\"?"));
    EXPECT_THAT(why(R"("expect": {"events": [{"event": "state", "fields": {"job_result.job_id": "a"}}]})"),
                HasSubstr("is no event of a message"));
    EXPECT_THAT(why(R"("expect": {"dead_letters": [{"job": "a"}]})"), HasSubstr("no line of load submits a job \"a\""));
    EXPECT_THAT(why(R"("faults": [{"at": "0s", "do": "kernel.outage", "job": "a"}])"),
                HasSubstr("no line of load submits a job \"a\""));
}

TEST(Loader, RefusesWhatCannotBeMeant) {
    const auto why = [](const std::string& rest) {
        const auto errors = refused(R"({"name": "t", )" + rest + "}");
        return errors.empty() ? std::string{} : to_string(errors.front());
    };
    EXPECT_THAT(why(R"("load": [{"raw": "hello"}])"), HasSubstr("expected \"subject\" beside \"raw\""));
    EXPECT_THAT(why(R"("faults": [{"on": {"event": "submit", "when": "applied"}, "do": "redis.script_flush"}])"),
                HasSubstr("expected \"before\" or \"answered\""));
    EXPECT_THAT(why(R"("expect": {"redis": [{"key": "k", "absent": true, "value": "v"}]})"), HasSubstr("got both"));
    EXPECT_THAT(why(R"("expect": {"redis": [{"key": "k", "at": "31m"}]})"), HasSubstr("within the duration of 30m"));
    EXPECT_THAT(why(R"("at_least": "31m")"), HasSubstr("at most the duration of 30m"));
    EXPECT_THAT(why(R"("expect": {"events": [{"event": "stored", "fields": {"job_result": "a"}}]})"),
                HasSubstr("expected a field of job_result after a dot"));
}

TEST(Loader, FillsInEveryDefault) {
    const Scenario s = loaded(R"({"name": "tiny"})");
    EXPECT_EQ(s.seed, 1U);
    EXPECT_EQ(s.duration, 30min);
    EXPECT_EQ(s.cluster.schedulers, 1);
    EXPECT_TRUE(s.cluster.gateway_writes_redis);
    const auto pools = nlohmann::json::parse(s.cluster.documents.pools);
    EXPECT_EQ(pools["topics"]["job.default"][0], "default");
    EXPECT_EQ(nlohmann::json::parse(s.cluster.documents.policy)["default_decision"], "allow");
    EXPECT_TRUE(s.expect.all_invariants);
    EXPECT_FALSE(s.expect.invariants_given);
}

TEST(Loader, TimeoutsOverrideTheTunablesOfTheSameMeaning) {
    const Scenario s = loaded(R"({"name": "t", "cluster": {
        "config": {"dispatch_timeout": "9m", "running_timeout": "9m", "reconciler_interval": "9m"},
        "timeouts": {"reconciler": {"dispatch_timeout_seconds": 70, "running_timeout": "1500ms", "scan_interval": 0}}}})");
    EXPECT_EQ(s.cluster.config.dispatch_timeout, 70s);
    EXPECT_EQ(s.cluster.config.running_timeout, 1500ms);
    EXPECT_EQ(s.cluster.config.reconciler_interval, 30s) << "zero in a present block means its documented fallback";
    const auto document = nlohmann::json::parse(s.cluster.documents.timeouts);
    EXPECT_EQ(document["reconciler"]["running_timeout_seconds"], 2) << "whole seconds, rounded up";
}

TEST(Loader, TakesEventsThatMayComeAndLoadThatEndsWithTheRun) {
    const Scenario s = loaded(R"({"name": "t", "duration": "5m", "load": [{"count": 6, "rate": "1/m"}],
        "expect": {"events": [
            {"event": "reached", "name": "publish_*"}, {"event": "state", "job": "job-5"},
            {"event": "state", "job": "comp-1", "count": 0}, {"event": "redis", "command": "RPUSH", "script": "take_*"},
            {"event": "kernel_check", "to": "status:4", "when": "answered", "outcome": "unknown"},
            {"event": "job_finished", "to": "FAILED_RETRYABLE", "after": "10s", "until": "10s"}]}})");
    EXPECT_EQ(s.expect.events.size(), 6U);
}

TEST(Loader, ClockJumpsMayGoBackwards) {
    const Scenario s = loaded(R"({"name": "t", "faults": [
        {"at": "1s", "do": "clock_jump", "target": "scheduler-0", "by": "-10m"},
        {"at": "2s", "do": "clock_jump", "target": "scheduler-0", "by": "10m"}]})");
    EXPECT_EQ(std::get<faults::ClockJump>(s.faults[0].what).by, -10min);
    EXPECT_GT(std::get<faults::ClockJump>(s.faults[1].what).by, 0s);
}

TEST(Loader, StatusesAreNumbersOrNames) {
    const Scenario s = loaded(R"({"name": "t", "faults": [
        {"at": "1s", "do": "kernel.errors", "status": "RESOURCE_EXHAUSTED"},
        {"at": "1s", "do": "kernel.errors", "status": 4}, {"at": "1s", "do": "kernel.errors"}]})");
    EXPECT_EQ(std::get<faults::KernelErrors>(s.faults[0].what).status, 8);
    EXPECT_EQ(std::get<faults::KernelErrors>(s.faults[1].what).status, 4);
    EXPECT_EQ(std::get<faults::KernelErrors>(s.faults[2].what).status, 14);
}

TEST(Loader, ACounterexampleNamesWhatMustBeViolated) {
    const Scenario but = loaded(R"({"name": "t", "expect": {"invariants": {"all_but": ["no_lost_job"]}}})");
    EXPECT_TRUE(but.expect.watches("lock_exclusion"));
    EXPECT_FALSE(but.expect.watches("no_lost_job"));
    const Scenario s = loaded(R"({"name": "t", "expect": {"invariants": {"violated": ["no_duplicate_dispatch"]}}})");
    EXPECT_FALSE(s.expect.all_invariants);
    EXPECT_EQ(s.expect.violated, (std::vector<std::string>{"no_duplicate_dispatch"}));
}

TEST(Loader, JobsWithoutAnIdAreNumberedOverAllLines) {
    const Scenario s =
        loaded(R"({"name": "t", "load": [{"count": 2}, {"job": {"job_id": "one"}}, {"at": "1s", "cancel": "job-2"}, {}],
        "expect": {"jobs": {"job-1": "SUCCEEDED", "one": "SUCCEEDED", "job-2": "CANCELLED"}}})");
    EXPECT_EQ(job_ids(s.load), (std::vector<std::string>{"job-0", "job-1", "one", "job-2"}));
}

TEST(Loader, CommandLineOverridesAreAppliedBeforeAnythingIsChecked) {
    LoadOptions options;
    options.overrides = {"cluster.config.backoff_max=60s", "cluster.schedulers=2", "/cluster/workers/0/count=9",
                         "seed=5"};
    const Scenario s = loaded(kManualExample, options);
    EXPECT_EQ(s.cluster.config.backoff_max, 60s);
    EXPECT_EQ(s.cluster.schedulers, 2);
    EXPECT_EQ(s.cluster.workers[0].count, 9);
    EXPECT_EQ(s.seed, 5U);
}

TEST(Loader, AnOverrideThatIsWrongIsNamedAsSuch) {
    LoadOptions options;
    options.overrides = {"cluster.config.backof_max=60s"};
    const auto errors = refused(R"({"name": "t"})", options);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].pointer, "/cluster/config/backof_max");
    EXPECT_THAT(errors[0].expected, HasSubstr("did you mean \"backoff_max\"?"));
    EXPECT_THAT(errors[0].expected, HasSubstr("from --set cluster.config.backof_max=60s"));
}

TEST(Loader, ReportsEveryErrorOfAFileAtOnceInItsOrder) {
    const auto errors = refused(R"({
  "name": 5,
  "duration": "soon",
  "cluster": {"schedulers": 0},
  "faults": [{"do": "crash"}, {"do": "pause", "at": "1s", "target": "scheduler-7"}]
})");
    std::vector<std::string> places;
    for (const auto& error : errors) places.push_back(fmt::format("{}:{} {}", error.line, error.column, error.pointer));
    EXPECT_EQ(places, (std::vector<std::string>{"2:3 /name", "3:3 /duration", "4:15 /cluster/schedulers",
                                                "5:14 /faults/0", "5:14 /faults/0", "5:59 /faults/1/target"}));
}

TEST(Loader, SyntaxErrorsCarryTheirPlace) {
    const auto errors = refused("{\n  \"name\": \"t\",\n  \"seed\": }\n");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].line, 3);
    EXPECT_EQ(errors[0].column, 11);
    EXPECT_THAT(errors[0].expected, HasSubstr("expected JSON"));
    EXPECT_EQ(refused("").size(), 1U);
    EXPECT_EQ(refused("[]").size(), 1U);
    EXPECT_EQ(refused(std::string(100'000, '[')).size(), 1U);
    EXPECT_EQ(refused(std::string(100, '[') + std::string(100, ']')).size(), 1U);
    EXPECT_EQ(refused("{\"name\": \"t\", \"seed\": 1e999}").size(), 1U);
}

TEST(Loader, AKeyGivenTwiceIsRefusedWithBothPlaces) {
    const auto errors = refused("{\n\"name\": \"t\", // once\n\"seed\": 1,\n/* and */ \"seed\": 2\n}");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].pointer, "/seed");
    EXPECT_THAT(errors[0].expected, HasSubstr("lines 3 and 4"));
}

TEST(Loader, AFolderGivesItsFilesSortedAndEachOnce) {
    const auto folder = std::filesystem::temp_directory_path() /
                        fmt::format("lockstep-loader-{}", ::testing::UnitTest::GetInstance()->random_seed());
    std::filesystem::create_directories(folder / "sub");
    for (const char* name : {"b.json", "a.json", "scenario.schema.json", "notes.txt", "sub/c.json"})
        std::ofstream(folder / name) << "{}";
    const auto files = find_scenarios({folder.string(), (folder / "a.json").string()});
    ASSERT_TRUE(files);
    std::vector<std::string> names;
    for (const auto& file : *files) names.push_back(file.filename().string());
    EXPECT_EQ(names, (std::vector<std::string>{"a.json", "b.json", "c.json"}));
    std::filesystem::remove_all(folder);
    EXPECT_FALSE(find_scenarios({(folder / "gone.json").string()}));
}

/// One broken file per class of error: what is wrong in it, where, and what the message must say.
struct Broken {
    const char* name;
    const char* text;  // the members of the document besides its name
    const char* pointer;
    const char* message;
};

class BrokenFile : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenFile, NamesThePlaceAndWhatWasExpected) {
    const auto errors = refused(fmt::format(R"({{"name": "t", {}}})", GetParam().text));
    ASSERT_EQ(errors.size(), 1U) << (errors.empty() ? "" : to_string(errors[1 % errors.size()]));
    EXPECT_EQ(errors[0].pointer, GetParam().pointer);
    EXPECT_THAT(errors[0].expected, HasSubstr(GetParam().message));
    EXPECT_GT(errors[0].line, 0);
    EXPECT_EQ(errors[0].file, "test.json");
}

INSTANTIATE_TEST_SUITE_P(
    Loader, BrokenFile,
    ::testing::Values(
        Broken{"unknown_key", R"("clutser": {})", "/clutser", "did you mean \"cluster\"?"},
        Broken{"wrong_type", R"("tags": "locks")", "/tags", "expected a list, got \"locks\""},
        Broken{"bad_duration", R"("duration": "15 minutes")", "/duration", "expected a duration such as"},
        Broken{"negative_duration", R"("duration": "-5m")", "/duration", "expected a duration such as"},
        Broken{"no_duration", R"("duration": "0s")", "/duration", "more than 0"},
        Broken{"number_for_a_duration", R"("duration": 15)", "/duration", "expected a duration such as"},
        Broken{"negative_seed", R"("seed": -1)", "/seed", "expected a whole number of at least 0"},
        Broken{"bad_rate", R"("load": [{"rate": "20 per second"}])", "/load/0/rate", "expected a rate such as"},
        Broken{"rate_of_nothing", R"("load": [{"rate": "0/s"}])", "/load/0/rate", "expected a rate such as"},
        Broken{"unknown_tunable", R"("cluster": {"config": {"backof_max": "60s"}})", "/cluster/config/backof_max",
               "did you mean \"backoff_max\"?"},
        Broken{"tunable_of_another_type", R"("cluster": {"config": {"max_dispatch_retries": "3s"}})",
               "/cluster/config/max_dispatch_retries", "expected a whole number"},
        Broken{"tunable_of_another_word", R"("cluster": {"config": {"lock_on_abandon": "halt"}})",
               "/cluster/config/lock_on_abandon", "got \"halt\""},
        Broken{"unknown_fault", R"("faults": [{"at": "1s", "do": "redis.eror"}])", "/faults/0/do",
               "did you mean \"redis.errors\"?"},
        Broken{"no_fault", R"("faults": [{"at": "1s"}])", "/faults/0", "expected a key \"do\""},
        Broken{"argument_of_another_fault",
               R"("faults": [{"at": "1s", "do": "crash", "target": "redis", "rate": 0.5}])", "/faults/0/rate",
               "there is no key \"rate\" here"},
        Broken{"missing_argument", R"("faults": [{"at": "1s", "do": "slow_link", "a": "redis", "b": "nats"}])",
               "/faults/0", "expected a key \"latency\""},
        Broken{"rate_above_one", R"("faults": [{"at": "1s", "do": "redis.errors", "rate": 30}])", "/faults/0/rate",
               "expected a number from 0 to 1"},
        Broken{"unknown_target", R"("faults": [{"at": "1s", "do": "crash", "target": "schedular-0"}])",
               "/faults/0/target", "did you mean \"scheduler-0\"?"},
        Broken{"target_beyond_the_cluster", R"("faults": [{"at": "1s", "do": "crash", "target": "scheduler-1"}])",
               "/faults/0/target", "there is no node or group \"scheduler-1\""},
        Broken{"empty_group", R"("faults": [{"at": "1s", "do": "crash", "target": "workflows"}])", "/faults/0/target",
               "has no node in this cluster"},
        Broken{"no_result_reader",
               R"("faults": [{"at": "1s", "do": "pause", "target": "result-readers", "for": "1s"}])",
               "/faults/0/target", "has no node in this cluster"},
        Broken{"no_worker", R"("faults": [{"at": "1s", "do": "worker.zombie", "target": "redis"}])", "/faults/0/target",
               "expected a worker"},
        Broken{"unknown_link_end", R"("faults": [{"at": "1s", "do": "partition", "a": "schedulers", "b": "radis"}])",
               "/faults/0/b", "did you mean \"redis\"?"},
        Broken{"actor_without_an_event", R"("faults": [{"at": "1s", "do": "crash", "target": "actor"}])",
               "/faults/0/target", "without \"on\" there is none"},
        Broken{"fault_placed_nowhere", R"("faults": [{"do": "redis.oom"}])", "/faults/0",
               "expected \"at\" (a time) or \"on\" (an event)"},
        Broken{"fault_placed_twice", R"("faults": [{"at": "1s", "on": {"event": "ack"}, "do": "redis.oom"}])",
               "/faults/0", "got both"},
        Broken{"fault_after_the_end", R"("faults": [{"at": "31m", "do": "redis.oom"}])", "/faults/0/at",
               "within the duration of 30m"},
        Broken{"unknown_event", R"("faults": [{"on": {"event": "publsh"}, "do": "redis.oom"}])", "/faults/0/on/event",
               "did you mean \"publish\"?"},
        Broken{"filter_of_another_event",
               R"("faults": [{"on": {"event": "publish", "command": "GET"}, "do": "redis.oom"}])",
               "/faults/0/on/command", "its filters: node, job, subject"},
        Broken{"a_fact_has_no_before", R"("faults": [{"on": {"event": "state", "when": "before"}, "do": "redis.oom"}])",
               "/faults/0/on/when", "expected \"applied\""},
        Broken{"unknown_state_in_a_filter",
               R"("faults": [{"on": {"event": "state", "to": "RUNING"}, "do": "redis.oom"}])", "/faults/0/on/to",
               "did you mean \"RUNNING\"?"},
        Broken{"unknown_node_in_a_filter",
               R"("faults": [{"on": {"event": "ack", "node": "scheduler"}, "do": "redis.oom"}])", "/faults/0/on/node",
               "there is no node or group \"scheduler\""},
        Broken{
            "restart_with_an_unknown_tunable",
            R"("faults": [{"at": "1s", "do": "stop", "target": "scheduler-0", "for": "5s", "config": {"job_lock_tll": "30s"}}])",
            "/faults/0/config/job_lock_tll", R"(did you mean "job_lock_ttl"?)"},
        Broken{
            "restart_with_a_senseless_tunable",
            R"("faults": [{"at": "1s", "do": "stop", "target": "scheduler-0", "for": "5s", "config": {"job_lock_ttl": 30}}])",
            "/faults/0/config/job_lock_ttl", "expected a duration"},
        Broken{"settings_of_what_stays_down",
               R"("faults": [{"at": "1s", "do": "stop", "target": "scheduler-0", "config": {"job_lock_ttl": "30s"}}])",
               "/faults/0/config", "it stays down and has no settings"},
        Broken{
            "settings_of_a_server",
            R"("faults": [{"at": "1s", "do": "stop", "target": "redis", "for": "5s", "config": {"job_lock_ttl": "30s"}}])",
            "/faults/0/target", "only schedulers have settings, and \"redis\" is none"},
        Broken{
            "settings_of_whoever_it_was",
            R"("faults": [{"on": {"event": "ack"}, "do": "stop", "target": "actor", "for": "5s", "config": {"job_lock_ttl": "30s"}}])",
            "/faults/0/target", "expected \"schedulers\" or one of them: scheduler-0"},
        Broken{
            "settings_of_the_frozen",
            R"("faults": [{"at": "1s", "do": "pause", "target": "scheduler-0", "for": "5s", "config": {"job_lock_ttl": "30s"}}])",
            "/faults/0/config", ""},
        Broken{
            "a_worker_that_stays_down_in_another_pool",
            R"("cluster": {"workers": [{"id": "w"}]}, "faults": [{"at": "1s", "do": "crash", "target": "workers", "worker": {"pool": "default"}}])",
            "/faults/0/worker", "it stays down and has no pool"},
        Broken{
            "the_pool_of_a_scheduler",
            R"("faults": [{"at": "1s", "do": "crash", "target": "scheduler-0", "for": "5s", "worker": {"pool": "default"}}])",
            "/faults/0/target", "only workers have a pool, and \"scheduler-0\" is none"},
        Broken{
            "restart_in_an_unknown_pool",
            R"("cluster": {"workers": [{"id": "w"}]}, "faults": [{"at": "1s", "do": "crash", "target": "workers", "for": "5s", "worker": {"pool": "defualt"}}])",
            "/faults/0/worker/pool", "did you mean \"default\"?"},
        Broken{"update_of_nothing", R"("faults": [{"at": "1s", "do": "config.update"}])", "/faults/0",
               "\"pools\", \"timeouts\", \"scheduler\" or \"layers\""},
        Broken{
            "update_of_parts_and_of_all",
            R"("faults": [{"at": "1s", "do": "config.update", "pools": {"topics": {"job.default": ["default"]}}, "raw": "{"}])",
            "/faults/0/raw", "got both"},
        Broken{"update_of_an_unknown_setting",
               R"("faults": [{"at": "1s", "do": "config.update", "scheduler": {"input_fail_mod": "open"}}])",
               "/faults/0/scheduler/input_fail_mod", "did you mean \"input_fail_mode\"?"},
        Broken{"losses_of_another_server", R"("chaos": {"data_loss": "disk"})", "/chaos/data_loss",
               "there is no server that loses data \"disk\""},
        Broken{"unknown_status", R"("faults": [{"at": "1s", "do": "kernel.errors", "status": "UNAVAILIBLE"}])",
               "/faults/0/status", "did you mean \"UNAVAILABLE\"?"},
        Broken{"unknown_mechanism", R"("without": ["job_lok"])", "/without/0", "there is no mechanism \"job_lok\""},
        Broken{"schedule_of_no_kind", R"("cluster": {"schedule": {"kind": "pcd"}})", "/cluster/schedule/kind",
               R"(did you mean "pct"?)"},
        Broken{"schedule_without_depth", R"("cluster": {"schedule": {"kind": "pct", "depth": 0}})",
               "/cluster/schedule/depth", "1"},
        Broken{"rate_of_nobody", R"("cluster": {"service_rates": {"schedulerz": "10/s"}})",
               "/cluster/service_rates/schedulerz", R"(did you mean "schedulers"?)"},
        Broken{"unknown_invariant", R"("expect": {"invariants": ["no_lost_jobs"]})", "/expect/invariants/0",
               "did you mean \"no_lost_job\"?"},
        Broken{"unknown_violated_invariant", R"("expect": {"invariants": {"violated": ["no_lost_jobs"]}})",
               "/expect/invariants/violated/0", "did you mean \"no_lost_job\"?"},
        Broken{"invariants_of_no_kind", R"("expect": {"invariants": {}})", "/expect/invariants",
               "expected one key, \"all_but\" or \"violated\""},
        Broken{"invariants_of_another_word", R"("expect": {"invariants": "none"})", "/expect/invariants",
               "expected \"all\", a list of invariants"},
        Broken{"proof_of_nothing", R"("proves": {"without": "job_lock"})", "/proves", "what is different without"},
        Broken{"proof_about_no_mechanism", R"("proves": {"violated": ["no_lost_job"]})", "/proves", "\"without\""},
        Broken{"proof_about_an_unknown_mechanism", R"("proves": {"without": "job_lok", "violated": ["no_lost_job"]})",
               "/proves/without", "there is no mechanism \"job_lok\""},
        Broken{"proof_about_an_unknown_invariant", R"("proves": {"without": "job_lock", "violated": ["no_lost_jobs"]})",
               "/proves/violated/0", "did you mean \"no_lost_job\"?"},
        Broken{"proof_about_what_is_off_anyway",
               R"("without": ["job_lock"], "proves": {"without": "job_lock", "violated": ["no_lost_job"]})",
               "/proves/without", "\"without\" names it"},
        Broken{
            "proof_about_an_invariant_that_is_not_checked",
            R"("expect": {"invariants": ["fail_closed"]}, "proves": {"without": "job_lock", "violated": ["no_lost_job"]})",
            "/proves/violated/0", "name it in expect.invariants"},
        Broken{
            "proof_in_a_counterexample",
            R"("expect": {"invariants": {"violated": ["fail_closed"]}}, "proves": {"without": "job_lock", "expect": {}})",
            "/proves", "everything holds"},
        Broken{"proof_about_an_unknown_job",
               R"("proves": {"without": "job_lock", "expect": {"jobs": {"x": "FAILED"}}})", "/proves/expect/jobs/x",
               "no line of load submits"},
        Broken{"proof_that_counts_an_event_with_a_wrong_filter",
               R"("proves": {"without": "job_lock", "expect": {"events": [{"event": "publish", "command": "GET"}]}})",
               "/proves/expect/events/0/command", "its filters: node, job, subject"},
        Broken{"unknown_state", R"("expect": {"states": {"SUCCEDED": 1}})", "/expect/states/SUCCEDED",
               "did you mean \"SUCCEEDED\"?"},
        Broken{"bad_comparison", R"("expect": {"states": {"SUCCEEDED": "about 5"}})", "/expect/states/SUCCEEDED",
               "a comparison such as"},
        Broken{"unknown_job",
               R"("load": [{"job": {"job_id": "special"}}], "expect": {"jobs": {"specail": "SUCCEEDED"}})",
               "/expect/jobs/specail", "did you mean \"special\"?"},
        Broken{"unknown_final_state",
               R"("load": [{"job": {"job_id": "special"}}], "expect": {"jobs": {"special": "DONE"}})",
               "/expect/jobs/special", "there is no job state \"DONE\""},
        Broken{"unknown_metric", R"("expect": {"metrics": {"cordum_scheduler_jobs_recieved_total": 1}})",
               "/expect/metrics/cordum_scheduler_jobs_recieved_total",
               "did you mean \"cordum_scheduler_jobs_received_total\"?"},
        Broken{"histogram_without_a_statistic",
               R"("expect": {"metrics": {"cordum_scheduler_scheduler_job_lock_wait_seconds": 1}})",
               "/expect/metrics/cordum_scheduler_scheduler_job_lock_wait_seconds", ":p99"},
        Broken{"impossible_label",
               R"("expect": {"metrics": {"cordum_scheduler_jobs_completed_total{status=\"JOB_STATUS_FAILD\"}": 0}})",
               "/expect/metrics/cordum_scheduler_jobs_completed_total{status=\"JOB_STATUS_FAILD\"}",
               "did you mean \"JOB_STATUS_FAILED\"?"},
        Broken{"topic_of_nobody",
               R"("expect": {"metrics": {"cordum_scheduler_jobs_received_total{topic=\"job.defualt\"}": 0}})",
               "/expect/metrics/cordum_scheduler_jobs_received_total{topic=\"job.defualt\"}",
               "did you mean \"job.default\"?"},
        Broken{"unknown_measure", R"("expect": {"measures": {"submit_to_termnal.p99": "< 30s"}})",
               "/expect/measures/submit_to_termnal.p99", "did you mean \"submit_to_terminal.p99\"?"},
        Broken{"time_without_unit", R"("expect": {"measures": {"submit_to_terminal.p99": "< 30"}})",
               "/expect/measures/submit_to_terminal.p99", "expected a duration"},
        Broken{"count_with_unit", R"("expect": {"measures": {"naks": "< 30s"}})", "/expect/measures/naks",
               "expected a number"},
        Broken{"subject_of_nobody",
               R"("expect": {"events": [{"event": "publish", "subject": "sys.job.dql", "count": 0}]})",
               "/expect/events/0/subject", "did you mean \"sys.job.dlq\"?"},
        Broken{"comparison_that_cannot_fail", R"("expect": {"states": {"SUCCEEDED": ">= 0"}})",
               "/expect/states/SUCCEEDED", "expected a comparison that can fail"},
        Broken{"nodes_of_nobody", R"("expect": {"events": [{"event": "publish", "node": "schedule-*", "count": 0}]})",
               "/expect/events/0/node", "there is no node or group"},
        Broken{"time_of_a_service_with_unit", R"("load": [{"job": {"job_id": "a", "env": {"SIM_SERVICE_MS": "20s"}}}])",
               "/load/0/job/env/SIM_SERVICE_MS", "expected a whole number of milliseconds, got \"20s\""},
        Broken{"direction_that_nobody_takes", R"("load": [{"job": {"job_id": "a", "env": {"SIM_OUTCME": "FAILED"}}}])",
               "/load/0/job/env/SIM_OUTCME", "did you mean \"SIM_OUTCOME\"?"},
        Broken{"unknown_label", R"("expect": {"metrics": {"cordum_scheduler_jobs_received_total{topics=\"x\"}": 1}})",
               "/expect/metrics/cordum_scheduler_jobs_received_total{topics=\"x\"}", "did you mean \"topic\"?"},
        Broken{"unknown_event_in_an_expectation", R"("expect": {"events": [{"event": "redi"}]})",
               "/expect/events/0/event", "did you mean \"redis\"?"},
        Broken{"trace_of_an_event_without_a_message", R"("expect": {"events": [{"event": "state", "trace": "t"}]})",
               "/expect/events/0/trace", "\"state\" is no event of a message"},
        Broken{"unknown_chaos_level", R"("chaos": {"level": "hevy"})", "/chaos/level", "did you mean \"heavy\"?"},
        Broken{"unknown_chaos_kind", R"("chaos": {"faults": ["crashes"]})", "/chaos/faults/0",
               "did you mean \"crash\"?"},
        Broken{"fault_free_after_the_healing",
               R"("chaos": {"heal_at": "10s", "fault_free": [{"at": "2s", "for": "1s"}, {"at": "10s", "for": "1s"}]})",
               "/chaos/fault_free/1/at", "before all is healed"},
        Broken{
            "fault_window_upside_down",
            R"("faults": [{"on": {"event": "ack", "after": "9s", "until": "5s"}, "do": "pause", "target": "actor"}])",
            "/faults/0/on/until", "at least \"after\""},
        Broken{"healing_after_the_end", R"("chaos": {"heal_at": "1h"})", "/chaos/heal_at", "within the duration"},
        Broken{"unknown_topic", R"("load": [{"topic": "job.defualt"}])", "/load/0/topic",
               "did you mean \"job.default\"?"},
        Broken{"unknown_topic_in_a_job", R"("load": [{"job": {"topic": "job.other"}}])", "/load/0/job/topic",
               "no pool takes the topic \"job.other\""},
        Broken{"two_topics", R"("load": [{"topic": "job.default", "job": {"topic": "job.other"}}])", "/load/0/topic",
               "expected the topic of the job"},
        Broken{"unknown_field_of_a_job", R"("load": [{"job": {"priorty": "JOB_PRIORITY_BATCH"}}])",
               "/load/0/job/priorty", "a JobRequest has no field \"priorty\"; did you mean \"priority\"?"},
        Broken{"unknown_enum_of_a_job", R"("load": [{"job": {"priority": "JOB_PRIORITY_SOON"}}])", "/load/0/job",
               "expected a CAP JobRequest"},
        Broken{"cancel_of_an_unknown_job", R"("load": [{"at": "1s", "cancel": "nobody"}])", "/load/0/cancel",
               "no line of load submits a job \"nobody\""},
        Broken{"two_things_in_a_line", R"("load": [{"job": {"job_id": "a"}}, {"cancel": "a", "approve": "a"}])",
               "/load/1", "expected one of cancel, approve"},
        Broken{"count_of_cancels", R"("load": [{"job": {"job_id": "a"}}, {"cancel": "a", "count": 2}])",
               "/load/1/count", "goes with submits only"},
        Broken{"many_jobs_of_one_id", R"("load": [{"count": 2, "job": {"job_id": "a"}}])", "/load/0/count",
               "one job under one job id"},
        Broken{"workflow_without_a_wish", R"("load": [{"workflow": {}}])", "/load/0/workflow",
               "expected one of the keys \"put\", \"start\", \"approve\", \"cancel\", \"retry\" and \"rewrite\""},
        Broken{"retried_by_the_reference",
               R"("cluster": {"workflow_engines": 1}, "load": [)"
               R"({"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker"}}}}},)"
               R"({"workflow": {"start": "f"}}, {"workflow": {"retry": "run-0", "by": "reference"}}])",
               "/load/2/workflow/by", "its gateway tries no run again"},
        Broken{"rewritten_by_lockstep",
               R"("cluster": {"workflow_engines": 1}, "load": [)"
               R"({"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker"}}}}},)"
               R"({"workflow": {"start": "f"}}, {"workflow": {"rewrite": "run-0"}}])",
               "/load/2/workflow/rewrite", "expected \"by\": \"reference\""},
        Broken{"lockstep_takes_its_time",
               R"("cluster": {"workflow_engines": 1}, "load": [)"
               R"({"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker"}}}}},)"
               R"({"workflow": {"start": "f"}}, {"workflow": {"cancel": "run-0", "takes": "1s"}}])",
               "/load/2/workflow/takes", "of what the reference writes only"},
        Broken{"workflow_with_two_wishes", R"("load": [{"workflow": {"start": "f", "cancel": "run-0"}}])",
               "/load/0/workflow", "expected one of start, cancel"},
        Broken{
            "broken_definition",
            R"("load": [{"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker", "depends_on": ["b"]}}}}}])",
            "/load/0/workflow/put/steps/a/depends_on/0", "there is no step \"b\""},
        Broken{"unknown_workflow",
               R"("cluster": {"workflow_engines": 1}, "load": [)"
               R"({"workflow": {"put": {"id": "order", "steps": {"a": {"type": "worker"}}}}},)"
               R"({"workflow": {"start": "ordre"}}])",
               "/load/1/workflow/start", "did you mean \"order\"?"},
        Broken{"run_without_an_engine",
               R"("load": [{"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker"}}}}},)"
               R"({"workflow": {"start": "f"}}])",
               "/load/1/workflow/start", "cluster.workflow_engines is 0"},
        Broken{"one_mark_for_two_services",
               R"("cluster": {"workflow_engines": 1, "config": {"bus_guard_key_scope": "stream"}})",
               "/cluster/config/bus_guard_key_scope", "with one mark for the stream each would silence the other"},
        Broken{"one_mark_after_a_restart",
               R"("cluster": {"schedulers_run_workflows": true}, "faults": [{"at": "1s", "do": "stop", "target": )"
               R"("scheduler-0", "for": "5s", "config": {"bus_guard_key_scope": "stream"}}])",
               "/faults/0/config/bus_guard_key_scope", "leave it at consumer where there is a workflow engine"},
        Broken{"unknown_run",
               R"("cluster": {"workflow_engines": 1}, "load": [)"
               R"({"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker"}}}}},)"
               R"({"workflow": {"start": "f"}, "count": 2}], "expect": {"runs": {"run-2": "succeeded"}})",
               "/expect/runs/run-2", "no line of load starts a run \"run-2\""},
        Broken{"unknown_step_of_a_run",
               R"("cluster": {"workflow_engines": 1}, "load": [)"
               R"({"workflow": {"put": {"id": "f", "steps": {"sign": {"type": "approval"}}}}},)"
               R"({"workflow": {"start": "f"}}, {"workflow": {"approve": "run-0", "step": "sing"}}])",
               "/load/2/workflow/step", "did you mean \"sign\"?"},
        Broken{"unknown_run_status", R"("expect": {"run_states": {"succeded": 1}})", "/expect/run_states/succeded",
               "did you mean \"succeeded\"?"},
        Broken{"job_of_no_run", R"("load": [{"approve": "run-0:sign@1"}])", "/load/0/approve",
               "no line of load submits a job"},
        Broken{"part_of_another_wish",
               R"("load": [{"workflow": {"put": {"id": "f", "steps": {"a": {"type": "worker"}}}, "step": "a"}}])",
               "/load/0/workflow/step", "goes with \"approve\" only"},
        Broken{"unknown_pool", R"("cluster": {"workers": [{"id": "w", "pool": "defualt"}]})", "/cluster/workers/0/pool",
               "did you mean \"default\"?"},
        Broken{"worker_without_a_name", R"("cluster": {"workers": [{"pool": "default"}]})", "/cluster/workers/0",
               "expected a key \"id\""},
        Broken{"unknown_outcome", R"("cluster": {"workers": [{"id": "w", "outcomes": {"SUCCEEDED": 1, "hangs": 1}}]})",
               "/cluster/workers/0/outcomes/hangs", "did you mean \"hang\"?"},
        Broken{"weights_of_nothing", R"("cluster": {"workers": [{"id": "w", "outcomes": {"SUCCEEDED": 0}}]})",
               "/cluster/workers/0/outcomes", "at least one weight"},
        Broken{"two_workers_of_one_name", R"("cluster": {"workers": [{"id": "w-0"}, {"id": "w", "count": 1}]})",
               "/cluster/workers", "\"w-0\" would name two things"},
        Broken{"rare_branch_that_is_none",
               R"("expect": {"events": [{"event": "reached", "name": "publish_outcome_unknwon", "count": 0}]})",
               "/expect/events/0/name", "did you mean \"publish_outcome_unknown\"?"},
        Broken{"event_of_a_job_that_nobody_submits",
               R"("expect": {"events": [{"event": "state", "job": "job-77", "count": 0}]})", "/expect/events/0/job",
               "no line of load submits a job \"job-77\""},
        Broken{"event_of_a_script_that_is_none",
               R"("expect": {"events": [{"event": "redis", "script": "comit", "count": 0}]})",
               "/expect/events/0/script", "did you mean \"commit\"?"},
        Broken{"event_of_a_command_that_is_none",
               R"("expect": {"events": [{"event": "redis", "command": "HSETT", "count": 0}]})",
               "/expect/events/0/command", "there is no Redis command \"HSETT\""},
        Broken{"decision_that_is_none",
               R"("expect": {"events": [{"event": "kernel_check", "to": "ALOW", "count": 0}]})", "/expect/events/0/to",
               "did you mean \"ALLOW\"?"},
        Broken{"status_that_is_none", R"("expect": {"events": [{"event": "result", "to": "SUCEEDED", "count": 0}]})",
               "/expect/events/0/to", "did you mean \"SUCCEEDED\"?"},
        Broken{"window_upside_down",
               R"("expect": {"events": [{"event": "state", "after": "10s", "until": "5s", "count": 0}]})",
               "/expect/events/0/until", "at least \"after\""},
        Broken{"window_after_the_end", R"("expect": {"events": [{"event": "state", "after": "10h", "count": 0}]})",
               "/expect/events/0/after", "within the duration"},
        Broken{"outcome_of_a_fact", R"("expect": {"events": [{"event": "state", "outcome": "unknown", "count": 0}]})",
               "/expect/events/0/outcome", "has no outcome"},
        Broken{"outcome_before_the_answer",
               R"("expect": {"events": [{"event": "redis", "when": "before", "outcome": "unknown", "count": 0}]})",
               "/expect/events/0/when", "\"answered\" or nothing"},
        Broken{"load_past_the_end", R"("duration": "5m", "load": [{"count": 100, "rate": "1/m"}])", "/load/0",
               "the last comes 5940s after the first"},
        Broken{"worker_that_no_subject_can_name", R"("cluster": {"workers": [{"id": "a.b"}]})", "/cluster/workers/0/id",
               "without '.', '*', '>' and blanks"},
        Broken{"worker_that_every_subject_names", R"("cluster": {"workers": [{"id": ">"}]})", "/cluster/workers/0/id",
               "without '.', '*', '>' and blanks"},
        Broken{"heartbeats_without_a_pause", R"("cluster": {"workers": [{"id": "w", "heartbeat": "0s"}]})",
               "/cluster/workers/0/heartbeat", "a duration of at least 1ms"},
        Broken{"redelivery_without_a_pause", R"("cluster": {"config": {"bus_ack_wait": 0}})",
               "/cluster/config/bus_ack_wait", "a duration of at least 1ms"},
        Broken{"scan_without_a_pause", R"("cluster": {"timeouts": {"reconciler": {"scan_interval": "1us"}}})",
               "/cluster/timeouts/reconciler/scan_interval", "at least 1ms"},
        Broken{"span_of_no_length", R"("expect": {"events": [{"event": "state", "in_any": "0s", "count": ">= 1"}]})",
               "/expect/events/0/in_any", "a duration of more than 0"},
        Broken{"unknown_distribution", R"("cluster": {"network": {"latency": {"dist": "normal", "mean": "2s"}}})",
               "/cluster/network/latency/dist", "there is no distribution \"normal\""},
        Broken{"distribution_upside_down",
               R"("cluster": {"network": {"latency": {"dist": "uniform", "min": "2s", "max": "1s"}}})",
               "/cluster/network/latency/max", "expected at least \"min\""},
        Broken{"policy_of_another_type", R"("cluster": {"kernel": {"policy": {"rules": {"id": "r"}}}})",
               "/cluster/kernel/policy/rules", "list"},
        Broken{"unknown_key_of_a_policy", R"("cluster": {"kernel": {"policy": {"rule": []}}})",
               "/cluster/kernel/policy/rule", "rule"},
        Broken{"unknown_key_of_an_output_rule",
               R"("cluster": {"output_policy": {"enabled": true, "rules": [{"id": "r", "decison": "deny"}]}})",
               "/cluster/output_policy/rules/0/decison", "unknown key"},
        Broken{"timeout_under_two_names",
               R"("cluster": {"timeouts": {"reconciler": {"scan_interval": "30s", "scan_interval_seconds": 30}}})",
               "/cluster/timeouts/reconciler/scan_interval", "got both"},
        Broken{"topic_without_pools", R"("cluster": {"pools": {"topics": {"job.default": []}}})",
               "/cluster/pools/topics/job.default", "a list of pools that is not empty"},
        Broken{"nameless_topic", R"("cluster": {"pools": {"topics": {"job.default": "default", "": "default"}}})",
               "/cluster/pools/topics/", "a name that is not empty"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::sim
