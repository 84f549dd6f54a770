#include "sim/oracles/result_heard.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/heard_results.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

bool is_done(const fakes::Event& answer) {
    return answer.outcome == fakes::EventOutcome::applied && !answer.payload.starts_with('-');
}

/// Schedulers and workflow engines keep no list of what they have heard.
constexpr bool is_judged_by_its_deeds(std::string_view durable) {
    return is_schedulers_results(durable) || durable == kWorkflowsResults;
}

}  // namespace

void ResultHeard::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case EventKind::node_down: return forget_node(event.node);
        case EventKind::fault:
            if (event.name == "nats.new_leader" && event.from == "begin") return leave_open_ones();
            if (event.name != "nats.power_cut" || event.from == "end") return;
            results_.clear();
            hands_.clear();
            kept_.clear();
            open_ = 0;
            return;
        case EventKind::redis: return on_redis(event);
        default: break;
    }
    if (event.subject != engine::wire::kSubjectResult) return;
    switch (event.kind) {
        case EventKind::stored: return on_stored(event);
        case EventKind::deliver: return on_delivered(event);
        case EventKind::ack:
            if (event.when == When::before) on_acknowledged(event);
            return;
        case EventKind::nak:
            if (event.when == When::before) let_go(event);
            return;
        case EventKind::term:
            if (event.when != When::before) return;
            let_go(event);
            if (Reading* own = reading(event.name, event.sequence)) finish(*own);
            return;
        default: return;
    }
}

void ResultHeard::on_stored(const fakes::Event& event) {
    // A server that has lost its power gives numbers out again: whatever is known of this one is about another result.
    if (const auto known = results_.find(event.sequence); known != results_.end()) {
        for (auto& [durable, reading] : known->second.readings) finish(reading);
        results_.erase(known);
    }
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    Result& result = results_[event.sequence];
    result.job = event.packet->job_result().job_id();
    result.stored = present();
    for (const Durable& durable : readers_) {
        result.readings.try_emplace(durable);
        ++open_;
    }
}

void ResultHeard::join(std::string_view durable) {
    if (!readers_.emplace(durable).second) return;
    for (auto& [sequence, result] : results_) {
        result.readings.try_emplace(Durable(durable));
        ++open_;
    }
}

void ResultHeard::leave_open_ones() {
    for (auto& [sequence, result] : results_)
        for (auto& [durable, reading] : result.readings) finish(reading);
}

void ResultHeard::finish(Reading& reading) {
    if (!reading.over) --open_;
    reading.over = true;
}

ResultHeard::Reading* ResultHeard::reading(std::string_view durable, Sequence sequence) {
    const auto result = results_.find(sequence);
    if (result == results_.end()) return nullptr;
    const auto found = result->second.readings.find(durable);
    return found == result->second.readings.end() ? nullptr : &found->second;
}

void ResultHeard::on_delivered(const fakes::Event& event) {
    if (is_judged_by_its_deeds(event.name)) return;
    join(event.name);
    const Reading* known = reading(event.name, event.sequence);
    if (known == nullptr) return;
    const auto [entry, fresh] = hands_.try_emplace({event.node, Durable(event.name), event.sequence});
    Hand& hand = entry->second;
    ++hand.deliveries;
    // One that the same replica still has in hand from before: that may be the one which it handles.
    hand.marked_before = known->marked && (fresh || hand.marked_before);
    hand.job = event.packet == nullptr ? "" : event.packet->job_result().job_id();
}

void ResultHeard::on_redis(const fakes::Event& event) {
    if (const auto job = job_of_heard(event.key)) on_keeping(event, *job);
    const auto mark = event.when == When::before && event.command == "SET" ? processed_mark(event.key) : std::nullopt;
    const auto marked = mark ? results_.find(mark->sequence) : results_.end();
    if (marked != results_.end()) {
        if (Reading* own = reading(mark->durable, mark->sequence)) vouch(*own, event.node, marked->second.job);
    }
    if (event.when != When::answered || is_done(event)) return;
    for (auto& [key, hand] : hands_)
        if (std::get<0>(key) == event.node) hand.excused = true;
}

