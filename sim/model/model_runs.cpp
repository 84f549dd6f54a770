// What the model makes of what is written about workflow runs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kDelayTimers = "cordum:wf:delay:timers";
/// Fields of what is to be sent for a run that are submissions, by job.
constexpr std::string_view kSubmissionPrefix = "s:";

}  // namespace

void Model::write_run(fakes::NodeId client, std::string_view name, std::string_view document) {
    WorkflowRun& run = runs_.run(name);
    RunWritten& fact = note(RunWritten{}, client, nullptr, upcoming());
    fact.run = &run;
    fact.before = run.before = std::exchange(run.document, parse_document(document));
    fact.after = run.document;
    run.told.clear();
    fact.definition = runs_.definition_of(run);
    fact.last_written = std::exchange(run.written, upcoming());
    fact.by_user = by_user(client);
    fact.redis_ms = redis_ms_;
    // From there requests may be made anew.
    if (fact.by_user)
        for (Job* asked : std::exchange(run.asked_for, {})) asked->step.request.clear();
    for (const auto& step : steps_of(*run.document))
        if (const std::string named = member_text(step, "job_id"); !named.empty()) job(named).step.is_named = true;
}

void Model::write_step_input(fakes::NodeId client, std::string_view key, std::string_view text) {
    constexpr std::string_view kInputPrefix = "ctx:";
    if (!key.starts_with(kInputPrefix) || by_user(client)) return;
    const std::string_view name = key.substr(kInputPrefix.size());
    const WorkflowRun* run = runs_.find(run_of_job(name));
    if (run == nullptr) return;
    StepInputWritten& fact = note(StepInputWritten{}, client, &job(name), upcoming());
    fact.run = run;
    fact.text = text;
}

void Model::ask_for_step(fakes::NodeId client, std::string_view field, std::string_view request) {
    if (!field.starts_with(kSubmissionPrefix)) return;
    const std::string_view name = field.substr(kSubmissionPrefix.size());
    WorkflowRun* run = runs_.find(run_of_job(name));
    if (run == nullptr) return;
    Job& asked = job(name);
    if (asked.step.request.empty()) {
        asked.step.request = request;
        run->asked_for.push_back(&asked);
    } else if (asked.step.request != request) {
        note(StepAskedForAnew{}, client, &asked, upcoming()).run = run;
    }
}

void Model::note_timeline(fakes::NodeId client, std::string_view key, std::string_view entry) {
    constexpr std::string_view kTimelinePrefix = "wf:run:timeline:";
    constexpr std::string_view kOver = "step_delay_completed";
    if (!key.starts_with(kTimelinePrefix)) return;
    auto event = parse_document(entry);
    if (WorkflowRun* run = runs_.find(key.substr(kTimelinePrefix.size()))) run->told.push_back(event);
    if (member_text(*event, "type") != kOver) return;
    DelayOver& fact = note(DelayOver{}, client, nullptr, upcoming());
    fact.run = &runs_.run(key.substr(kTimelinePrefix.size()));
    fact.step = member_text(*event, "step_id");
}

void Model::list_run(std::string_view key, std::string_view member, std::optional<double> seconds) {
    constexpr std::string_view kListPrefix = "wf:runs:";
    WorkflowRun* run = key.starts_with(kListPrefix) ? runs_.find(member) : nullptr;
    if (run == nullptr) return;
    const std::string list(key.substr(kListPrefix.size()));
    if (seconds)
        run->listed[list] = static_cast<std::int64_t>(*seconds);
    else
        run->listed.erase(list);
}

void Model::set_timer(fakes::NodeId client, std::string_view key, std::string_view member, double seconds) {
    const std::size_t colon = key == kDelayTimers ? member.find(':') : std::string_view::npos;
    const WorkflowRun* run = colon == std::string_view::npos ? nullptr : runs_.find(member.substr(colon + 1));
    if (run == nullptr) return;
    TimerSet& fact = note(TimerSet{}, client, nullptr, upcoming());
    fact.run = run;
    fact.at_ms = static_cast<std::int64_t>(seconds * 1000);
    fact.redis_ms = redis_ms_;
}

/// `says_this`: the message is the request of this job.
void Model::on_step_stored(const fakes::Event& event, Job& meant, bool says_this) {
    const std::string& request = meant.step.request;
    meant.step.is_garbled |= !says_this || (!request.empty() && event.payload != request);
    if (!says_this || event.packet->sender_id() != kWorkflowEngine) return;
    if (const WorkflowRun* run = runs_.find(run_of_job(meant.name)))
        note(StepSubmitted{}, event.node, &meant, clock_.present()).run = run;
}

}  // namespace lockstep::sim
