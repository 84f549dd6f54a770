// The nodes of the world: for each one its clocks, its executor, its randomness, and whether it runs. This is state; what
// a crash or a pause means for the rest of the world is in lifecycle.h.
//
// 1. A node that is down or dying sends nothing, arms nothing and is not told anything.
// 2. A node with a service rate takes one step at a time; what falls due meanwhile stands in line. Without one its steps
//    take no time.
// 3. What falls due on a paused node waits in its backlog, in order. Its clocks go on, as in a machine whose hypervisor
//    has stopped it.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/ports/entropy.h"
#include "engine/runtime/executor.h"
#include "sim/scenario/topology.h"
#include "sim/world/event_queue.h"
#include "sim/world/fifo.h"
#include "sim/world/local_clock.h"

namespace lockstep::sim {

/// What runs on a node. Its owner builds everything in `start` and destroys everything in `crash`: executor work,
/// connections and timers included. All are called between events, never inside a step.
class Process {
public:
    virtual ~Process() = default;
    virtual void start() = 0;
    virtual void crash() = 0;
    /// The operator asks it to end. It tidies up as long as it likes and then calls `ended`, once; `crash` follows. A process
    /// that has nothing to tidy up ends at once.
    virtual void stop(std::function<void()> ended) { ended(); }
};

/// Takes what should never have been thrown: a broken INVARIANT, or a defect of the harness.
class DefectSink {
public:
    virtual ~DefectSink() = default;
    virtual void on_defect(NodeId node, std::exception_ptr error) = 0;
};

struct Node;

/// Feeds the work of one node into the world's queue. The same one serves every incarnation: between two there is no
/// work left in it.
class NodeExecutor final : public engine::Executor {
public:
    NodeExecutor(const Node& node, EventQueue& queue, DefectSink& defects)
        : node_(node), queue_(queue), defects_(defects) {}

    [[nodiscard]] MonoTime monotonic() const override;
    void unhandled(std::exception_ptr error) override;
    /// Runs one step. REQUIRES: `work` has been taken out of the queue.
    void step(engine::Work& work) {
        release(work);
        run_step(work);
    }

private:
    std::uint64_t enqueue(engine::Work& work) override;
    std::uint64_t enqueue_at(engine::Work& work, MonoTime when) override;
    void dequeue(engine::Work& work, std::uint64_t ticket) noexcept override;

    const Node& node_;
    EventQueue& queue_;
    DefectSink& defects_;
};

class NodeClock final : public engine::Clock {
public:
    NodeClock(const LocalClock& clock, const EventQueue& queue) : clock_(clock), queue_(queue) {}
    [[nodiscard]] WallTime now() const override { return clock_.wall(queue_.now()); }
    [[nodiscard]] MonoTime monotonic() const override { return clock_.monotonic(queue_.now()); }

private:
    const LocalClock& clock_;
    const EventQueue& queue_;
};

/// Goes on where the last incarnation stopped: a restarted process does not draw the same identifiers again.
class NodeEntropy final : public engine::Entropy {
public:
    NodeEntropy(std::uint64_t seed, std::string_view stream) : stream_(seed, stream) {}
    std::uint64_t next() override { return stream_.next(); }

private:
    fakes::Rng stream_;
};

struct Node {
    Node(const Topology::Entry& entry, const Cluster& cluster, std::uint64_t seed, EventQueue& queue,
         DefectSink& defects);
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    [[nodiscard]] bool alive() const { return up && !dying; }
    [[nodiscard]] bool paused() const { return !pauses.empty(); }
    /// Keeps an entry, and before it what stands in line, for the end of the pause.
    void hold_back(EventQueue::Ticket ticket);
    void hold_back_line();
    [[nodiscard]] bool busy(Time now) const { return now < free_at || !line.empty(); }

    const NodeId id;
    LocalClock clock;
    NodeExecutor executor;
    NodeClock clock_port;
    NodeEntropy entropy;
    Process* process = nullptr;  // null for a node that runs nothing of its own

    bool up = true;
    bool dying = false;        // crashes at the end of the present step
    bool stopping = false;     // has been asked to end
    bool start_again = false;  // as soon as it has ended
    std::uint32_t incarnation = 1;
    std::vector<std::uint64_t*> pauses;  // in force; each counts what it holds back
    std::vector<EventQueue::Ticket> backlog;

    Duration step_time{};  // one step; zero: none
    Time free_at{};        // when the present step ends
    Fifo<EventQueue::Ticket> line;
};

class Nodes {
public:
    Nodes(const Topology& topology, const Cluster& cluster, std::uint64_t seed, EventQueue& queue, DefectSink& defects);

    [[nodiscard]] Node& operator[](NodeId id) { return *nodes_.at(static_cast<std::size_t>(id.value)); }
    [[nodiscard]] const Node& operator[](NodeId id) const { return *nodes_.at(static_cast<std::size_t>(id.value)); }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }

    /// The world itself (an invalid id) is always alive and never paused.
    [[nodiscard]] bool alive(NodeId id) const { return !id.valid() || (*this)[id].alive(); }
    [[nodiscard]] bool paused(NodeId id) const { return id.valid() && (*this)[id].paused(); }

    /// The node whose event is being run; invalid between events and during the world's own.
    [[nodiscard]] NodeId current() const { return current_; }
    void set_current(NodeId id) { current_ = id; }

private:
    std::vector<std::unique_ptr<Node>> nodes_;
    NodeId current_;
};

}  // namespace lockstep::sim
