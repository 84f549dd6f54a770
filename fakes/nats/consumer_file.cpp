#include "fakes/nats/consumer_file.h"

#include <algorithm>

namespace lockstep::fakes {

void ConsumerFile::delivered(std::uint64_t sequence, std::uint64_t delivery_sequence, int count, engine::MonoTime since,
                             engine::MonoTime now) {
    if (delivery_sequence <= contents_.floor_delivery) return;
    note(sequence, now);
    const Pending entry{delivery_sequence, since};
    if (sequence > contents_.last_stream) {
        contents_.pending.insert_or_assign(contents_.pending.end(), sequence, entry);
    } else if (const auto known = contents_.pending.find(sequence); known != contents_.pending.end()) {
        known->second = entry;
    }
    contents_.last_delivery = std::max(contents_.last_delivery, delivery_sequence);
    contents_.last_stream = std::max(contents_.last_stream, sequence);
    if (count > 1) contents_.redelivered[sequence] = count - 1;
}

void ConsumerFile::settled(std::uint64_t sequence, std::uint64_t delivery_sequence, engine::MonoTime now) {
    const auto found = contents_.pending.find(sequence);
    if (found == contents_.pending.end() || delivery_sequence <= contents_.floor_delivery) return;
    note(sequence, now);
    const std::uint64_t last_delivery = found->second.delivery_sequence;
    contents_.pending.erase(found);
    contents_.redelivered.erase(sequence);
    move_floor(sequence, last_delivery);
}

void ConsumerFile::move_floor(std::uint64_t sequence, std::uint64_t delivery_sequence) {
    if (contents_.pending.empty()) {
        contents_.floor_delivery = contents_.last_delivery;
        contents_.floor_stream = contents_.last_stream;
        return;
    }
    if (delivery_sequence != contents_.floor_delivery + 1) return;
    const bool first = contents_.floor_delivery == 0;
    contents_.floor_delivery = delivery_sequence;
    contents_.floor_stream = sequence;
    if (first || contents_.last_delivery <= delivery_sequence) return;
    const auto next = contents_.pending.upper_bound(sequence);
    if (next == contents_.pending.end() || next->first >= contents_.last_stream) return;
    contents_.floor_delivery = next->second.delivery_sequence - 1;
    contents_.floor_stream = next->first - 1;
}

ConsumerFile::Contents ConsumerFile::read() const {
    constexpr engine::Duration kGrain = std::chrono::seconds(1);
    Contents read = contents_;
    for (auto& [sequence, pending] : read.pending) {
        pending.since = engine::MonoTime(pending.since.time_since_epoch() / kGrain * kGrain);
    }
    // A count below the floor is taken for a leftover.
    read.redelivered.erase(read.redelivered.begin(), read.redelivered.lower_bound(read.floor_stream));
    return read;
}

void ConsumerFile::lose_after(engine::MonoTime written) {
    while (!changes_.empty() && changes_.back().at > written) {
        const Change& change = changes_.back();
        if (change.pending) {
            contents_.pending.insert_or_assign(change.sequence, *change.pending);
        } else {
            contents_.pending.erase(change.sequence);
        }
        if (change.redelivered) {
            contents_.redelivered.insert_or_assign(change.sequence, *change.redelivered);
        } else {
            contents_.redelivered.erase(change.sequence);
        }
        contents_.floor_stream = change.floor_stream;
        contents_.floor_delivery = change.floor_delivery;
        contents_.last_stream = change.last_stream;
        contents_.last_delivery = change.last_delivery;
        changes_.pop_back();
    }
}

void ConsumerFile::note(std::uint64_t sequence, engine::MonoTime now) {
    while (!changes_.empty() && changes_.front().at < now - keep_changes_for_) changes_.pop_front();
    Change change{.at = now,
                  .sequence = sequence,
                  .floor_stream = contents_.floor_stream,
                  .floor_delivery = contents_.floor_delivery,
                  .last_stream = contents_.last_stream,
                  .last_delivery = contents_.last_delivery};
    if (const auto pending = contents_.pending.find(sequence); pending != contents_.pending.end()) {
        change.pending = pending->second;
    }
    if (const auto count = contents_.redelivered.find(sequence); count != contents_.redelivered.end()) {
        change.redelivered = count->second;
    }
    changes_.push_back(std::move(change));
}

}  // namespace lockstep::fakes
