#include "fakes/nats/consumer_model.h"

#include <algorithm>
#include <vector>

namespace lockstep::fakes {

engine::MonoTime StoragePolicy::last_tick(engine::Duration interval, engine::MonoTime now) {
    if (interval <= engine::Duration::zero()) return now;
    return engine::MonoTime(now.time_since_epoch() / interval * interval);
}

ConsumerModel::ConsumerModel(ConsumerConfig config, StreamModel& stream, StoragePolicy storage)
    : config_(std::move(config)),
      storage_(storage),
      stream_(stream),
      filter_(stream.filter(config_.filter_subject)),
      file_(std::max(storage.sync_interval, storage.consumer_flush)) {}

std::uint64_t ConsumerModel::waiting(engine::MonoTime now) {
    std::uint64_t count = 0;
    for (std::uint64_t from = next_sequence_;; ++count) {
        const StreamModel::Stored* stored = stream_.next(filter_, from, now);
        if (stored == nullptr) return count;
        from = stored->sequence + 1;
    }
}

std::optional<ConsumerModel::Next> ConsumerModel::next(engine::MonoTime now) {
    if (auto again = next_redelivery(now)) return again;
    if (config_.max_ack_pending > 0 && pending_.size() >= static_cast<std::size_t>(config_.max_ack_pending)) {
        return std::nullopt;
    }
    const StreamModel::Stored* stored = stream_.next(filter_, next_sequence_, now);
    if (stored == nullptr) return std::nullopt;
    next_sequence_ = stored->sequence + 1;
    return hand_out(*stored, 1, now);
}

std::optional<ConsumerModel::Next> ConsumerModel::next_redelivery(engine::MonoTime now) {
    while (!redelivery_.empty()) {
        const auto [sequence, ticket] = redelivery_.front();
        redelivery_.pop_front();
        const auto queued = ticket_.find(sequence);
        if (queued == ticket_.end() || queued->second != ticket) continue;
        ticket_.erase(queued);
        const int count = ++redelivered_[sequence] + 1;
        const StreamModel::Stored* stored = stream_.find(sequence, now);
        if (stored != nullptr && (config_.max_deliver <= 0 || count <= config_.max_deliver)) {
            return hand_out(*stored, count, now);
        }
        if (config_.max_deliver > 0 && count == config_.max_deliver + 1) given_up_.push_back({sequence, count - 1});
        if (const auto spent = pending_.find(sequence); spent != pending_.end()) drop(spent);
    }
    return std::nullopt;
}

ConsumerModel::Next ConsumerModel::hand_out(const StreamModel::Stored& stored, int count, engine::MonoTime now) {
    const std::uint64_t delivery_sequence = next_delivery_sequence_++;
    const auto pending = pending_.try_emplace(stored.sequence, Pending{delivery_sequence, now}).first;
    pending->second.since = now;
    schedule(pending, now + config_.ack_wait);
    file_.delivered(stored.sequence, delivery_sequence, count, stored.time, now);
    return Next{{stored.sequence, delivery_sequence, count}, stored.message};
}

bool ConsumerModel::apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, engine::MonoTime now) {
    switch (answer.kind) {
        case EventKind::nak: return nak(receipt, answer.delay, now);
        case EventKind::term: return term(receipt, now);
        case EventKind::in_progress: return in_progress(receipt, now);
        default: return ack(receipt, now);
    }
}

std::vector<ConsumerModel::PendingMessage> ConsumerModel::pending_messages() const {
    std::vector<PendingMessage> out;
    for (const auto& [sequence, pending] : pending_) {
        const auto again = redelivered_.find(sequence);
        const int deliveries = again == redelivered_.end() ? 1 : again->second + 1;
        out.push_back({sequence, deliveries, ticket_.contains(sequence), pending.due});
    }
    return out;
}

bool ConsumerModel::settle(const DeliveryReceipt& receipt, engine::MonoTime now) {
    std::uint64_t delivery_sequence = receipt.delivery_sequence;
    const auto found = pending_.find(receipt.sequence);
    const bool counts = found != pending_.end();
    if (counts) {
        delivery_sequence = found->second.delivery_sequence;
        drop(found);
    }
    move_floor(receipt.sequence, delivery_sequence);
    redelivered_.erase(receipt.sequence);
    ticket_.erase(receipt.sequence);
    stuck_.erase(receipt.sequence);
    file_.settled(receipt.sequence, delivery_sequence, now);
    return counts;
}

void ConsumerModel::move_floor(std::uint64_t sequence, std::uint64_t delivery_sequence) {
    if (pending_.empty()) {
        floor_delivery_ = next_delivery_sequence_ - 1;
        floor_stream_ = next_sequence_ - 1;
    } else if (delivery_sequence == floor_delivery_ + 1) {
        floor_delivery_ = delivery_sequence;
        floor_stream_ = sequence;
        const auto next = pending_.upper_bound(sequence);
        if (next != pending_.end()) {
            floor_delivery_ = next->second.delivery_sequence - 1;
            floor_stream_ = next->first - 1;
        }
    }
}

