#include "sim/world/event_queue.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kArity = 4;
constexpr std::size_t kSweepFrom = 256;  // a small heap is not worth a sweep

}  // namespace

EventQueue::EventQueue(std::uint64_t seed, TieOrder ties, const Schedule* schedule)
    : ties_(schedule != nullptr && schedule->in_order_of_issue() ? TieOrder::issued : ties),
      schedule_(schedule != nullptr && schedule->by_priority() ? schedule : nullptr),
      tie_stream_(seed, "ties") {}

void EventQueue::advance(Time when) {
    const std::optional<Time> next = next_time();
    INVARIANT(when >= now_ && (!next || *next >= when), "time moved to {} ns across an event",
              when.time_since_epoch().count());
    now_ = when;
}

EventQueue::Ticket EventQueue::push(Time when, NodeId node, engine::Work& work, MonoTime deadline) {
    const std::uint32_t index = allocate(node, deadline);
    slot_at(index).work = &work;
    enter(index, when, draw_order(node));
    return ticket_of(index, slot_at(index));
}

EventQueue::Ticket EventQueue::push(Time when, NodeId node, Action action, MonoTime deadline) {
    const std::uint32_t index = allocate(node, deadline);
    slot_at(index).action = std::move(action);
    enter(index, when, draw_order(node));
    return ticket_of(index, slot_at(index));
}

EventQueue::Ticket EventQueue::push_parked(NodeId node, Action action) {
    const std::uint32_t index = allocate(node, kNoDeadline);
    Slot& slot = slot_at(index);
    slot.action = std::move(action);
    slot.state = State::out;
    return ticket_of(index, slot);
}

bool EventQueue::cancel(Ticket ticket) noexcept {
    const Slot* slot = find(ticket);
    if (slot == nullptr) return false;
    const auto index = static_cast<std::uint32_t>(ticket);
    if (slot->state == State::queued) forget_key(slot_at(index));
    free(index);
    return true;
}

std::optional<Time> EventQueue::next_time() {
    while (!heap_.empty()) {
        const Key& top = heap_.front();
        if (slot_at(top.slot).version == top.version) return Time{engine::Duration{top.time}};
        drop_top();
        --stale_;
    }
    return std::nullopt;
}

EventQueue::Due EventQueue::pop() {
    const Key top = heap_.front();
    Slot& slot = slot_at(top.slot);
    now_ = Time{engine::Duration{top.time}};
    ++slot.version;
    slot.state = State::out;
    drop_top();
    return {ticket_of(top.slot, slot), slot.node};
}

engine::Work& EventQueue::take_work(Ticket ticket) {
    const auto index = static_cast<std::uint32_t>(ticket);
    engine::Work& work = *slot_at(index).work;
    free(index);
    return work;
}

Action EventQueue::take_action(Ticket ticket) {
    const auto index = static_cast<std::uint32_t>(ticket);
    Action action = std::move(slot_at(index).action);
    free(index);
    return action;
}

void EventQueue::unpark(Ticket ticket) {
    const Slot* slot = find(ticket);
    if (slot == nullptr || slot->state != State::out) return;
    // The upper half is zero where a drawn tie would stand, so that only the sequence number counts.
    const std::uint64_t order = ties_ == TieOrder::drawn ? ++sequence_ & 0xffff'ffffU : ++sequence_;
    enter(static_cast<std::uint32_t>(ticket), now_, order);
}

template <class Which>
void EventQueue::drop_actions_if(Which which) {
    // Destroying an action may destroy objects that cancel or push in turn, so slots are looked up one by one.
    for (std::uint32_t index = 0; index < slot_count_; ++index) {
        const Slot& slot = slot_at(index);
        if (slot.state != State::free && slot.work == nullptr && which(slot)) cancel(ticket_of(index, slot));
    }
}

void EventQueue::drop_actions(NodeId node) {
    drop_actions_if([node](const Slot& slot) { return slot.node == node; });
}

