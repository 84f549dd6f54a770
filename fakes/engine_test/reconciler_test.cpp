// The reconciler's limits: whose they are, and how they change while it runs.
#include <nlohmann/json.hpp>

#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using nlohmann::json;

class ReconcilerTest : public SchedulerTest {
protected:
    ReconcilerTest() {
        tunables.reconciler_interval = 1s;
        tunables.config_reload_interval = 1s;
        tunables.worker_ttl = 24h;
        more_config.pools_document =
            R"({"topics": {"job.default": "default", "job.short": "default", "job.long": "default"}})";
    }
    void start_with_timeouts(const char* text) {
        more_config.timeouts = *engine::parse_timeouts(text);
        engine::apply_limits(*more_config.timeouts, more_config.pinned, tunables);
        start();
    }
    void run_on(const std::string& job, const std::string& topic, const std::string& workflow = {}) {
        auto request = request_for(job);
        request.set_topic(topic);
        request.set_workflow_id(workflow);
        submit(request);
        ASSERT_EQ(state(job), "RUNNING");
    }
    void write_timeouts(const char* text) {
        json settings = json::parse(text_of_settings());
        settings["data"]["timeouts"] = json::parse(text);
        settings["revision"] = settings["revision"].get<int>() + 1;
        run({"SET", "cfg:system:default", settings.dump()});
        loop.run_for(2s);
    }
    std::string text_of_settings() { return text({"GET", "cfg:system:default"}); }
};

// RECON-01, C-24
TEST_F(ReconcilerTest, ATopicMayHaveLessTimeThanTheRestAndMore) {
    start_with_timeouts(R"({"topics": {"job.short": {"timeout_seconds": 5}, "job.long": {"timeout_seconds": 60}},
                            "reconciler": {"running_timeout_seconds": 20, "scan_interval_seconds": 1}})");
    run_on("short", "job.short");
    run_on("usual", "job.default");
    run_on("long", "job.long");
    loop.run_for(4s);
    EXPECT_EQ(state("short"), "RUNNING");
    loop.run_for(3s);
    EXPECT_EQ(state("short"), "TIMEOUT");
    EXPECT_EQ(field("short", "failure_reason"), "timeout: RUNNING >5s");
    loop.run_for(12s);
    EXPECT_EQ(state("usual"), "RUNNING");
    loop.run_for(3s);
    EXPECT_EQ(state("usual"), "TIMEOUT");
    EXPECT_EQ(field("usual", "failure_reason"), "timeout: RUNNING >20s");
    loop.run_for(36s);
    EXPECT_EQ(state("long"), "RUNNING");
    loop.run_for(5s);
    EXPECT_EQ(state("long"), "TIMEOUT");
    EXPECT_EQ(dead_letter_code("long"), "timeout");
}

// C-24: of a workflow and a topic the stricter one
TEST_F(ReconcilerTest, AJobOfAWorkflowHasThatOnesTimes) {
    start_with_timeouts(R"({"topics": {"job.long": {"timeout_seconds": 600}},
                            "workflows": {"wf": {"child_timeout_seconds": 5}, "whole": {"total_timeout_seconds": 8}}})");
    run_on("step", "job.long", "wf");
    run_on("of-a-short-run", "job.long", "whole");
    run_on("other", "job.long", "unknown");
    loop.run_for(7s);
    EXPECT_EQ(field("step", "failure_reason"), "timeout: RUNNING >5s");
    EXPECT_EQ(state("of-a-short-run"), "RUNNING");
    loop.run_for(3s);
    EXPECT_EQ(field("of-a-short-run", "failure_reason"), "timeout: deadline expired");
    EXPECT_EQ(state("other"), "RUNNING");
}

TEST_F(ReconcilerTest, AWorkflowsTotalTimeShortensADeadlineAndNeverLengthensOne) {
    start_with_timeouts(R"({"workflows": {"whole": {"total_timeout_seconds": 8}}})");
    for (const auto& [job, deadline] : {std::pair{"sooner", 3000}, std::pair{"later", 60'000}}) {
        auto request = request_for(job);
        request.set_workflow_id("whole");
        request.mutable_budget()->set_deadline_ms(deadline);
        submit(request);
    }
    loop.run_for(5s);
    EXPECT_EQ(state("sooner"), "TIMEOUT");
    EXPECT_EQ(state("later"), "RUNNING");
    loop.run_for(5s);
    EXPECT_EQ(state("later"), "TIMEOUT");
}

// RECON-06, D-10
TEST_F(ReconcilerTest, LimitsThatAreChangedToZeroAreTheBuiltInOnesAtOnceAndAfterARestart) {
    start_with_timeouts(
        R"({"reconciler": {"dispatch_timeout_seconds": 10, "running_timeout_seconds": 20, "scan_interval_seconds": 1}})");
    write_timeouts(R"({"reconciler": {"dispatch_timeout_seconds": 0, "running_timeout_seconds": 0}})");
    run_on("first", "job.default");
    loop.run_for(450s);
    EXPECT_EQ(state("first"), "RUNNING");
    crash();
    start();
    loop.run_for(440s);
    EXPECT_EQ(state("first"), "RUNNING");
    loop.run_for(15s);
    EXPECT_EQ(field("first", "failure_reason"), "timeout: RUNNING >15m");
    run_on("second", "job.default");
    write_timeouts(R"({"reconciler": {"dispatch_timeout_seconds": 5, "running_timeout_seconds": 15}})");
    loop.run_for(11s);
    EXPECT_EQ(state("second"), "RUNNING");
    loop.run_for(4s);
    EXPECT_EQ(field("second", "failure_reason"), "timeout: RUNNING >15s");
}

TEST_F(ReconcilerTest, TopicsThatTheServiceNamesReplaceThoseOfTheFile) {
    start_with_timeouts(R"({"topics": {"job.short": {"timeout_seconds": 5}}})");
    run_on("job", "job.short");
    write_timeouts(R"({"topics": {"job.long": {"timeout_seconds": 5}}})");
    loop.run_for(20s);
    EXPECT_EQ(state("job"), "RUNNING");
}

// One page holds three: those that may stay come first and fill it.
TEST_F(ReconcilerTest, JobsThatMayStayForHoursHideNoneThatMayNot) {
    tunables.reconciler_batch = 3;
    tunables.reconciler_max_iterations = 2;
    start_with_timeouts(R"({"topics": {"job.short": {"timeout_seconds": 5}, "job.long": {"timeout_seconds": 36000}}})");
    for (int i = 0; i < 20; ++i) run_on("long-" + std::to_string(i), "job.long");
    loop.run_for(1ms);
    run_on("short", "job.short");
    loop.run_for(20s);
    EXPECT_EQ(state("short"), "TIMEOUT") << "a tick ends after two pages: the next one goes on from there";
    EXPECT_EQ(state("long-0"), "RUNNING");
}

TEST_F(ReconcilerTest, ATopicsRetriesBoundHowOftenItsJobsAreDispatched) {
    start_with_timeouts(R"({"topics": {"job.short": {"max_retries": 1}}})");
    run({"HSET", "job:meta:often", "ls_dispatches", "2", "topic", "job.short"});
    run({"HSET", "job:meta:other", "ls_dispatches", "2"});
    auto request = request_for("often");
    request.set_topic("job.short");
    submit(request);
    EXPECT_EQ(state("often"), "FAILED");
    EXPECT_EQ(dead_letter_code("often"), "max_retries_exceeded");
    EXPECT_EQ(field("often", "failure_reason"), "dispatched 2 times, and its topic allows 1 retries");
    submit("other");
    EXPECT_EQ(state("other"), "RUNNING");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