bool ConsumerModel::nak(const DeliveryReceipt& receipt, engine::Duration delay, engine::MonoTime now) {
    if (receipt.delivery_sequence <= floor_delivery_) return false;
    const auto found = pending_.find(receipt.sequence);
    // While nothing at all is pending, the server does not look whether this message is.
    if (found == pending_.end() && !pending_.empty()) return false;
    if (delay > engine::Duration::zero()) {
        ticket_.erase(receipt.sequence);
        if (found == pending_.end()) return false;
        nak_later(found, receipt, delay, now);
        return true;
    }
    if (!ticket_.contains(receipt.sequence)) enqueue(receipt.sequence);
    return true;
}

void ConsumerModel::nak_later(PendingMap::iterator pending, const DeliveryReceipt& receipt, engine::Duration delay,
                              engine::MonoTime now) {
    pending->second.since = now + delay - config_.ack_wait;
    schedule(pending, now + delay);
    file_.delivered(receipt.sequence, pending->second.delivery_sequence, receipt.count, pending->second.since, now);
    // A delay makes the server look at its timers at once, and it then sees everything that is overdue.
    if (now < first_check_) check_overdue(now);
}

bool ConsumerModel::in_progress(const DeliveryReceipt& receipt, engine::MonoTime now) {
    const auto found = pending_.find(receipt.sequence);
    if (found == pending_.end()) return false;
    found->second.since = now;
    // A message that is queued for redelivery already stays there.
    if (!ticket_.contains(receipt.sequence)) schedule(found, now + config_.ack_wait);
    file_.delivered(receipt.sequence, found->second.delivery_sequence, 1, now, now);
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
        pending_.find(sequence)->second.since = now;
        enqueue(sequence);
    }
}

std::size_t ConsumerModel::change_leader(InHand in_hand) {
    const std::size_t count = pending_.size();
    for (const auto& [sequence, pending] : pending_) {
        ticket_.erase(sequence);
        if (in_hand == InHand::stuck) stuck_.insert(sequence);
    }
    due_.clear();
    if (in_hand == InHand::forgotten) forget_pending();
    return count;
}

void ConsumerModel::forget_pending() {
    pending_.clear();
    stuck_.clear();
    redelivered_.clear();
    floor_delivery_ = next_delivery_sequence_ - 1;
    floor_stream_ = next_sequence_ - 1;
}

void ConsumerModel::crash(engine::MonoTime now) {
    file_.lose_after(StoragePolicy::last_tick(storage_.consumer_flush, now));
}

void ConsumerModel::power_cut(engine::MonoTime now) {
    // Never ahead of the stream, whose own interval is no longer than this one: what the stream loses is forgotten here too.
    file_.lose_after(StoragePolicy::last_tick(std::max(storage_.sync_interval, storage_.consumer_flush), now));
}

void ConsumerModel::restart(engine::MonoTime now, engine::MonoTime first_check) {
    ConsumerFile::Contents read = file_.read();
    next_sequence_ = read.last_stream + 1;
    next_delivery_sequence_ = read.last_delivery + 1;
    floor_delivery_ = read.floor_delivery;
    floor_stream_ = read.floor_stream;
    redelivered_ = std::move(read.redelivered);
    redelivery_.clear();
    ticket_.clear();
    stuck_.clear();
    due_.clear();
    pending_.clear();
    for (const auto& [sequence, pending] : read.pending) {
        pending_.emplace_hint(pending_.end(), sequence, Pending{pending.delivery_sequence, pending.since});
    }
    check_overdue(std::min(first_check, now + config_.ack_wait));
}

void ConsumerModel::check_overdue(engine::MonoTime now) {
    first_check_ = now;
    for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
        if (ticket_.contains(pending->first)) continue;
        schedule(pending, std::max(pending->second.since + config_.ack_wait, now));
    }
}

void ConsumerModel::enqueue(std::uint64_t sequence) {
    if (stuck_.contains(sequence)) return;
    if (const auto pending = pending_.find(sequence); pending != pending_.end()) {
        due_.erase({pending->second.due, sequence});
    }
    const std::uint64_t ticket = ++last_ticket_;
    ticket_.insert_or_assign(sequence, ticket);
    redelivery_.emplace_back(sequence, ticket);
}

void ConsumerModel::drop(PendingMap::iterator pending) {
    due_.erase({pending->second.due, pending->first});
    pending_.erase(pending);
}

void ConsumerModel::schedule(PendingMap::iterator pending, engine::MonoTime due) {
    due_.erase({pending->second.due, pending->first});
    pending->second.due = due;
    if (stuck_.contains(pending->first)) return;
    due_.emplace_hint(due_.end(), due, pending->first);
}

}  // namespace lockstep::fakes
