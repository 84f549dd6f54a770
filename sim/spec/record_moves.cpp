#include "sim/spec/record_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "engine/wire/grant.h"
#include "engine/wire/messages.h"
#include "sim/model/job.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim::spec {

namespace {

using FieldNames = std::initializer_list<std::string_view>;

/// The first of these fields that is not written, or is emptied.
std::string_view missing(const RecordChange& change, FieldNames names) {
    const auto* const found = std::ranges::find_if(names, [&](auto name) { return change.field(name).empty(); });
    return found == names.end() ? std::string_view{} : *found;
}

bool is_listed_in(const RecordChange& change, std::string_view index) {
    return std::ranges::any_of(change.scores, [index](const auto& entry) { return entry.first == index; });
}

/// A gateway has listed it under the same microsecond: there is nothing to change.
bool stands_there(const RecordChange& change) {
    return fmt::format("{:.0f}", change.job->sources.moved_by_others) == change.field("updated_at");
}

/// The field is to be `1` where `due`, and not there where it is not.
std::string flag(const RecordChange& change, std::string_view field, bool due) {
    const std::string_view said = change.field(field);
    return said == (due ? "1" : "") ? std::string{} : fmt::format("{} as it is, and not '{}'", field, said);
}

std::string left_out_of_dispatch(const RecordChange& change) {
    const Job& job = *change.job;
    if (const auto field = missing(change, {"ls_dispatch", "ls_dispatches", "ls_stream_floor"}); !field.empty())
        return std::string(field);
    if (change.field("ls_dispatch") != change.field("ls_dispatches")) return "the number of the dispatch";
    if (change.field("ls_stream_floor") != "0" && change.field("ls_stream_server").empty()) return "ls_stream_server";
    const cap::JobRequest* request = job.request.latest();
    const bool is_known = request != nullptr && !job.request_damaged && job.request.versions.size() == 1;
    return !is_known || change.field("ls_workflow") == request->workflow_id() ? "" : "ls_workflow";
}

std::string left_out_of_failure(const RecordChange& change) {
    if (!change.job->letter.known) return flag(change, "ls_retryable", true);
    if (!change.letter || !change.letter->has_value()) return {};
    return flag(change, "ls_fatal", (*change.letter)->status == "JOB_STATUS_FAILED_FATAL");
}

/// An end that is no success: its reason is that of its dead letter.
std::string left_out_of_bad_end(const RecordChange& change) {
    const Job& job = *change.job;
    const bool has_reason = change.letter && change.letter->has_value() && !(*change.letter)->reason.empty();
    if (has_reason && change.field("failure_reason").empty()) return "failure_reason";
    if (job.in_hash == State::failed) return left_out_of_failure(change);
    // Those of timeouts may be switched off (dead_letter_complete).
    const bool is_due = job.in_hash != State::timeout && !job.letter.known;
    return !is_due ? "" : fmt::format("a dead letter, and it is {}", to_string(job.in_hash));
}

std::string left_out_of_state(const RecordChange& change) {
    const Job& job = *change.job;
    if (const auto field = missing(change, {"updated_at", "attempts"}); !field.empty()) return std::string(field);
    if (!is_listed_in(change, index_of(job.in_hash))) return std::string(index_of(job.in_hash));
    if (!is_listed_in(change, kRecentJobs) && !stands_there(change) && !change.is_list_blocked)
        return std::string(kRecentJobs);
    switch (job.in_hash) {
        case State::dispatched: return left_out_of_dispatch(change);
        case State::running: return flag(change, "ls_published", true);
        case State::succeeded: return job.is_gate ? "" : std::string(missing(change, {"worker_id"}));
        case State::failed:
        case State::timeout:
        case State::denied:
        case State::output_quarantined: return left_out_of_bad_end(change);
        case State::approval_required: {
            const cap::JobRequest* request = job.request.latest();
            if (request == nullptr || job.request_damaged || job.request.versions.size() > 1) return {};
            return flag(change, "ls_label_before_question", engine::wire::carries_grant(*request));
        }
        default: return {};
    }
}

}  // namespace

std::string left_out(const RecordChange& change) {
    if (change.has("state")) {
        if (std::string what = left_out_of_state(change); !what.empty()) return what;
    } else if (change.request) {
        if (std::string what = flag(change, "ls_request_lost", true); !what.empty()) return what;
    } else if (change.attempts_before && change.job->sources.attempts > *change.attempts_before) {
        if (change.field("ls_last_cause").empty()) return "ls_last_cause";
    }
    if (const std::string* worker = change.find("worker_id");
        worker != nullptr && !worker->empty() && !change.is_list_blocked) {
        const std::string list = "worker:jobs:" + *worker;
        if (std::ranges::count(change.dated, list, &std::pair<std::string_view, double>::first) == 0) return list;
    }
    if (const std::string* pointer = change.find("result_ptr"); pointer != nullptr && change.pointer != *pointer)
        return "the result pointer for older readers";
    if (change.decision.has_value() != change.has("safety_decision")) return "the decision in both places";
    if (change.decision && change.field("safety_checked_at").empty()) return "safety_checked_at";
    if (change.is_queued) return std::string(missing(change, {"ls_queue", "ls_waits_since", "ls_waits_limit"}));
    if (change.is_woken) return std::string(missing(change, {"ls_handed"}));
    return change.has("ls_waits_limit") ? std::string(missing(change, {"ls_waits_since"})) : std::string{};
}

}  // namespace lockstep::sim::spec
