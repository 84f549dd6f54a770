// A run in the hands of a test: what happens to it is said in a line.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/runs/pass.h"
#include "engine/runs/retry.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine::testing {

using namespace std::chrono_literals;

inline WorkflowDefinition definition_of(nlohmann::json steps, nlohmann::json more = nlohmann::json::object()) {
    nlohmann::json document{{"id", "wf-1"}, {"name", "Orders"}, {"org_id", "acme"}, {"steps", std::move(steps)}};
    document.update(more);
    auto definition = read_definition(document);
    if (!definition) {
        for (const DefinitionMistake& mistake : definition.error())
            ADD_FAILURE() << mistake.pointer << ": " << mistake.message;
        return {};
    }
    return *definition;
}

class TestRun {
public:
    explicit TestRun(nlohmann::json steps, nlohmann::json input = nlohmann::json::object(),
                     nlohmann::json more = nlohmann::json::object())
        : workflow_(definition_of(std::move(steps), std::move(more))),
          run(nlohmann::json{{"id", "run-1"},
                             {"workflow_id", "wf-1"},
                             {"org_id", "acme"},
                             {"status", "pending"},
                             {"input", std::move(input)},
                             {"created_at", "2026-01-01T00:00:00Z"}}) {}

    /// A pass; what it asks for is in `effects` afterwards.
    void advance() {
        in_pass([](RunPass& pass) { pass.advance(); });
    }
    void advance_by(Duration span) {
        at += span;
        advance();
    }
    /// The end of a step's present job.
    void end(const std::string& step, const std::string& state, nlohmann::json output = {}, bool fatal = false) {
        JobEnd end{run.step(step).job_id(),
                   state,
                   fatal,
                   state == "SUCCEEDED" ? "redis://res:" + step : "",
                   state == "SUCCEEDED" ? "" : step + " came to " + state,
                   std::move(output)};
        end_job(end);
    }
    void end_job(const JobEnd& end) {
        in_pass([&](RunPass& pass) {
            pass.take_end(end);
            pass.advance();
        });
    }
    template <class Act>
    void in_pass(Act act) {
        effects = {};
        RunPass pass(workflow_, run, at, limits, children, effects);
        act(pass);
    }

    [[nodiscard]] std::string status() const { return std::string(to_string(run.status())); }
    [[nodiscard]] std::string status(const std::string& step) {
        const auto record = run.find_step(step);
        return record ? std::string(to_string(record->status())) : "";
    }
    /// The steps whose jobs the last pass has begun.
    [[nodiscard]] std::vector<std::string> begun() const {
        std::vector<std::string> steps;
        for (const Submission& submission : effects.submissions) steps.push_back(submission.step);
        return steps;
    }
    [[nodiscard]] cap::JobRequest request_of(const std::string& step) const {
        const auto found = std::ranges::find(effects.submissions, step, &Submission::step);
        if (found == effects.submissions.end()) {
            ADD_FAILURE() << step << " has not begun";
            return {};
        }
        return wire::decode(found->packet)->job_request();
    }
    [[nodiscard]] nlohmann::json payload_of(const std::string& step) const {
        const auto found = std::ranges::find(effects.submissions, step, &Submission::step);
        return found == effects.submissions.end() ? nlohmann::json() : nlohmann::json::parse(found->context);
    }
    [[nodiscard]] std::string error_of(const std::string& step) {
        return run.step(step).member("error").value("message", "");
    }
    [[nodiscard]] std::vector<std::string> cancelled() const {
        std::vector<std::string> jobs;
        for (const JobCancellation& cancellation : effects.cancellations) jobs.push_back(cancellation.job);
        return jobs;
    }
    [[nodiscard]] std::string obstacle_to_retry() { return engine::obstacle_to_retry(workflow_, run); }
    [[nodiscard]] std::map<std::string, DueTime> due() { return due_times(workflow_, run); }

private:
    WorkflowDefinition workflow_;

public:
    RunDocument run;
    WallTime at = *wire::parse_rfc3339("2026-01-01T00:00:00Z");
    RunLimits limits;
    ChildRunStates children;
    RunEffects effects;
};

}  // namespace lockstep::engine::testing
