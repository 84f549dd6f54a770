// What is still to happen in the world, in the order in which it will: by virtual time, then by a tie drawn from the
// seed (or by order of issue, or by the rank of its node), then by sequence number. The simulation's loop owns it;
// executors, timers and the network push into it.
//
// 1. Time never goes back: pushing before `now` is a defect and throws.
// 2. An entry lives in a slot until it is taken, cancelled or dropped; its ticket then means nothing any more, though
//    the slot is used again.
// 3. A cancelled entry leaves its key behind in the heap. The keys are swept out once they are the majority.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/runtime/executor.h"
#include "fakes/action.h"
#include "fakes/event.h"
#include "fakes/rng.h"
#include "sim/world/schedule.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

using engine::MonoTime;
using fakes::Action;
using fakes::NodeId;

/// How entries of the same instant are ordered.
enum class TieOrder : std::uint8_t { drawn, issued };

class EventQueue {
public:
    /// Names one entry; 0 names none.
    using Ticket = std::uint64_t;
    static constexpr MonoTime kNoDeadline = MonoTime::min();

    struct Due {
        Ticket ticket = 0;
        NodeId node;
    };

    /// `schedule`: may order entries of the same instant in place of `ties`; outlives the queue.
    EventQueue(std::uint64_t seed, TieOrder ties, const Schedule* schedule = nullptr);

    /// The time of the entry popped last.
    [[nodiscard]] Time now() const { return now_; }
    /// Lets time pass up to `when` without an event. REQUIRES: nothing is due before.
    void advance(Time when);

    /// Queues `work` (or `action`) of `node` for `when`; an invalid node means the world itself. `deadline` is the
    /// instant on the node's own clock that `when` was computed from, for `retime`.
    Ticket push(Time when, NodeId node, engine::Work& work, MonoTime deadline = kNoDeadline);
    Ticket push(Time when, NodeId node, Action action, MonoTime deadline = kNoDeadline);
    /// An entry that is in no order yet: it waits for `unpark`.
    Ticket push_parked(NodeId node, Action action);
    /// Forgets the entry. False when the ticket is stale.
    bool cancel(Ticket ticket) noexcept;

    /// When the next entry is due; nothing when none is queued.
    [[nodiscard]] std::optional<Time> next_time();
    /// Moves time to the next entry and takes it out of the order; the entry itself stays until it is taken or parked.
    /// REQUIRES: next_time() has a value.
    Due pop();

    [[nodiscard]] bool holds(Ticket ticket) const { return find(ticket) != nullptr; }
    /// Whether the popped entry is a Work (else an Action), and whether it had a deadline.
    [[nodiscard]] bool is_work(Ticket ticket) const { return find(ticket)->work != nullptr; }
    [[nodiscard]] bool is_timer(Ticket ticket) const { return find(ticket)->deadline != kNoDeadline; }
    [[nodiscard]] engine::Work& take_work(Ticket ticket);
    [[nodiscard]] Action take_action(Ticket ticket);
    /// Puts a parked or popped entry back, due now. What is unparked at one instant runs in the order of these calls, with
    /// drawn ties ahead of everything else. Nothing happens when the ticket is stale.
    void unpark(Ticket ticket);

    /// Destroys every action of `node`, parked ones included.
    void drop_actions(NodeId node);
    void drop_all_actions();
    [[nodiscard]] std::size_t count_works(NodeId node) const;
    /// Computes the time of every queued timer of `node` afresh, after its clock has changed.
    template <class WhenOf>
    void retime(NodeId node, WhenOf when_of) {
        for (std::uint32_t index = 0; index < slot_count_; ++index) {
            Slot& slot = slot_at(index);
            if (slot.state != State::queued || slot.node != node || slot.deadline == kNoDeadline) continue;
            forget_key(slot);
            enter(index, when_of(slot.deadline), draw_order(node));
        }
    }

    [[nodiscard]] std::size_t size() const { return heap_.size() - stale_; }

private:
    enum class State : std::uint8_t { free, queued, out };  // out: popped or parked

    struct Slot {
        Action action;
        engine::Work* work = nullptr;
        MonoTime deadline = kNoDeadline;
        NodeId node;
        std::uint32_t generation = 1;  // of tickets: grows when the slot is freed
        std::uint32_t version = 0;     // of heap keys: grows when the present key stops counting
        std::uint32_t next_free = 0;
        State state = State::free;
    };
    struct Key {
        std::int64_t time;
        std::uint64_t order;
        std::uint32_t slot;
        std::uint32_t version;
        [[nodiscard]] bool before(const Key& other) const {
            return time != other.time ? time < other.time : order < other.order;
        }
    };
    static constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t kChunk = 512;

    [[nodiscard]] Slot& slot_at(std::uint32_t index) { return chunks_[index / kChunk][index % kChunk]; }
    [[nodiscard]] const Slot& slot_at(std::uint32_t index) const { return chunks_[index / kChunk][index % kChunk]; }
    [[nodiscard]] const Slot* find(Ticket ticket) const;
    [[nodiscard]] static Ticket ticket_of(std::uint32_t index, const Slot& slot) {
        return (Ticket{slot.generation} << 32U) | index;
    }

    std::uint32_t allocate(NodeId node, MonoTime deadline);
    void free(std::uint32_t index) noexcept;
    void forget_key(Slot& slot) noexcept;
    std::uint64_t draw_order(NodeId node);
    void enter(std::uint32_t index, Time when, std::uint64_t order);
    void drop_top();
    void sift_up(std::size_t at);
    void sift_down(std::size_t at);
    void sweep();
    template <class Which>
    void drop_actions_if(Which which);

    const TieOrder ties_;
    const Schedule* const schedule_;
    fakes::Rng tie_stream_;
    Time now_{};
    std::uint64_t sequence_ = 0;
    std::vector<Key> heap_;  // four children per node: half the depth, and siblings share a cache line or two
    std::size_t stale_ = 0;
    std::vector<std::unique_ptr<Slot[]>> chunks_;  // slots never move
    std::uint32_t slot_count_ = 0;
    std::uint32_t first_free_ = kNoSlot;
};

}  // namespace lockstep::sim
