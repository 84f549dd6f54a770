// ManualWorld: the smallest world in which a fake can be tested. One thread, one queue ordered by time and then by order
// of issue, one latency for every link, no clock offsets, and faults that a test switches by hand.
//
// 1. Time stands still until `run_for` or `run_until` is called; nothing runs outside of them.
// 2. Coroutines of every node run on one executor: `world.executor()`.
// 3. A node that is down loses its timers, its connections and what is on its way to it. Objects of the fake on that
//    node are the test's own to destroy.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/run_queue.h"
#include "fakes/world.h"

namespace lockstep::fakes::testing {

/// Faults by hand: each is a function that a test may replace; left alone, nothing goes wrong.
struct ManualFaults final : Faults {
    std::function<CallFault(NodeId, std::string_view)> on_redis_call;
    std::function<engine::Duration(std::string_view)> on_redis_latency;
    bool redis_oom = false;
    std::uint64_t redis_oom_effective = 0;
    std::function<CallFault(NodeId, std::string_view)> on_publish;
    std::function<bool(std::string_view)> on_lose_ack;
    std::function<engine::Duration(std::string_view)> on_delay_ack;
    std::function<bool(std::string_view)> on_duplicate_delivery;
    std::function<engine::Duration(std::string_view)> on_reorder_delivery;
    std::uint64_t reorder_effective = 0;
    std::function<bool(std::string_view)> on_drop_core;
    std::function<bool(std::string_view, std::string&)> on_corrupt;
    std::function<bool(std::string_view)> on_garble_delivery;
    RpcFault kernel{};
    RpcFault output{};

    CallFault redis_call(NodeId client, std::string_view command, const CallScope& scope) override;
    engine::Duration redis_latency(std::string_view command, const CallScope& scope) override;
    std::optional<Effect> redis_out_of_memory() override {
        return redis_oom ? std::optional(Effect(redis_oom_effective)) : std::nullopt;
    }
    CallFault publish(NodeId client, std::string_view subject, const CallScope& scope) override;
    bool lose_ack(const MessageScope& message) override;
    engine::Duration delay_ack(const MessageScope& message) override;
    bool duplicate_delivery(const MessageScope& message) override;
    HoldUp reorder_delivery(const MessageScope& message) override;
    bool drop_core(const MessageScope& message) override;
    bool corrupt(const MessageScope& message, std::string& payload) override;
    bool garble_delivery(const MessageScope& message) override;
    RpcFault kernel_call(const CallScope&) override { return kernel; }
    RpcFault output_call(const CallScope&) override { return output; }
    bool worker_silent(NodeId) override { return false; }
    bool worker_zombie(NodeId) override { return false; }
    bool worker_overloaded(NodeId) override { return false; }
};

/// An event as a test can keep it.
struct SeenEvent {
    EventKind kind{};
    When when{};
    EventOutcome outcome{};
    bool flag = false;
    NodeId node;
    std::string subject, job, name, stream, message_id, payload, command, script, key;
    std::uint64_t sequence = 0;
    std::int64_t number = 0;
    bool has_packet = false;
};

/// Keeps every event; `kill_when` may answer true to say that the node of the event has just died.
struct RecordingTrace final : Trace {
    std::vector<SeenEvent> events;
    bool recording = true;
    std::function<bool(const Event&)> kill_when;

    bool emit(const Event& event) override;
    [[nodiscard]] std::vector<SeenEvent> of(EventKind kind, When when = When::applied) const;
};

class ManualWorld final : public World {
public:
    explicit ManualWorld(std::uint64_t seed = 1) : seed_(seed) {}

    /// One way, for every link. A connection is made after two of them.
    engine::Duration latency = std::chrono::microseconds(100);
    ManualFaults fault;
    RecordingTrace events;

    [[nodiscard]] engine::RunQueue& executor() { return executor_; }
    [[nodiscard]] engine::MonoTime now() const { return executor_.now; }

    void run_for(engine::Duration span);
    /// Runs until `done()` holds, for no longer than `limit`. Answers whether it holds.
    bool run_until(const std::function<bool()>& done, engine::Duration limit = std::chrono::minutes(10));

    void node_down(NodeId node);
    void node_up(NodeId node) { down_.erase(node); }
    /// Holds back everything between the two nodes until `heal`.
    void partition(NodeId a, NodeId b);
    void heal();
    /// Breaks every connection between the two nodes; what is on its way is lost.
    void break_connections(NodeId a, NodeId b);

    [[nodiscard]] engine::WallTime wall(NodeId node) const override;
    [[nodiscard]] engine::MonoTime monotonic(NodeId node) const override;
    TimerId after(NodeId node, engine::Duration delay, Action action) override;
    void cancel(TimerId timer) override;
    void listen(NodeId node, std::string_view service, Server& server) override;
    void connect(NodeId client, NodeId server, std::string_view service, ConnectionListener& listener,
                 std::function<void(std::shared_ptr<Connection>)> done) override;
    KeyedRng& draws(std::string_view family) override;
    Faults& faults() override { return fault; }
    Trace& trace() override { return events; }

private:
    class Link;
    struct Executor final : engine::RunQueue {
        engine::MonoTime now{};
        [[nodiscard]] engine::MonoTime monotonic() const override { return now; }
        void unhandled(std::exception_ptr error) override { std::rethrow_exception(error); }
    };
    struct Pending {
        NodeId node;
        Action action;
    };
    using Key = std::pair<engine::MonoTime, std::uint64_t>;

    [[nodiscard]] bool partitioned(NodeId a, NodeId b) const;
    Key schedule(NodeId node, engine::MonoTime when, Action action);
    void send(NodeId from, NodeId to, std::shared_ptr<Link> link, Action arrival);
    void establish(NodeId client, NodeId server, std::string service, ConnectionListener& listener,
                   std::function<void(std::shared_ptr<Connection>)> done);
    bool step(engine::MonoTime limit);

    std::uint64_t seed_;
    Executor executor_;
    std::map<Key, Pending> queue_;
    std::map<TimerId, Key> timers_;
    std::uint64_t issued_ = 0;
    std::map<std::pair<NodeId, std::string>, Server*> servers_;
    std::vector<std::shared_ptr<Link>> links_;
    std::set<NodeId> down_;
    std::set<std::pair<NodeId, NodeId>> partitions_;
    std::vector<std::pair<std::pair<NodeId, NodeId>, Action>> held_;  // until the partition of the two heals
    std::map<std::string, KeyedRng, std::less<>> draws_;
};

}  // namespace lockstep::fakes::testing
