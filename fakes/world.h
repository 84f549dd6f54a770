// What a simulated server may ask of the simulation: time, a network, randomness, faults, and somewhere to say what
// happened. The simulator implements it; the fakes know nothing else of it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"
#include "fakes/action.h"
#include "fakes/event.h"
#include "fakes/rng.h"

namespace lockstep::fakes {

/// One side of a connection that has something to say about its life.
class ConnectionListener {
public:
    virtual ~ConnectionListener() = default;
    /// The connection is gone: reset by the peer, or its node went down. Not called for one's own `close`.
    virtual void on_broken() = 0;
};

/// A TCP connection: what is sent arrives once and in order, or, when it breaks, not at all from some point on. Both sides
/// hold it by shared_ptr; the client drops it with `close`.
///
/// During a partition what was sent waits, as TCP retransmits; whether the tail of a connection closed meanwhile still
/// arrives is drawn from the seed. A crash of either node breaks it; the surviving side learns of it one latency later, or
/// when the partition heals.
class Connection {
public:
    virtual ~Connection() = default;
    /// Queues `arrival` to be run on the server's node (the client's node) after the link's latency. No effect once closed.
    virtual void send_to_server(Action arrival) = 0;
    virtual void send_to_client(Action arrival) = 0;
    /// The client hangs up; what it has sent is still on its way. The server's listener hears of it.
    virtual void close_from_client() = 0;
    /// The server hangs up (restart, kicked client). The client's listener hears of it.
    virtual void close_from_server() = 0;
    [[nodiscard]] virtual bool open() const = 0;
};

/// A server that listens on its node.
class Server {
public:
    virtual ~Server() = default;
    /// False: a connection is refused, as where no process listens.
    [[nodiscard]] virtual bool listening() const { return true; }
    /// A connection has been made. Returns the listener of the server's side, which must outlive the connection.
    virtual ConnectionListener& on_accept(std::shared_ptr<Connection> connection, NodeId client) = 0;
};

/// What the fault plan says about one call. Nobody can tell the last two apart by their answer.
enum class CallFault : std::uint8_t {
    none,
    not_applied,  // refused, and the caller knows it
    unknown,      // it takes effect, and the answer is lost
    lost,         // it is lost on its way, and so there is no answer
};

/// Counts up a fault of the plan: for a fake to say that it has changed something, where only the fake can tell. Valid as
/// long as the run.
class Effect {
public:
    Effect() = default;
    explicit Effect(std::uint64_t& effective) : effective_(&effective) {}
    void count() const {
        if (effective_ != nullptr) ++*effective_;
    }

private:
    std::uint64_t* effective_ = nullptr;
};

/// What a fault may be narrowed to, of the call that it is asked about. Views of the call.
struct CallScope {
    std::string_view script;   // redis: its name, as far as its text has been seen
    std::string_view key;      // redis: the first
    std::string_view job;      // as the call tells it; empty where only its packet does
    std::string_view payload;  // of a message
};

/// A message that a fault is asked about, and what its draws belong to. Views of the message.
struct MessageScope {
    MessageScope(std::string_view on, std::string_view about = {})
        : subject(on), job(about) {}                      // NOLINT: a subject is one
    MessageScope(const char* on) : subject(on) {}         // NOLINT
    MessageScope(const std::string& on) : subject(on) {}  // NOLINT
    std::string_view subject;
    std::string_view job;  // that it is about; empty for none
};

/// The faults in force now, asked at the moment when they would bite. Each answer that changes anything is counted by the
/// simulator as an effective fault; what comes with an `Effect` is counted by whoever has asked.
class Faults {
public:
    virtual ~Faults() = default;

    virtual CallFault redis_call(NodeId client, std::string_view command, const CallScope& scope) = 0;
    virtual engine::Duration redis_latency(std::string_view command, const CallScope& scope) = 0;
    /// Nothing: there is room. Counted once a command has been refused.
    virtual std::optional<Effect> redis_out_of_memory() = 0;

    virtual CallFault publish(NodeId client, std::string_view subject, const CallScope& scope) = 0;
    /// A consumer's answer (ack, nak, term) is lost on its way to the server.
    virtual bool lose_ack(const MessageScope& message) = 0;
    /// ... or arrives this much later.
    virtual engine::Duration delay_ack(const MessageScope& message) = 0;
    virtual bool duplicate_delivery(const MessageScope& message) = 0;
    struct HoldUp {
        engine::Duration by{};
        Effect effect;
    };
    /// Extra delay of one delivery, so that a later one overtakes it. Counted once one has.
    virtual HoldUp reorder_delivery(const MessageScope& message) = 0;
    /// A core message is lost for one subscriber.
    virtual bool drop_core(const MessageScope& message) = 0;
    /// Flips or cuts bytes of a packet in place; false when it left it alone.
    virtual bool corrupt(const MessageScope& message, std::string& payload) = 0;
    /// A stored message reaches its consumer as something that is no packet. Counted where it does.
    virtual bool garble_delivery(const MessageScope& message) = 0;

    struct RpcFault {
        int status = 0;  // a gRPC status code; 0 = answered normally
        engine::Duration latency{};
        bool no_answer = false;     // an outage: the caller's deadline decides
        std::string_view decision;  // forces this decision; empty = by the rules
        Effect forced;              // counted where the rules had decided otherwise
    };
    virtual RpcFault kernel_call(const CallScope& scope) = 0;
    virtual RpcFault output_call(const CallScope& scope) = 0;

    virtual bool worker_silent(NodeId worker) = 0;  // heartbeats stop, work goes on
    virtual bool worker_zombie(NodeId worker) = 0;  // heartbeats go on, work stops
    virtual bool worker_overloaded(NodeId worker) = 0;
};

/// What happened, told as it happens. Answers whether the node lives on: false means that a fault placed on this event has
/// killed it, so an effect announced with When::before must not take place and an answer must not be delivered.
class Trace {
public:
    virtual ~Trace() = default;
    virtual bool emit(const Event& event) = 0;
};

class World {
public:
    virtual ~World() = default;

    /// The clocks of a node, each with its own offset, drift and jumps.
    [[nodiscard]] virtual engine::WallTime wall(NodeId node) const = 0;
    [[nodiscard]] virtual engine::MonoTime monotonic(NodeId node) const = 0;

    using TimerId = std::uint64_t;
    /// Runs `action` on `node` after `delay` by its own clock. A crash of the node drops it, a pause delays it.
    virtual TimerId after(NodeId node, engine::Duration delay, Action action) = 0;
    /// Nothing happens when it has run already.
    virtual void cancel(TimerId timer) = 0;

    /// Registers the server that listens on `node`; it must outlive the world's run.
    virtual void listen(NodeId node, std::string_view service, Server& server) = 0;
    /// Connects to `service` on `server`. `done` runs on the client's node: with the connection, or with nullptr when refused
    /// (nobody listens, or the node is down). During a partition neither happens until it heals: the caller keeps its own
    /// timeout. `listener` must outlive the connection.
    virtual void connect(NodeId client, NodeId server, std::string_view service, ConnectionListener& listener,
                         std::function<void(std::shared_ptr<Connection>)> done) = 0;

    /// The draws of this family ("redis", "workers" ...), made on first use.
    virtual KeyedRng& draws(std::string_view family) = 0;
    virtual Faults& faults() = 0;
    virtual Trace& trace() = 0;
};

}  // namespace lockstep::fakes
