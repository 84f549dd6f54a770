// The bus port: NATS JetStream and core NATS. Payloads are bytes; encoding, corrupt packets and unknown fields are the
// engine's business and so run in the simulation.
//
// What a failed publish means:
//   - the connection was down and no byte left this client        -> not applied
//   - anything else, a stream's error acknowledgement or "no      -> unknown: core subscribers see a message whatever
//     responders" included                                            the stream then decides about it
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/outcome.h"
#include "engine/runtime/task.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// The stream's acknowledgement of one publish.
struct PublishAck {
    std::string stream;
    StreamSequence sequence;
    bool duplicate = false;        // the stream already held this message id and stored nothing
    std::uint64_t connection = 0;  // the connection that carried it
};

/// A message found in a stream.
struct StoredMessage {
    StreamSequence sequence;
    std::string message_id;  // empty when it was published without one
    std::string payload;
    std::string subject;
    WallTime stored_at{};  // by the server's clock
};

struct StreamState {
    StreamSequence first_sequence;  // of the oldest message still held; last_sequence + 1 when there is none
    StreamSequence last_sequence;
    WallTime created{};  // another time is another stream of that name: its numbers mean nothing to the former one's
    /// Its messages or their bytes have a limit: one that it does not hold it may have refused, or dropped, after subscribers
    /// had it.
    bool limited = false;
    /// Held by servers of a cluster: subscribers have a message before the stream has a quorum for it, so one that it does not hold
    /// they may have had.
    bool clustered = false;
};

/// What a durable has still to do, counted in messages of its subject.
struct ConsumerState {
    std::uint64_t waiting = 0;  // never delivered so far
    std::uint64_t in_hand = 0;  // delivered and without an answer; what waits for its next delivery counts too
    StreamSequence ack_floor;   // no message of the stream at or below this sequence is in hand
    std::string leader{};       // the server of a cluster that leads it; empty for a server on its own
    std::string deployment{};   // the one that its description names; empty where it names none
};

/// One delivery of a stream message to a durable consumer, not yet acknowledged. The answers below are sent and not
/// waited for: the consumer may miss any of them, and then delivers again. Each says so by returning nothing; at most
/// one of ack, nak and term is sent, later ones are ignored.
class Delivery {
public:
    virtual ~Delivery() = default;

    [[nodiscard]] virtual std::string_view subject() const = 0;
    [[nodiscard]] virtual std::string_view payload() const = 0;
    [[nodiscard]] virtual std::string_view stream() const = 0;
    [[nodiscard]] virtual StreamSequence sequence() const = 0;
    /// 1 for the first delivery; 0 when the server gave no metadata.
    [[nodiscard]] virtual std::uint64_t delivery_count() const = 0;

    virtual void ack() = 0;
    /// Asks for redelivery after `delay` (at once when zero).
    virtual void nak(Duration delay) = 0;
    /// No further delivery.
    virtual void term() = 0;
    /// Starts the ack wait afresh.
    virtual void in_progress() = 0;
};

/// Receives deliveries, on the executor, one call per message, never inside another step.
class DeliverySink {
public:
    virtual ~DeliverySink() = default;
    virtual void on_delivery(std::unique_ptr<Delivery> delivery) = 0;
};

/// Receives core NATS messages; there is nothing to acknowledge.
class MessageSink {
public:
    virtual ~MessageSink() = default;
    virtual void on_message(std::string_view subject, std::string_view payload) = 0;
};

/// How long a stream knows a message again by its id. Whoever makes streams gives them this window.
inline constexpr Duration kDuplicateWindow = std::chrono::minutes{2};

/// A durable push consumer with a deliver group, created if missing and bound to; never deleted by this client.
struct ConsumerSpec {
    std::string stream;
    std::string subject;
    std::string queue;    // deliver group
    std::string durable;  // wire::durable_name(queue, subject)
    Duration ack_wait{};
    int max_deliver = 0;
    int max_ack_pending = 0;
    /// Given to a durable that has no limit of its own, in place; 0 leaves it alone. A server that refuses the change is
    /// told of, and the durable is used as it is.
    std::int64_t rate_limit_bps = 0;
    /// The deployment that reads the durable; empty: not compared. A durable whose description names none is given this one in
    /// place. A server that refuses the change is told of, and the durable is used as it is.
    std::string deployment{};
};

/// Keeps a subscription alive. Destroying it stops delivery to this process at once; what the server has handed out and
/// nobody acknowledged is delivered again after its ack wait, here or elsewhere.
class Subscription {
public:
    virtual ~Subscription() = default;
};

/// The binding to a durable.
class Consumption : public Subscription {
public:
    /// The server hands out nothing more to this process; what is on its way still arrives. The durable goes on serving the
    /// others of its deliver group.
    virtual void pause() = 0;
    virtual void resume() = 0;
};

struct BusConnection {
    bool connected = false;
    std::uint64_t id = 0;           // grows by one with every connection made; 0 before the first
    std::string server{};           // the process at its other end: another name after every restart of the server
    std::uint64_t max_payload = 0;  // bytes of one message, as that server says; 0 before the first connection
};

class Bus {
public:
    virtual ~Bus() = default;

    /// Publishes to the stream that binds `subject` and waits for its acknowledgement. An empty `message_id` means none.
    [[nodiscard]] virtual Task<Outcome<PublishAck>> publish(std::string subject, std::string payload,
                                                            std::string message_id, MonoTime deadline) = 0;
    /// Core publish: applied means that the bytes were handed to a live connection, not that anybody got them.
    [[nodiscard]] virtual Task<Outcome<Done>> publish_core(std::string subject, std::string payload) = 0;

    // Reads: *unknown* and *not applied* both mean that nothing was learnt. What was learnt, the server of the connection
    // that was there when the call began has said.

    /// The first message on exactly `subject`, or on any where it is empty, in `stream` at or after `from_sequence`; nothing
    /// when there is none.
    [[nodiscard]] virtual Task<Outcome<std::optional<StoredMessage>>> read_stream(std::string stream,
                                                                                  std::string subject,
                                                                                  StreamSequence from_sequence,
                                                                                  MonoTime deadline) = 0;
    /// The message of that number; nothing when the stream does not hold it (any more).
    [[nodiscard]] virtual Task<Outcome<std::optional<StoredMessage>>> read_message(std::string stream,
                                                                                   StreamSequence sequence,
                                                                                   MonoTime deadline) = 0;
    [[nodiscard]] virtual Task<Outcome<StreamState>> stream_state(std::string stream, MonoTime deadline) = 0;
    /// Nothing when there is no such durable.
    [[nodiscard]] virtual Task<Outcome<std::optional<ConsumerState>>> consumer_state(std::string stream,
                                                                                     std::string durable,
                                                                                     MonoTime deadline) = 0;

    /// Makes sure that the durable exists with these settings, binds to it and delivers to `sink` (which must outlive the
    /// subscription). A durable that exists with other settings, or for another deployment, is *not applied*, naming the
    /// difference.
    [[nodiscard]] virtual Task<Outcome<std::unique_ptr<Consumption>>> consume(ConsumerSpec spec, DeliverySink& sink,
                                                                              MonoTime deadline) = 0;
    /// Core subscription. With an empty `queue` every subscriber gets a copy, otherwise one of the group.
    [[nodiscard]] virtual std::unique_ptr<Subscription> subscribe(std::string subject, std::string queue,
                                                                  MessageSink& sink) = 0;

    [[nodiscard]] virtual BusConnection connection() const = 0;
};

}  // namespace lockstep::engine
