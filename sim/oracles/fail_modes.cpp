#include "sim/oracles/fail_modes.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;

constexpr std::string_view kUnavailable = "UNAVAILABLE";
constexpr std::string_view kOpen = "open";

/// A record of a scan that has seen a part of the output, and has nothing against it.
bool allows_in_part(std::string_view record) {
    if (record.find("\"partial\"") == std::string_view::npos) return false;
    const auto json = nlohmann::json::parse(record, nullptr, false);
    return json.is_object() && json.value("partial", false) && json.value("decision", "") == "ALLOW" &&
           json.value("phase", "") == "async";
}

constexpr std::string_view kProcessedMark = "cordum:bus:processed:";

bool guards_strictly(const engine::Tunables& tunables) { return tunables.bus_guard_on_error == "nak"; }

bool is_gate(std::string_view topic) { return topic == "job.cordum.approval-gate" || topic == "sys.approval.gate"; }

}  // namespace

void FailModes::on_event(const fakes::Event& event, Time now) {
    if (event.kind == EventKind::redis && event.when == When::applied) {
        if (change_) settle(*change_);
        change_.reset();
        for (const Place& place : released_) begun_.erase(place);
        released_.clear();
    }
    settings_.on_event(event, now);
    if (const std::string complaint = scans_.on_event(event, now); !complaint.empty())
        violated(event.node, event.job, complaint);
    const Place place{event.node, std::string(event.job)};
    switch (event.kind) {
        case EventKind::lock_acquired:
            if (event.job.empty() || !is_scheduler(event.node)) break;
            std::erase(released_, place);
            begun_[place] = now;
            if (const auto heard = outputs_.find(place); heard != outputs_.end() && heard->second.down)
                outputs_.erase(heard);
            break;
        case EventKind::lock_released:
            // By the command that writes what the handler has come to, as a rule.
            if (!event.job.empty()) released_.emplace_back(event.peer, std::string(event.job));
            break;
        case EventKind::output_check:
            if (event.when == When::before) {
                Heard& heard = outputs_[place];
                if (heard.down) heard = {};
                heard.since = now;
            }
            if (event.when == When::answered && event.outcome == EventOutcome::applied) {
                Heard& heard = outputs_[place];
                heard.event = present();
                heard.against = heard.against || (event.to != "ALLOW" && !event.to.empty());
                heard.redacts = event.to == "REDACT";
            }
            break;
        case EventKind::publish: on_publish(event); break;
        case EventKind::kernel_check: calls_.on_event(event, now); break;
        case EventKind::ack:
            if (event.when == When::before) on_acknowledged(event);
            break;
        case EventKind::node_down:
            for (auto& [whose, heard] : outputs_) heard.down = heard.down || whose.first == event.node;
            break;
        default: break;
    }
}

FailModes::Change& FailModes::change(fakes::NodeId replica, std::string_view job) {
    if (!change_ || change_->replica != replica || change_->job != job) {
        Change fresh;
        fresh.replica = replica;
        fresh.job = job;
        change_ = std::move(fresh);
    }
    return *change_;
}

void FailModes::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                         std::string_view after) {
    scans_.hash_set(client, key, field);
    const auto job = job_of_hash(key);
    // A gateway's record tells as well as a scheduler's which job is a gate.
    if (job && field == "topic") gates_.insert_or_assign(std::string(*job), is_gate(after));
    if (!job || !is_scheduler(client)) return;
    if (field == "safety_decision" && after == kUnavailable) change(client, *job).unanswered = true;
    if (field == "ls_input_unread" && after == "1") change(client, *job).unread = true;
    if (field == "attempts") change(client, *job).tried = true;
    if (field == "ls_next_attempt_at") change(client, *job).put_off = true;
    if (field == "output_safety") {
        change(client, *job).verdict = true;
        change(client, *job).allowed_in_part = allows_in_part(after);
    }
    if (field == "state") {
        Change& moved = change(client, *job);
        if (moved.state.empty())
            moved.from_work = before != nullptr && (*before == "DISPATCHED" || *before == "RUNNING");
        moved.state = after;
    }
    if (field == "ls_scan_pending") {
        change(client, *job).marked = true;
        succeeded_.insert_or_assign(std::string(*job), now_);
    }
}

