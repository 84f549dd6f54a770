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
constexpr std::string_view kWorker = "ls_worker";
/// Of many places; of few there are fewer ("Many messages about one job").
constexpr std::size_t kOfOneJob = 8;
constexpr std::int64_t kManyPlaces = 64;

/// Of '<sequence> <micros>'; 0 when it is none.
std::uint64_t sequence_of(std::string_view note) {
    std::uint64_t sequence = 0;
    std::from_chars(note.data(), note.data() + note.size(), sequence);
    return sequence;
}

/// The state that the result would bring; empty for news of progress, for what is dropped and for what no job at work becomes.
std::string_view asked_for(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_result()) return {};
    const auto& result = event.packet->job_result();
    const auto state = engine::state_of_result(result.status());
    if (!state || *state == engine::JobState::denied || engine::wire::rejection(result)) return {};
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
    switch (event.kind) {
        case EventKind::fault:
            if (event.name == "nats.power_cut") forget_results();
            if (event.name.starts_with("clock")) clocks_jump_ = true;
            return;
        case EventKind::node_down:
            for (auto& [name, job] : jobs_)
                std::erase_if(job.hands, [&event](const auto& hand) { return hand.first.first == event.node; });
            return;
        case EventKind::redis:
            if (event.when == When::answered && event.outcome == fakes::EventOutcome::applied &&
                is_job_lock(event.key) && !event.job.empty() && !event.payload.starts_with('-'))
                at(event.job).answered[event.node] = number;
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
            at(event.job).asks_for[event.sequence] = {std::string(asked), event.packet->job_result().worker_id()};
        return;
    }
    if (!is_schedulers_results(event.name)) return;
    Job& job = at(event.job);
    switch (event.kind) {
        case EventKind::deliver: take_in_hand(job, event, now, number); return;
        case EventKind::nak:
            if (event.when == When::before) hand_back(job, event, now, number);
            return;
        case EventKind::ack:
        case EventKind::term:
            if (event.when == When::before) settle(job, event.sequence);
            return;
        default: return;
    }
}

/// Whichever of those that come at one instant is begun first.
void ResultTurns::take_in_hand(Job& job, const fakes::Event& event, Time now, EventNumber number) {
    const auto there =
        std::ranges::count_if(job.hands, [&event](const auto& hand) { return hand.first.first == event.node; });
    const bool crowded = static_cast<std::size_t>(there) >= surely_at_once();
    for (auto& [whose, hand] : job.hands)
        hand.crowded = hand.crowded || (crowded && whose.first == event.node && hand.at == now);
    job.hands.insert_or_assign({event.node, event.sequence}, Hand{number, now, crowded});
}

void ResultTurns::hand_back(Job& job, const fakes::Event& event, Time now, EventNumber number) {
    const auto hand = job.hands.find({event.node, event.sequence});
    if (hand == job.hands.end()) return;
    const auto answered = job.answered.find(event.node);
    const bool asked = !hand->second.crowded && answered != job.answered.end() && answered->second > hand->second.since;
    const bool busy = event.number == tunables_.retry_delay_busy.count();
    if (asked && busy && job.at_work && job.asks_for.contains(event.sequence))
        job.known.try_emplace(event.sequence, Known{now, number});
    job.hands.erase(hand);
}

std::size_t ResultTurns::surely_at_once() const { return tunables_.max_in_flight >= kManyPlaces ? kOfOneJob : 1; }

bool ResultTurns::counts(const Job& job, const Report& report) const {
    return job.worker.empty() || job.worker == report.worker || tunables_.results_from_any_worker;
}

void ResultTurns::forget_results() {
    for (auto& [name, job] : jobs_) {
        job.asks_for.clear();
        job.known.clear();
        job.hands.clear();
    }
}

void ResultTurns::restored(const fakes::redis::Keyspace& now) {
    forget_results();
    for (auto& [name, job] : jobs_)
        job.worker = hash_field(now, std::string(kJobHashPrefix) + name, kWorker).value_or("");
}

void ResultTurns::settle(Job& job, Sequence sequence) {
    job.asks_for.erase(sequence);
    job.known.erase(sequence);
    std::erase_if(job.hands, [sequence](const auto& hand) { return hand.first.second == sequence; });
}

void ResultTurns::hash_set(std::string_view key, std::string_view field, std::string_view after, EventNumber number) {
    const auto job = job_of_hash(key);
    if (!job) return;
    if (field == kNote) at(*job).known[sequence_of(after)] = {now_, number};
    if (field == kWorker) at(*job).worker = after;
}

void ResultTurns::hash_removed(std::string_view key, std::string_view field) {
    const auto job = job_of_hash(key);
    // A note that is taken away does not settle a result: only who acknowledges it does.
    if (job && field == kWorker) at(*job).worker.clear();
}

void ResultTurns::key_removed(std::string_view key) {
    const auto job = job_of_hash(key);
    const auto found = job ? jobs_.find(*job) : jobs_.end();
    if (found == jobs_.end()) return;
    found->second.known.clear();
    found->second.worker.clear();
}

std::optional<ResultTurns::Overtaken> ResultTurns::judge(fakes::NodeId client, std::string_view name,
                                                         std::string_view state) const {
    const auto found = jobs_.find(name);
    if (found == jobs_.end() || clocks_jump_) return std::nullopt;
    const Job& job = found->second;
    // The first of those that this replica has in hand and that it can have ended the job by.
    std::optional<Sequence> counted;
    for (const auto& [sequence, asked] : job.asks_for) {
        if (!counted && counts(job, asked) && comes_from(state, asked.state) && job.hands.contains({client, sequence}))
            counted = sequence;
    }
    if (!counted) return std::nullopt;
    // The time limit is by Redis' clock, and clocks of a cluster may go a little differently.
    const engine::Duration surely = tunables_.bus_ack_wait - tunables_.bus_ack_wait / 8;
    for (const auto& [sequence, known] : job.known) {
        const auto asked = job.asks_for.find(sequence);
        const bool contradicts =
            asked != job.asks_for.end() && counts(job, asked->second) && !comes_from(state, asked->second.state);
        if (sequence < *counted && contradicts && known.event < job.lock_taken && now_ - known.since < surely)
            return Overtaken{sequence, *counted, known.event};
    }
    return std::nullopt;
}

}  // namespace lockstep::sim
