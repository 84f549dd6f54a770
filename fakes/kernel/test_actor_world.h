// The manual world for tests of kernel, worker and gateway: with faults of workers, and with events that keep where
// they lead. Everything else is the manual world's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/scope.h"
#include "fakes/testing/manual_world.h"

namespace lockstep::fakes::testing {

/// An event with the fields that these tests look at.
struct ActorEvent {
    EventKind kind{};
    When when{};
    bool flag = false;
    NodeId node;
    std::string job, name, to;
    std::int64_t number = 0;
};

class ActorWorld final : public World, private Faults, private Trace {
public:
    ManualWorld base;
    bool silent = false;
    bool zombie = false;
    bool overloaded = false;
    std::vector<ActorEvent> told;
    std::function<bool(const Event&)> kill_when;

    [[nodiscard]] engine::Executor& executor() { return base.executor(); }
    void run_for(engine::Duration span) { base.run_for(span); }

    [[nodiscard]] std::vector<ActorEvent> of(EventKind kind, When when = When::applied) const {
        std::vector<ActorEvent> found;
        for (const ActorEvent& event : told) {
            if (event.kind == kind && event.when == when) found.push_back(event);
        }
        return found;
    }

    /// Runs a task to its end and gives its value; empty when it has not ended within `limit`.
    template <class T>
    std::optional<T> run(engine::Task<T> task, engine::Duration limit = std::chrono::minutes(10)) {
        std::optional<T> value;
        engine::Scope scope(executor());
        scope.spawn(keep(std::move(task), value));
        base.run_until([&] { return scope.empty(); }, limit);
        return value;
    }

    [[nodiscard]] engine::WallTime wall(NodeId node) const override { return base.wall(node); }
    [[nodiscard]] engine::MonoTime monotonic(NodeId node) const override { return base.monotonic(node); }
    TimerId after(NodeId node, engine::Duration delay, Action action) override {
        return base.after(node, delay, std::move(action));
    }
    void cancel(TimerId timer) override { base.cancel(timer); }
    void listen(NodeId node, std::string_view service, Server& server) override { base.listen(node, service, server); }
    void connect(NodeId client, NodeId server, std::string_view service, ConnectionListener& listener,
                 std::function<void(std::shared_ptr<Connection>)> done) override {
        base.connect(client, server, service, listener, std::move(done));
    }
    KeyedRng& draws(std::string_view family) override { return base.draws(family); }
    Faults& faults() override { return *this; }
    Trace& trace() override { return *this; }

private:
    template <class T>
    static engine::Task<void> keep(engine::Task<T> task, std::optional<T>& value) {
        value.emplace(co_await std::move(task));
    }

    bool emit(const Event& event) override {
        static_cast<void>(base.events.emit(event));
        told.push_back({event.kind, event.when, event.flag, event.node, std::string(event.job), std::string(event.name),
                        std::string(event.to), event.number});
        return !(kill_when && kill_when(event));
    }

    CallFault redis_call(NodeId client, std::string_view command, const CallScope& scope) override {
        return base.fault.redis_call(client, command, scope);
    }
    engine::Duration redis_latency(std::string_view command, const CallScope& scope) override {
        return base.fault.redis_latency(command, scope);
    }
    std::optional<Effect> redis_out_of_memory() override { return base.fault.redis_out_of_memory(); }
    CallFault publish(NodeId client, std::string_view subject, const CallScope& scope) override {
        return base.fault.publish(client, subject, scope);
    }
    bool lose_ack(const MessageScope& message) override { return base.fault.lose_ack(message); }
    engine::Duration delay_ack(const MessageScope& message) override { return base.fault.delay_ack(message); }
    bool duplicate_delivery(const MessageScope& message) override { return base.fault.duplicate_delivery(message); }
    HoldUp reorder_delivery(const MessageScope& message) override { return base.fault.reorder_delivery(message); }
    bool drop_core(const MessageScope& message) override { return base.fault.drop_core(message); }
    bool garble_delivery(const MessageScope& message) override { return base.fault.garble_delivery(message); }
    bool corrupt(const MessageScope& message, std::string& payload) override {
        return base.fault.corrupt(message, payload);
    }
    RpcFault kernel_call(const CallScope& scope) override { return base.fault.kernel_call(scope); }
    RpcFault output_call(const CallScope& scope) override { return base.fault.output_call(scope); }
    bool worker_silent(NodeId) override { return silent; }
    bool worker_zombie(NodeId) override { return zombie; }
    bool worker_overloaded(NodeId) override { return overloaded; }
};

}  // namespace lockstep::fakes::testing