void ResultHeard::on_keeping(const fakes::Event& event, std::string_view job) {
    if (event.when == When::answered && is_done(event)) ++kept_[{event.node, std::string(job)}];
    if (event.when != When::before) return;
    const HandKey* marked = nullptr;
    for (const auto& [key, hand] : hands_) {
        if (std::get<0>(key) != event.node || hand.job != job) continue;
        const Reading* own = reading(std::get<1>(key), std::get<2>(key));
        if (own == nullptr || !hand.marked_before || !own->marked || hand.excused) return;  // it may be this one
        marked = &key;
    }
    if (marked == nullptr) return;
    const auto& [node, durable, sequence] = *marked;
    violated(event.node, job,
             fmt::format("its result number {} comes to {} with the mark of having been processed, and is heard again",
                         sequence, durable),
             reading(durable, sequence)->heard_at);
}

void ResultHeard::vouch(Reading& reading, fakes::NodeId node, const std::string& job) {
    const auto kept = kept_.find({node, job});
    if (reading.heard || kept == kept_.end()) return;
    if (--kept->second == 0) kept_.erase(kept);
    reading.heard = true;
    reading.heard_at = present();
    finish(reading);
}

void ResultHeard::on_acknowledged(const fakes::Event& event) {
    const auto result = results_.find(event.sequence);
    if (result == results_.end()) return;
    const bool others_first =
        std::ranges::any_of(result->second.taken_off, [&](const Durable& durable) { return durable != event.name; });
    result->second.taken_off.emplace(event.name);
    if (is_judged_by_its_deeds(event.name)) return;
    if (others_first) exercise();
    const auto hand = hands_.find({event.node, Durable(event.name), event.sequence});
    Reading* own = reading(event.name, event.sequence);
    if (own == nullptr) return;
    vouch(*own, event.node, result->second.job);
    if (!own->heard) {
        violated(event.node, result->second.job,
                 fmt::format("its result number {} is taken off the stream, and no replica of {} has heard it",
                             event.sequence, event.name),
                 result->second.stored);
    } else if (hand != hands_.end() && !own->marked && !hand->second.excused) {
        violated(event.node, result->second.job,
                 fmt::format("its result number {} is taken off the stream by {}, and nothing marks it as processed",
                             event.sequence, event.name),
                 own->heard_at);
    }
    let_go(event);
}

void ResultHeard::let_go(const fakes::Event& event) {
    const auto hand = hands_.find({event.node, Durable(event.name), event.sequence});
    if (hand == hands_.end() || --hand->second.deliveries > 0) return;
    const std::string job = hand->second.job;
    hands_.erase(hand);
    const bool more = std::ranges::any_of(
        hands_, [&](const auto& each) { return std::get<0>(each.first) == event.node && each.second.job == job; });
    if (!more) kept_.erase({event.node, job});
}

void ResultHeard::forget_node(fakes::NodeId node) {
    std::erase_if(hands_, [node](const auto& entry) { return std::get<0>(entry.first) == node; });
    std::erase_if(kept_, [node](const auto& entry) { return entry.first.first == node; });
}

void ResultHeard::excuse(std::string_view durable, Sequence sequence) {
    for (auto& [key, hand] : hands_)
        if (std::get<1>(key) == durable && std::get<2>(key) == sequence) hand.excused = true;
}

void ResultHeard::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view,
                             std::int64_t, std::int64_t) {
    const auto parts = processed_mark(key);
    Reading* own = parts ? reading(parts->durable, parts->sequence) : nullptr;
    if (own == nullptr) return;
    if (!client.valid()) {  // a fault has spoilt it: it names no content any more
        own->marked = false;
        return excuse(parts->durable, parts->sequence);
    }
    own->marked = true;
}

void ResultHeard::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                              std::int64_t) {
    const auto parts = processed_mark(key);
    Reading* own = parts ? reading(parts->durable, parts->sequence) : nullptr;
    if (own == nullptr) return;
    own->marked = false;
    excuse(parts->durable, parts->sequence);
}

void ResultHeard::restored(const fakes::redis::Keyspace& now) {
    // What was removed may be back as well. A mark on a result that nobody has heard is one of a message that had its number.
    for (auto& [sequence, result] : results_) {
        for (auto& [durable, reading] : result.readings)
            reading.marked =
                reading.heard && now.find(fmt::format("{}{}:{}", kMarkPrefix, sequence, durable)) != nullptr;
    }
    for (auto& [key, hand] : hands_) hand.excused = true;
}

void ResultHeard::at_rest(const RestView&) {
    for (const auto& [sequence, result] : results_) {
        for (const auto& [durable, reading] : result.readings) {
            if (reading.over) continue;
            violated({}, result.job,
                     fmt::format("its result is number {} of the stream, and at the end {} has not heard it", sequence,
                                 durable),
                     result.stored);
        }
    }
}

}  // namespace lockstep::sim
