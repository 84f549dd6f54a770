#include "sim/oracles/policy_marks_own.h"

#include <fmt/core.h>

#include "engine/policy/safety_decision.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/subjects.h"
#include "sim/model/documented_settings.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::When;

/// What a scheduler says of why nobody has answered (wire.md 7.1).
constexpr std::string_view kReasonPrefix = "safety kernel";

/// On its way to a worker, or to whoever listens on its topic.
bool goes_to_worker(std::string_view subject) { return is_worker_subject(subject) || subject.starts_with("job."); }

bool is_saga_stack(std::string_view key) {
    return (key.starts_with("saga:") && key.ends_with(":stack")) || key.starts_with("lockstep:saga:");
}

}  // namespace

void PolicyMarksOwn::note_submission(const cap::JobRequest& request, EventNumber event) {
    const auto note = [&](const auto& map, const auto& names) {
        for (const char* name : names) {
            const auto found = map.find(name);
            if (found != map.end()) jobs_[request.job_id()].submitted.try_emplace({name, found->second}, event);
        }
    };
    const auto note_all = [&note](const auto& message) {
        note(message.labels(), wire::kPolicyLabels);
        note(message.meta().labels(), wire::kPolicyLabels);
        note(message.env(), wire::kPolicyVariables);
    };
    note_all(request);
    note_all(request.compensation());
}

void PolicyMarksOwn::note_constraints(Job& job, const cap::PolicyConstraints& constraints) {
    cap::JobRequest told;
    engine::apply_constraints(constraints, told);
    for (const auto& [name, value] : told.env()) job.told.emplace(name, value);
}

bool PolicyMarksOwn::may_be_ours(const Job& job, const Mark& mark) const {
    const auto& [name, value] = mark;
    if (name == wire::kLabelBypassed) return may_fail_open_ && value == "true";
    if (name == wire::kLabelBypassReason) return may_fail_open_ && value.starts_with(kReasonPrefix);
    return job.told.contains(mark);
}

void PolicyMarksOwn::judge_value(const fakes::Event& event, const std::string& name, const std::string& value,
                                 std::string_view what) {
    const auto job = jobs_.find(event.job);
    if (job == jobs_.end()) return;
    const auto submitted = job->second.submitted.find({name, value});
    if (submitted == job->second.submitted.end() || may_be_ours(job->second, submitted->first)) return;
    violated(event.node, event.job, fmt::format("its submitter wrote {}=\"{}\", and {} carries it", name, value, what),
             submitted->second);
}

template <class Map, class Names>
void PolicyMarksOwn::judge(const fakes::Event& event, const Map& map, const Names& names, std::string_view what) {
    for (const char* name : names) {
        const auto found = map.find(name);
        if (found != map.end()) judge_value(event, name, found->second, what);
    }
}

template <class Message>
void PolicyMarksOwn::judge_message(const fakes::Event& event, const Message& message, std::string_view what) {
    judge(event, message.labels(), wire::kPolicyLabels, what);
    judge(event, message.meta().labels(), wire::kPolicyLabels, what);
    judge(event, message.env(), wire::kPolicyVariables, what);
}

void PolicyMarksOwn::on_event(const fakes::Event& event, Time) {
    const bool known = jobs_.contains(event.job);
    switch (event.kind) {
        case EventKind::publish: {
            if (event.when != When::before || event.packet == nullptr || !event.packet->has_job_request()) break;
            const cap::JobRequest& request = event.packet->job_request();
            if (event.subject == wire::kSubjectSubmit) note_submission(request, present());
            if (!known || !goes_to_worker(event.subject)) break;
            exercise();
            judge_message(event, request, "what goes to a worker");
            judge_message(event, request.compensation(), "the compensation in what goes to a worker");
            break;
        }
        case EventKind::kernel_check: {
            if (!known) break;
            if (event.when == When::applied) {
                cap::PolicyCheckResponse answer;
                if (answer.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
                    note_constraints(jobs_[std::string(event.job)], answer.constraints());
                break;
            }
            cap::PolicyCheckRequest question;
            if (event.when != When::before ||
                !question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
                break;
            exercise();
            judge(event, question.labels(), wire::kPolicyLabels, "the question to policy");
            judge(event, question.meta().labels(), wire::kPolicyLabels, "the question to policy");
            judge_value(event, wire::kEnvEffectiveConfig, question.effective_config(), "the question to policy");
            break;
        }
        case EventKind::output_check: {
            cap_output::OutputCheckRequest question;
            if (!known || event.when != When::before ||
                !question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
                break;
            judge(event, question.labels(), wire::kPolicyLabels, "the question about its output");
            judge(event, question.original_labels(), wire::kPolicyLabels, "the question about its output");
            break;
        }
        default: break;
    }
}

void PolicyMarksOwn::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                                std::int64_t, std::int64_t) {
    if (key == kSettingsKey) {
        const auto settings = read_settings(after);
        may_fail_open_ = may_fail_open_ || (settings && settings->input_fail_mode == "open");
    }
    const bool may_carry =
        after.find("safety_bypass") != std::string_view::npos || after.find("CORDUM_") != std::string_view::npos;
    if (!key.starts_with(kRequestPrefix) || !may_carry) return;
    auto request = wire::from_json<cap::JobRequest>(after);
    if (!request) return;
    request->set_job_id(std::string(key.substr(kRequestPrefix.size())));
    note_submission(*request, upcoming());
}

/// An approval carries over what policy said when it asked.
void PolicyMarksOwn::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                              std::string_view after) {
    const auto name = field == "safety_constraints" ? job_of_hash(key) : std::nullopt;
    const auto job = name ? jobs_.find(*name) : jobs_.end();
    if (job == jobs_.end()) return;
    if (const auto constraints = wire::from_json<cap::PolicyConstraints>(after))
        note_constraints(job->second, *constraints);
}

void PolicyMarksOwn::list_inserted(fakes::NodeId client, std::string_view key, std::size_t, std::string_view value) {
    cap::JobRequest recorded;
    if (!is_saga_stack(key) || !recorded.ParseFromArray(value.data(), static_cast<int>(value.size()))) return;
    if (wire::carries_policy_marks(recorded))
        violated(client, recorded.parent_job_id(), "its recorded compensation carries what only policy may write");
}

}  // namespace lockstep::sim
