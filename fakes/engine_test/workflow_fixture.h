// A whole workflow engine on a simulated Redis, with a bus that the test scripts. The records of jobs are written by the test, in
// the place of a scheduler.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/runs/run_document.h"
#include "engine/wire/packet.h"
#include "engine/workflow/workflow_engine.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {

class WorkflowTest : public SchedulerTest {
protected:
    using json = nlohmann::json;

    [[nodiscard]] std::unique_ptr<engine::WorkflowEngine> make_engine() {
        engine::WorkflowConfig config;
        config.tunables = tunables;
        config.mechanisms = more_config.mechanisms;
        return std::make_unique<engine::WorkflowEngine>(
            engine::Ports{loop, clock, entropy, slow_redis, bus, kernel, metrics, log}, std::move(config));
    }
    void boot_engine() {
        engine_ = make_engine();
        const auto started = loop.wait(engine_->start());
        ASSERT_TRUE(started) << started.error();
        loop.settle();
    }
    void crash_engine() { engine_.reset(); }
    void put(json steps, json more = json::object()) {
        json document{{"id", "wf-1"}, {"org_id", "acme"}, {"steps", std::move(steps)}};
        document.update(more);
        run({"SET", "wf:def:" + document.at("id").get<std::string>(), document.dump()});
    }
    /// As a gateway stores a run, without telling anybody.
    void store_run(const std::string& id, json input = json::object(), const std::string& workflow = "wf-1") {
        const json document{{"id", id},         {"workflow_id", workflow},
                            {"org_id", "acme"}, {"status", "pending"},
                            {"input", input},   {"created_at", "2026-01-01T00:00:00Z"}};
        run({"SET", "wf:run:" + id, document.dump()});
        run({"ZADD", "wf:runs:status:pending", "1", id});
        run({"ZADD", "wf:runs:all", "1", id});
        run({"ZADD", "wf:runs:" + workflow, "1", id});
        run({"SADD", "wf:runs:active:acme", id});
    }
    void wake(const std::string& id) {
        bus.tell_bytes(engine::kSubjectRunWake, id);
        loop.settle();
    }
    void begin(const std::string& id, json input = json::object()) {
        store_run(id, std::move(input));
        wake(id);
    }
    /// The scheduler has ended the job, and its result message arrives.
    Fate end_job(const std::string& job, const std::string& state = "SUCCEEDED", const std::string& output = {}) {
        record_end(job, state, output);
        return result(job, state == "SUCCEEDED" ? cap::JOB_STATUS_SUCCEEDED : cap::JOB_STATUS_FAILED);
    }
    void record_end(const std::string& job, const std::string& state, const std::string& output = {}) {
        run({"HSET", "job:meta:" + job, "state", state});
        if (output.empty()) return;
        run({"SET", "res:" + job, output});
        run({"HSET", "job:meta:" + job, "result_ptr", "redis://res:" + job});
    }
    [[nodiscard]] json document(const std::string& id) {
        const std::string stored = text({"GET", "wf:run:" + id});
        return stored.empty() ? json() : json::parse(stored);
    }
    [[nodiscard]] std::string status(const std::string& id) { return document(id).value("status", ""); }
    [[nodiscard]] std::string status(const std::string& id, const std::string& step) {
        const json stored = document(id);
        const json& record = engine::at_path(stored, "steps." + step);
        return record.is_object() ? record.value("status", "") : "";
    }
    /// Ids of the jobs that were submitted, in order; one that was submitted again counts again.
    [[nodiscard]] Texts submitted() const {
        Texts jobs;
        for (const auto& message : bus.published_on("sys.job.submit"))
            jobs.push_back(engine::wire::decode(message.payload)->job_request().job_id());
        return jobs;
    }
    [[nodiscard]] bool exists(const std::string& key) { return *run({"EXISTS", key}).integer() == 1; }

    std::unique_ptr<engine::WorkflowEngine> engine_;
};

}  // namespace lockstep::fakes::engine_test
