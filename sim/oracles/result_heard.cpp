#include "sim/oracles/result_heard.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/oracles/heard_results.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

constexpr std::string_view kMarkPrefix = "cordum:bus:processed:CORDUM_SYS:";
static_assert(kMarkPrefix.substr(kMarkPrefix.size() - 11, 10) == engine::wire::kStreamSys);

/// Sequence and durable that a mark names. A mark without a durable is nobody's.
std::optional<std::pair<std::uint64_t, std::string_view>> parts_of_mark(std::string_view key) {
    if (!key.starts_with(kMarkPrefix)) return std::nullopt;
    key.remove_prefix(kMarkPrefix.size());
    std::uint64_t sequence = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), sequence);
    key.remove_prefix(static_cast<std::size_t>(end - key.data()));
    if (error != std::errc{} || !key.starts_with(':')) return std::nullopt;
    return std::pair{sequence, key.substr(1)};
}

}  // namespace

void ResultHeard::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case EventKind::node_down: return forget_node(event.node);
        case EventKind::fault:
            if (event.name != "nats.power_cut" || event.from == "end") return;
            results_.clear();
            hands_.clear();
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
            if (event.when == When::before) on_terminated(event);
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
    if (is_schedulers_results(event.name)) return;
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
    const auto job = job_of_heard(event.key);
    if (event.when == When::before && job) begin_keeping(event, *job);
    if (event.when != When::answered) return;
    const bool done = event.outcome == fakes::EventOutcome::applied && !event.payload.starts_with('-');
    if (done && job) end_keeping(event, *job);
    if (done) return;
    for (auto& [key, hand] : hands_)
        if (std::get<0>(key) == event.node) hand.excused = true;
}

void ResultHeard::begin_keeping(const fakes::Event& event, std::string_view job) {
    std::map<HandKey, Hand>::value_type* begun = nullptr;
    for (auto& each : hands_) {
        if (std::get<0>(each.first) != event.node || each.second.job != job) continue;
        if (each.second.begun == each.second.deliveries) continue;
        if (begun == nullptr || (begun->second.marked_before && !each.second.marked_before)) begun = &each;
    }
    if (begun == nullptr) return;
    auto& [key, hand] = *begun;
    ++hand.begun;
    const Reading* own = reading(std::get<1>(key), std::get<2>(key));
    if (own == nullptr || !hand.marked_before || !own->marked || hand.excused) return;
    violated(event.node, job,
             fmt::format("its result number {} comes to {} with the mark of having been processed, and is heard again",
                         std::get<2>(key), std::get<1>(key)),
             own->heard);
}

void ResultHeard::end_keeping(const fakes::Event& event, std::string_view job) {
    const auto kept = std::ranges::find_if(hands_, [&](const auto& each) {
        return std::get<0>(each.first) == event.node && each.second.job == job && each.second.heard < each.second.begun;
    });
    if (kept == hands_.end()) return;
    ++kept->second.heard;
    Reading* own = reading(std::get<1>(kept->first), std::get<2>(kept->first));
    if (own == nullptr) return;
    own->heard = present();
    finish(*own);
}

void ResultHeard::settle(const HandKey& key) {
    const auto found = hands_.find(key);
    Reading* own = reading(std::get<1>(key), std::get<2>(key));
    if (found == hands_.end() || found->second.heard > 0 || own == nullptr || own->heard != 0) return;
    for (auto& [other_key, other] : hands_) {
        const bool same = std::get<0>(other_key) == std::get<0>(key) && std::get<1>(other_key) == std::get<1>(key);
        if (!same || other.heard == 0 || other.job != found->second.job) continue;
        Reading* theirs = reading(std::get<1>(other_key), std::get<2>(other_key));
        if (theirs == nullptr || theirs->marked) continue;
        --other.heard;
        ++found->second.heard;
        if (found->second.begun == 0) {
            --other.begun;
            ++found->second.begun;
        }
        own->heard = std::exchange(theirs->heard, 0);
        finish(*own);
        if (std::exchange(theirs->over, false)) ++open_;
        return;
    }
}

void ResultHeard::on_acknowledged(const fakes::Event& event) {
    const auto result = results_.find(event.sequence);
    if (result == results_.end()) return;
    const bool others_first =
        std::ranges::any_of(result->second.taken_off, [&](const Durable& durable) { return durable != event.name; });
    result->second.taken_off.emplace(event.name);
    if (is_schedulers_results(event.name)) return;
    if (others_first) exercise();
    const HandKey key{event.node, Durable(event.name), event.sequence};
    settle(key);
    const auto hand = hands_.find(key);
    const Reading* own = reading(event.name, event.sequence);
    if (own == nullptr) return;
    if (own->heard == 0) {
        violated(event.node, result->second.job,
                 fmt::format("its result number {} is taken off the stream, and no replica of {} has heard it",
                             event.sequence, event.name),
                 result->second.stored);
    } else if (hand != hands_.end() && !own->marked && !hand->second.excused) {
        violated(event.node, result->second.job,
                 fmt::format("its result number {} is taken off the stream by {}, and nothing marks it as processed",
                             event.sequence, event.name),
                 own->heard);
    }
    let_go(event);
}

void ResultHeard::on_terminated(const fakes::Event& event) {
    let_go(event);
    if (Reading* own = reading(event.name, event.sequence)) finish(*own);
}

void ResultHeard::let_go(const fakes::Event& event) {
    const auto hand = hands_.find({event.node, Durable(event.name), event.sequence});
    if (hand == hands_.end()) return;
    if (--hand->second.deliveries == 0) {
        hands_.erase(hand);
        return;
    }
    hand->second.begun = std::max(hand->second.begun - 1, 0);
    hand->second.heard = std::max(hand->second.heard - 1, 0);
}

void ResultHeard::forget_node(fakes::NodeId node) {
    std::erase_if(hands_, [node](const auto& entry) { return std::get<0>(entry.first) == node; });
}

void ResultHeard::excuse(std::string_view durable, Sequence sequence) {
    for (auto& [key, hand] : hands_)
        if (std::get<1>(key) == durable && std::get<2>(key) == sequence) hand.excused = true;
}

void ResultHeard::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view,
                             std::int64_t, std::int64_t) {
    const auto parts = parts_of_mark(key);
    Reading* own = parts ? reading(parts->second, parts->first) : nullptr;
    if (own == nullptr) return;
    if (!client.valid()) {  // a fault has spoilt it: it names no content any more
        own->marked = false;
        return excuse(parts->second, parts->first);
    }
    settle({client, Durable(parts->second), parts->first});
    own->marked = true;
}

void ResultHeard::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                              std::int64_t) {
    const auto parts = parts_of_mark(key);
    Reading* own = parts ? reading(parts->second, parts->first) : nullptr;
    if (own == nullptr) return;
    own->marked = false;
    excuse(parts->second, parts->first);
}

void ResultHeard::restored(const fakes::redis::Keyspace& now) {
    for (auto& [sequence, result] : results_) {
        for (auto& [durable, reading] : result.readings)
            reading.marked =
                reading.marked && now.find(fmt::format("{}{}:{}", kMarkPrefix, sequence, durable)) != nullptr;
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