void FailModes::hash_removed(fakes::NodeId client, std::string_view key, std::string_view field, std::string_view) {
    const auto job = is_scheduler(client) && field == "ls_scan_pending" ? job_of_hash(key) : std::nullopt;
    if (job) change(client, *job).scan_over = true;
}

void FailModes::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*, double) {
    scans_.zset_set(client, key, member);
}

void FailModes::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                           std::int64_t, std::int64_t) {
    scans_.string_set(client, key);
    settings_.string_set(key, after);
    if (!guards_strictly(tunables_) || !key.starts_with(kProcessedMark)) return;
    key.remove_prefix(kProcessedMark.size());
    const auto end = key.find(':', key.find(':') + 1);
    marked_.emplace(key.substr(0, end));
}

void FailModes::on_acknowledged(const fakes::Event& event) {
    if (!guards_strictly(tunables_) || !event.name.starts_with(kSchedulersDurables)) return;
    exercise();
    if (!marked_.contains(fmt::format("{}:{}", event.stream, event.sequence)))
        violated(
            event.node, event.job,
            fmt::format("message {} of {} is acknowledged, no mark says that it has been processed, and a guard that "
                        "Redis does not answer is to hand it back",
                        event.sequence, event.stream));
}

void FailModes::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why, const fakes::redis::Value&,
                            std::int64_t) {
    // Without its request no output is judged.
    if (why != fakes::redis::Removal::expired && key.starts_with(kRequestPrefix))
        std::erase_if(outputs_, [job = key.substr(kRequestPrefix.size())](const auto& entry) {
            return entry.first.second == job && !entry.second.against;
        });
    settings_.key_removed(key);
    scans_.key_removed(key);
}

void FailModes::restored(const fakes::redis::Keyspace& now) {
    settings_.restored(now);
    scans_.restored();
}

Time FailModes::since(const Place& place) const {
    const auto begun = begun_.find(place);
    return begun == begun_.end() ? Time{} : begun->second;
}

FailModes::Modes FailModes::input_modes(fakes::NodeId replica, Time from) const {
    const bool opens = tunables_.policy_check_fail_mode == kOpen;
    if (pinned_.input_fail_mode) return {opens, !opens};
    Modes modes;
    const auto part = [&](const engine::Overlay& overlay) {
        return std::optional(overlay.input_fail_mode ? *overlay.input_fail_mode == kOpen : opens);
    };
    for (const std::optional<bool>& open : settings_.possible(replica, from, now_, part))
        (open.value_or(opens) ? modes.open : modes.closed) = true;
    return modes;
}

FailModes::Modes FailModes::output_modes(fakes::NodeId replica, Time from) const {
    const bool opens = tunables_.output_policy_fail_mode != "closed";
    if (pinned_.output_fail_mode) return {opens, !opens};
    Modes modes;
    const auto part = [&](const engine::Overlay& overlay) -> std::optional<bool> {
        if (overlay.output_fail_mode) return *overlay.output_fail_mode == kOpen;
        return overlay.output_fail_mode_given ? std::nullopt : std::optional(opens);
    };
    for (const std::optional<bool>& open : settings_.possible(replica, from, now_, part))
        (open.value_or(opens) ? modes.open : modes.closed) = true;
    return modes;
}

void FailModes::settle(const Change& change) {
    if (change.unanswered) settle_input(change);
    if (change.unread && !change.unanswered) settle_unread(change);
    if (change.state == "SUCCEEDED") settle_success(change);
    if (change.scan_over || change.state == "OUTPUT_QUARANTINED") {
        settle_output(change);
        scans_.over(change.job);
    }
}

