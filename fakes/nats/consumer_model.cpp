#include "fakes/nats/consumer_model.h"

#include <algorithm>
#include <vector>

namespace lockstep::fakes {

engine::MonoTime StoragePolicy::last_tick(engine::Duration interval, engine::MonoTime now) {
    if (interval <= engine::Duration::zero()) return now;
    return engine::MonoTime(now.time_since_epoch() / interval * interval);
}

ConsumerModel::ConsumerModel(ConsumerConfig config, StreamModel& stream, StoragePolicy storage)
    : config_(std::move(config)), storage_(storage), stream_(stream), filter_(stream.filter(config_.filter_subject)) {}

std::optional<ConsumerModel::Next> ConsumerModel::next(engine::MonoTime now) {
    if (auto again = next_redelivery(now)) return again;
    if (config_.max_ack_pending > 0 && pending_.size() >= static_cast<std::size_t>(config_.max_ack_pending)) {
        return std::nullopt;
    }
    const StreamModel::Stored* stored = stream_.next(filter_, next_sequence_, now);
    if (stored == nullptr) return std::nullopt;
    note(stored->sequence, std::nullopt, now);
    next_sequence_ = stored->sequence + 1;
    const auto added = pending_.emplace_hint(pending_.end(), stored->sequence, Pending{{now, 1}});
    schedule(added, now + config_.ack_wait);
    return Next{stored->sequence, 1, stored->message};
}

std::optional<ConsumerModel::Next> ConsumerModel::next_redelivery(engine::MonoTime now) {
    while (!redelivery_.empty()) {
        const auto [sequence, ticket] = redelivery_.front();
        redelivery_.pop_front();
        const auto found = pending_.find(sequence);
        if (found == pending_.end() || found->second.ticket != ticket) continue;
        const bool spent = config_.max_deliver > 0 && found->second.delivery_count >= config_.max_deliver;
        const StreamModel::Stored* stored = stream_.find(sequence, now);
        if (spent || stored == nullptr) {
            note(sequence, found->second, now);
            erase(found);
            continue;
        }
        note(sequence, found->second, now);
        found->second.ticket = 0;
        found->second.since = now;
        ++found->second.delivery_count;
        schedule(found, now + config_.ack_wait);
        return Next{sequence, found->second.delivery_count, stored->message};
    }
    return std::nullopt;
}

bool ConsumerModel::settle(std::uint64_t sequence, engine::MonoTime now) {
    const auto found = pending_.find(sequence);
    if (found == pending_.end()) return false;
    note(sequence, found->second, now);
    erase(found);
    return true;
}

bool ConsumerModel::nak(std::uint64_t sequence, engine::Duration delay, engine::MonoTime now) {
    const auto found = pending_.find(sequence);
    if (found == pending_.end()) return false;
    if (delay <= engine::Duration::zero()) {
        if (found->second.ticket == 0) enqueue(found);
        return true;
    }
    note(sequence, found->second, now);
    found->second.ticket = 0;
    found->second.since = now + delay - config_.ack_wait;
    schedule(found, now + delay);
    return true;
}

bool ConsumerModel::in_progress(std::uint64_t sequence, engine::MonoTime now) {
    const auto found = pending_.find(sequence);
    if (found == pending_.end()) return false;
    note(sequence, found->second, now);
    found->second.since = now;
    // A message that is queued for redelivery already stays there.
    if (found->second.ticket == 0) schedule(found, now + config_.ack_wait);
    return true;
}

std::optional<engine::MonoTime> ConsumerModel::next_deadline() const {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first;
}

void ConsumerModel::expire(engine::MonoTime now) {
    std::vector<std::uint64_t> expired;
    for (auto due = due_.begin(); due != due_.end() && due->first <= now; ++due) expired.push_back(due->second);
    // What expires together is redelivered in stream order.
    std::sort(expired.begin(), expired.end());
    for (const std::uint64_t sequence : expired) {
        const auto found = pending_.find(sequence);
        note(sequence, found->second, now);
        found->second.since = now;
        enqueue(found);
    }
}

void ConsumerModel::restart(engine::MonoTime now, engine::MonoTime first_check) {
    first_check = std::min(first_check, now + config_.ack_wait);
    redelivery_.clear();
    due_.clear();
    for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
        pending->second.ticket = 0;
        pending->second.due = {};
        schedule(pending, std::max(pending->second.since + config_.ack_wait, first_check));
    }
    unsynced_.clear();
}

void ConsumerModel::crash(engine::MonoTime now) {
    lose_after(StoragePolicy::last_tick(storage_.consumer_flush, now));
}

void ConsumerModel::power_cut(engine::MonoTime now) {
    // Never ahead of the stream, whose own interval is no longer than this one: what the stream loses is forgotten here too.
    lose_after(StoragePolicy::last_tick(std::max(storage_.sync_interval, storage_.consumer_flush), now));
}

void ConsumerModel::lose_after(engine::MonoTime written) {
    while (!unsynced_.empty() && unsynced_.back().at > written) {
        const Undo& undo = unsynced_.back();
        next_sequence_ = undo.next_sequence;
        if (undo.before) {
            static_cast<Progress&>(pending_[undo.sequence]) = *undo.before;
        } else {
            pending_.erase(undo.sequence);
        }
        unsynced_.pop_back();
    }
}

void ConsumerModel::note(std::uint64_t sequence, std::optional<Progress> before, engine::MonoTime now) {
    const engine::MonoTime synced =
        StoragePolicy::last_tick(std::max(storage_.sync_interval, storage_.consumer_flush), now);
    while (!unsynced_.empty() && unsynced_.front().at <= synced) unsynced_.pop_front();
    if (synced < now) unsynced_.push_back(Undo{now, sequence, before, next_sequence_});
}

void ConsumerModel::erase(PendingMap::iterator pending) {
    due_.erase({pending->second.due, pending->first});
    pending_.erase(pending);
}

void ConsumerModel::schedule(PendingMap::iterator pending, engine::MonoTime due) {
    due_.erase({pending->second.due, pending->first});
    pending->second.due = due;
    due_.emplace_hint(due_.end(), due, pending->first);
}

void ConsumerModel::enqueue(PendingMap::iterator pending) {
    due_.erase({pending->second.due, pending->first});
    pending->second.ticket = ++last_ticket_;
    redelivery_.emplace_back(pending->first, pending->second.ticket);
}

}  // namespace lockstep::fakes
