#include "sim/oracles/result_turns.h"

#include <algorithm>
#include <charconv>

#include "engine/store/job_state.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

constexpr std::string_view kNote = "ls_result_first";

/// Of '<sequence> <micros>'; 0 when it is none.
std::uint64_t sequence_of(std::string_view note) {
    std::uint64_t sequence = 0;
    std::from_chars(note.data(), note.data() + note.size(), sequence);
    return sequence;
}

/// The state that the result would bring; empty for news of progress, and for what is dropped.
std::string_view asked_for(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_result()) return {};
    const auto& result = event.packet->job_result();
    const auto state = engine::state_of_result(result.status());
    if (!state || engine::wire::rejection(result)) return {};
    return engine::to_string(*state);
}

/// A success whose output is withheld is still that success.
bool comes_from(std::string_view state, std::string_view asked) {
    return state == asked || (state == "OUTPUT_QUARANTINED" && asked == "SUCCEEDED");
}

}  // namespace

ResultTurns::Job& ResultTurns::at(std::string_view job) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() ? found->second : jobs_.emplace(job, Job{}).first->second;
}

void ResultTurns::on_event(const fakes::Event& event, Time now, EventNumber number) {
    now_ = now;
    switch (event.kind) {
        case EventKind::fault:
            if (event.name == "nats.power_cut") jobs_.clear();
            if (event.name.starts_with("clock")) clocks_jump_ = true;
            return;
        case EventKind::node_down:
            for (auto& [name, job] : jobs_)
                std::erase_if(job.hands, [&event](const auto& hand) { return hand.first == event.node; });
            return;
        case EventKind::lock_acquired:
            if (!event.job.empty()) at(event.job).lock_taken = number;
            return;
        case EventKind::state: at(event.job).at_work = event.to == "DISPATCHED" || event.to == "RUNNING"; return;
        default: break;
    }
    if (event.subject == engine::wire::kSubjectResult && !event.job.empty()) on_result(event, now, number);
}

void ResultTurns::on_result(const fakes::Event& event, Time now, EventNumber number) {
    if (event.kind == EventKind::stored) {
        if (const std::string_view asked = asked_for(event); !asked.empty())
            at(event.job).asks_for[event.sequence] = asked;
        return;
    }
    if (!is_schedulers_results(event.name)) return;
    Job& job = at(event.job);
    switch (event.kind) {
        case EventKind::deliver: job.hands.emplace(event.node, event.sequence); return;
        case EventKind::nak:
            if (event.when != When::before) return;
            if (job.at_work && event.number == tunables_.retry_delay_busy.count() &&
                job.asks_for.contains(event.sequence))
                job.known.try_emplace(event.sequence, Known{now, number});
            job.hands.erase({event.node, event.sequence});
            return;
        case EventKind::ack:
        case EventKind::term:
            if (event.when == When::before) settle(job, event.sequence);
            return;
        default: return;
    }
}

void ResultTurns::settle(Job& job, Sequence sequence) {
    job.asks_for.erase(sequence);
    job.known.erase(sequence);
    std::erase_if(job.hands, [sequence](const auto& hand) { return hand.second == sequence; });
}

void ResultTurns::hash_set(std::string_view key, std::string_view field, std::string_view after, EventNumber number) {
    const auto job = job_of_hash(key);
    if (!job || field != kNote) return;
    at(*job).known[sequence_of(after)] = {now_, number};
}

void ResultTurns::hash_removed(std::string_view key, std::string_view field, std::string_view before) {
    const auto job = job_of_hash(key);
    if (job && field == kNote) at(*job).known.erase(sequence_of(before));
}

void ResultTurns::key_removed(std::string_view key) {
    const auto job = job_of_hash(key);
    const auto found = job ? jobs_.find(*job) : jobs_.end();
    if (found != jobs_.end()) found->second.known.clear();
}

std::optional<ResultTurns::Overtaken> ResultTurns::judge(fakes::NodeId client, std::string_view name,
                                                         std::string_view state) const {
    const auto found = jobs_.find(name);
    if (found == jobs_.end() || clocks_jump_) return std::nullopt;
    const Job& job = found->second;
    // The first of those that this replica has in hand and that it can have ended the job by.
    std::optional<Sequence> counted;
    for (const auto& [sequence, asked] : job.asks_for) {
        if (!counted && comes_from(state, asked) && job.hands.contains({client, sequence})) counted = sequence;
    }
    if (!counted) return std::nullopt;
    // The time limit is by Redis' clock, and clocks of a cluster may go a little differently.
    const engine::Duration surely = tunables_.bus_ack_wait - tunables_.bus_ack_wait / 8;
    for (const auto& [sequence, known] : job.known) {
        const auto asked = job.asks_for.find(sequence);
        const bool contradicts = asked != job.asks_for.end() && !comes_from(state, asked->second);
        if (sequence < *counted && contradicts && known.event < job.lock_taken && now_ - known.since < surely)
            return Overtaken{sequence, *counted, known.event};
    }
    return std::nullopt;
}

}  // namespace lockstep::sim