void EventQueue::drop_all_actions() {
    drop_actions_if([](const Slot&) { return true; });
}

std::size_t EventQueue::count_works(NodeId node) const {
    std::size_t count = 0;
    for (std::uint32_t index = 0; index < slot_count_; ++index) {
        const Slot& slot = slot_at(index);
        if (slot.state != State::free && slot.work != nullptr && slot.node == node) ++count;
    }
    return count;
}

const EventQueue::Slot* EventQueue::find(Ticket ticket) const {
    const auto index = static_cast<std::uint32_t>(ticket);
    if (ticket == 0 || index >= slot_count_) return nullptr;
    const Slot& slot = slot_at(index);
    return slot.state != State::free && slot.generation == ticket >> 32U ? &slot : nullptr;
}

std::uint32_t EventQueue::allocate(NodeId node, MonoTime deadline) {
    std::uint32_t index = first_free_;
    if (index != kNoSlot) {
        first_free_ = slot_at(index).next_free;
    } else {
        index = slot_count_++;
        if (index % kChunk == 0) chunks_.push_back(std::make_unique<Slot[]>(kChunk));
    }
    Slot& slot = slot_at(index);
    slot.node = node;
    slot.deadline = deadline;
    slot.state = State::out;
    return index;
}

void EventQueue::free(std::uint32_t index) noexcept {
    Slot& slot = slot_at(index);
    // Whoever is destroyed with the action may come back here: by then the slot is free and in the list.
    const Action dying = std::move(slot.action);
    slot.work = nullptr;
    slot.state = State::free;
    ++slot.generation;
    slot.next_free = std::exchange(first_free_, index);
}

void EventQueue::forget_key(Slot& slot) noexcept {
    ++slot.version;
    slot.state = State::out;
    ++stale_;
}

std::uint64_t EventQueue::draw_order(NodeId node) {
    ++sequence_;
    if (schedule_ != nullptr) return std::uint64_t{schedule_->rank(node)} << 32U | (sequence_ & 0xffff'ffffU);
    if (ties_ == TieOrder::issued) return sequence_;
    return (tie_stream_.next() & 0xffff'ffff'0000'0000U) | (sequence_ & 0xffff'ffffU);
}

void EventQueue::enter(std::uint32_t index, Time when, std::uint64_t order) {
    INVARIANT(when >= now_, "scheduled {} ns into the past", (now_ - when).count());
    if (stale_ > kSweepFrom && stale_ * 2 > heap_.size()) sweep();
    Slot& slot = slot_at(index);
    slot.state = State::queued;
    heap_.push_back({when.time_since_epoch().count(), order, index, slot.version});
    sift_up(heap_.size() - 1);
}

void EventQueue::drop_top() {
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0);
}

void EventQueue::sift_up(std::size_t at) {
    const Key key = heap_[at];
    while (at > 0) {
        const std::size_t parent = (at - 1) / kArity;
        if (!key.before(heap_[parent])) break;
        heap_[at] = heap_[parent];
        at = parent;
    }
    heap_[at] = key;
}

void EventQueue::sift_down(std::size_t at) {
    const Key key = heap_[at];
    const std::size_t size = heap_.size();
    for (;;) {
        const std::size_t first = at * kArity + 1;
        if (first >= size) break;
        const std::size_t end = std::min(first + kArity, size);
        std::size_t least = first;
        for (std::size_t child = first + 1; child < end; ++child) {
            if (heap_[child].before(heap_[least])) least = child;
        }
        if (!heap_[least].before(key)) break;
        heap_[at] = heap_[least];
        at = least;
    }
    heap_[at] = key;
}

void EventQueue::sweep() {
    std::erase_if(heap_, [this](const Key& key) { return slot_at(key.slot).version != key.version; });
    stale_ = 0;
    if (heap_.size() < 2) return;
    for (std::size_t at = (heap_.size() - 2) / kArity + 1; at-- > 0;) sift_down(at);
}

}  // namespace lockstep::sim