void FailModes::settle_success(const Change& change) {
    const auto found = outputs_.find({change.replica, change.job});
    const bool asked = change.from_work && found != outputs_.end() && !found->second.down &&
                       found->second.since >= since({change.replica, change.job});
    if (!asked) return;
    exercise();
    if (!change.marked && !found->second.redacts)
        violated(change.replica, change.job,
                 "it has succeeded, policy has neither withheld its output nor redacted it, and nobody is to scan it",
                 found->second.event);
}

void FailModes::settle_input(const Change& change) {
    const bool goes_on = change.tried || change.state == "SCHEDULED" || change.state == "DISPATCHED";
    if (!goes_on && !change.put_off) return;
    exercise();
    const auto gate = gates_.find(change.job);
    const bool is_of_a_gate = gate != gates_.end() && gate->second;
    const Modes modes = input_modes(change.replica, since({change.replica, change.job}));
    if (goes_on && is_of_a_gate)
        violated(change.replica, change.job, "it is a gate, and passes though policy has given no answer");
    else if (goes_on && !modes.open)
        violated(change.replica, change.job, "policy has given no answer, the mode is closed, and the job goes on");
    else if (!goes_on && !modes.closed && !is_of_a_gate && !calls_.is_slow_alone(change.replica, change.job))
        violated(change.replica, change.job, "policy has given no answer, the mode is open, and the job is put off");
}

void FailModes::settle_unread(const Change& change) {
    const bool turned_away = change.tried && change.state.empty();  // by its workers
    if (!turned_away && change.state != "SCHEDULED" && change.state != "DISPATCHED") return;
    exercise();
    if (!input_modes(change.replica, since({change.replica, change.job})).open)
        violated(change.replica, change.job, "policy has not seen its input, the mode is closed, and the job goes on");
}

void FailModes::on_publish(const fakes::Event& event) {
    if (event.when != When::before || event.packet == nullptr || !is_worker_subject(event.subject)) return;
    const auto& labels = event.packet->job_request().labels();
    if (!labels.contains("safety_bypassed")) return;
    exercise();
    const auto reason = labels.find("safety_bypass_reason");
    if (reason == labels.end() || reason->second.empty())
        violated(event.node, event.job, "policy was bypassed for it, and its labels do not say why");
    else if (!input_modes(event.node, since({event.node, std::string(event.job)})).open)
        violated(event.node, event.job, "its labels say that policy was bypassed, and the mode is closed");
}

void FailModes::settle_output(const Change& change) {
    const auto found = outputs_.find({change.replica, change.job});
    const Heard heard = found == outputs_.end() ? Heard{} : found->second;
    const auto succeeded = succeeded_.find(change.job);
    // Who was never given an answer may have read the mode at any time since there was something to scan.
    const Time from = found != outputs_.end()         ? heard.since
                      : succeeded != succeeded_.end() ? succeeded->second
                      : change.from_work              ? since({change.replica, change.job})
                                                      : Time{};
    const Modes modes = output_modes(change.replica, from);
    if (change.state == "OUTPUT_QUARANTINED") {
        if (heard.against) return;
        exercise();
        if (const std::string complaint = scans_.given_up(change.replica, change.job, now_); !complaint.empty())
            violated(change.replica, change.job, complaint);
        if (!modes.closed)
            violated(change.replica, change.job,
                     "its output is withheld, nobody has said that it is to be, and the mode is open", heard.event);
        return;
    }
    if (change.allowed_in_part && !modes.open)
        violated(
            change.replica, change.job,
            "policy has allowed the part of its output that it has seen, the mode is closed, and the rest can be read",
            heard.event);
    if (change.verdict || !change.state.empty()) return;
    exercise();
    if (const std::string complaint = scans_.given_up(change.replica, change.job, now_); !complaint.empty())
        violated(change.replica, change.job, complaint);
    if (!modes.open)
        violated(change.replica, change.job,
                 "the scan of its output is over without a verdict, the mode is closed, and it can be read",
                 heard.event);
}

}  // namespace lockstep::sim
