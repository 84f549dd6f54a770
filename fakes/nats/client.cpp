#include "fakes/nats/client.h"

#include <utility>

#include "engine/runtime/one_shot.h"

namespace lockstep::fakes {

using engine::Done;
using engine::FailureCause;
using engine::MonoTime;
using engine::NotApplied;
using engine::Outcome;
using engine::Task;
using engine::Unknown;

namespace {

/// Of core messages as well, which nobody pauses.
class NatsSubscription final : public engine::Consumption {
public:
    NatsSubscription(std::weak_ptr<ClientCore> core, std::uint64_t sid) : core_(std::move(core)), sid_(sid) {}
    ~NatsSubscription() override {
        if (const auto core = core_.lock()) core->unsubscribe(sid_);
    }
    void pause() override {
        if (const auto core = core_.lock()) core->pause(sid_);
    }
    void resume() override {
        if (const auto core = core_.lock()) core->resume(sid_);
    }

private:
    std::weak_ptr<ClientCore> core_;
    std::uint64_t sid_;
};

std::optional<engine::StoredMessage> message_of(const NatsReply& reply) {
    if (!reply.message) return std::nullopt;
    return engine::StoredMessage{engine::StreamSequence(reply.sequence), reply.message->message_id,
                                 reply.message->payload, reply.message->subject, reply.stored_at};
}

/// The library refuses it before it writes a byte; the server would hang up.
bool is_too_large(const BusMessage& message, const engine::BusConnection& connection) {
    return connection.connected && header_bytes(message) + message.payload.size() > connection.max_payload;
}

NotApplied too_large() { return NotApplied{{FailureCause::refused, "maximum payload exceeded"}}; }
NotApplied not_connected() { return NotApplied{{FailureCause::disconnected, "not connected"}}; }

/// The rest of a task whose node has died: it is destroyed with the node and must not do anything before.
Task<void> until_destroyed() {
    engine::OneShot<Done> never;
    co_await never.receive();
}

CallScope scope_of(const BusMessage& message) {
    return {.script = {}, .key = {}, .job = {}, .payload = message.payload};
}

EventOutcome outcome_of(engine::OutcomeKind kind) {
    switch (kind) {
        case engine::OutcomeKind::applied: return EventOutcome::applied;
        case engine::OutcomeKind::not_applied: return EventOutcome::not_applied;
        case engine::OutcomeKind::unknown: return EventOutcome::unknown;
    }
    return EventOutcome::none;
}

}  // namespace

NatsClient::NatsClient(World& world, NatsServer& server, NodeId node, NatsClientOptions options)
    : world_(world), node_(node), core_(std::make_shared<ClientCore>(world, server, node, options)) {
    core_->start();
}

NatsClient::~NatsClient() { core_->shut_down(); }

template <class Ask>
Task<Outcome<NatsReply>> NatsClient::request(Ask ask, MonoTime deadline) {
    if (!core_->connection().connected) co_return not_connected();
    if (world_.monotonic(node_) >= deadline) co_return NotApplied{{FailureCause::timeout, "no time left to send"}};
    ClientCore::Request request(*core_);
    core_->send([ask = std::move(ask), id = request.id()](NatsSession& session) { ask(session, id); });
    co_await request.ended_by(deadline);
    if (request.reply) co_return std::move(*request.reply);
    if (request.broken) co_return Unknown{{FailureCause::disconnected, "connection lost"}, request.connection()};
    co_return Unknown{{FailureCause::timeout, "no answer in time"}, request.connection()};
}

MessagePtr NatsClient::sealed(std::shared_ptr<BusMessage> message) {
    if (world_.faults().corrupt({message->subject, message->job()}, message->payload)) message->decode();
    return message;
}

Task<Outcome<NatsReply>> NatsClient::publish_and_wait(MessagePtr message, CallFault fault, MonoTime deadline) {
    if (fault == CallFault::not_applied) co_return NotApplied{{FailureCause::disconnected, "could not be sent"}};
    // What a living connection carries arrives: a message is lost only with it.
    if (fault == CallFault::lost) core_->cut();
    auto ask = [message = std::move(message), fault](NatsSession& session, RequestId id) {
        session.publish(message, id, fault == CallFault::unknown);
    };
    co_return co_await request(std::move(ask), deadline);
}

Task<Outcome<engine::PublishAck>> NatsClient::publish(std::string subject, std::string payload, std::string message_id,
                                                      MonoTime deadline) {
    auto message = make_message(std::move(subject), std::move(payload), std::move(message_id));
    const bool sends =
        world_.trace().emit(bus_event(EventKind::publish, When::before, node_, core_->server_node(), *message));
    if (!sends) co_await until_destroyed();

    const bool refused = is_too_large(*message, core_->connection());
    const bool connected = core_->connection().connected && !refused;
    const CallFault fault =
        connected ? world_.faults().publish(node_, message->subject, scope_of(*message)) : CallFault::none;
    const bool leaves = connected && fault != CallFault::not_applied && fault != CallFault::lost;
    const MessagePtr sent = leaves ? sealed(std::move(message)) : message;
    const std::uint64_t connection = core_->connection().id;
    Outcome<NatsReply> answer = too_large();
    if (!refused) answer = co_await publish_and_wait(sent, fault, deadline);
    // A message that the stream refused has reached the core subscribers all the same.
    if (answer.applied() && !answer.value().error.empty()) {
        answer = Unknown{{FailureCause::refused, answer.value().error}, connection};
    }

    Event answered = bus_event(EventKind::publish, When::answered, node_, core_->server_node(), *sent);
    answered.outcome = outcome_of(answer.kind());
    if (answer.applied()) {
        answered.stream = answer.value().stream;
        answered.sequence = answer.value().sequence;
        answered.flag = answer.value().duplicate;
    }
    const bool lives = world_.trace().emit(answered);
    if (!lives) co_await until_destroyed();
    if (!answer.applied()) co_return answer.failure_as<engine::PublishAck>();
    NatsReply& ack = answer.value();
    co_return engine::PublishAck{std::move(ack.stream), engine::StreamSequence(ack.sequence), ack.duplicate,
                                 connection};
}

Task<Outcome<Done>> NatsClient::publish_core(std::string subject, std::string payload) {
    auto message = make_message(std::move(subject), std::move(payload));
    const bool sends =
        world_.trace().emit(bus_event(EventKind::core_publish, When::before, node_, core_->server_node(), *message));
    if (!sends) co_await until_destroyed();

    const engine::BusConnection connection = core_->connection();
    const bool refused = connection.connected && is_too_large(*message, connection);
    const bool may_leave = connection.connected && !refused;
    const CallFault fault =
        may_leave ? world_.faults().publish(node_, message->subject, scope_of(*message)) : CallFault::none;
    const bool leaves = may_leave && fault != CallFault::not_applied;
    const bool lost = fault == CallFault::lost;
    const auto sent = leaves && !lost ? sealed(std::move(message)) : MessagePtr(std::move(message));
    if (lost) core_->cut();
    if (leaves) core_->send([sent](NatsSession& session) { session.publish_core(sent); });
    // Nobody acknowledges it: all that the caller ever learns is whether it has been written.
    Outcome<Done> outcome = Done{};
    if (refused)
        outcome = too_large();
    else if (!connection.connected)
        outcome = not_connected();
    else if (fault == CallFault::not_applied)
        outcome = NotApplied{{FailureCause::disconnected, "could not be sent"}};
    else if (lost || fault == CallFault::unknown)
        outcome = Unknown{{FailureCause::disconnected, "cut off while sending"}, connection.id};
    Event answered = bus_event(EventKind::core_publish, When::answered, node_, core_->server_node(), *sent);
    answered.outcome = outcome_of(outcome.kind());
    const bool lives = world_.trace().emit(answered);
    if (!lives) co_await until_destroyed();
    co_return outcome;
}

Task<Outcome<std::optional<engine::StoredMessage>>> NatsClient::read_stream(std::string stream, std::string subject,
                                                                            engine::StreamSequence from_sequence,
                                                                            MonoTime deadline) {
    using Found = std::optional<engine::StoredMessage>;
    auto ask = [stream, subject = std::move(subject), from = from_sequence.value()](
                   NatsSession& session, RequestId id) { session.read(id, stream, subject, from); };
    Outcome<NatsReply> answer = co_await request(std::move(ask), deadline);
    if (!answer.applied()) co_return answer.failure_as<Found>();
    if (!answer.value().error.empty()) co_return NotApplied{{FailureCause::refused, answer.value().error}};
    auto found = message_of(answer.value());
    if (found && !tell_read(*answer.value().message, stream, found->sequence))
        co_return NotApplied{{FailureCause::disconnected, "the node is down"}};
    co_return found;
}

bool NatsClient::tell_read(const BusMessage& message, const std::string& stream, engine::StreamSequence sequence) {
    Event event = bus_event(EventKind::read_back, When::applied, node_, core_->server_node(), message);
    event.stream = stream;
    event.sequence = sequence.value();
    return world_.trace().emit(event);
}

Task<Outcome<std::optional<engine::StoredMessage>>> NatsClient::read_message(std::string stream,
                                                                             engine::StreamSequence sequence,
                                                                             MonoTime deadline) {
    using Found = std::optional<engine::StoredMessage>;
    auto ask = [stream, sequence](NatsSession& session, RequestId id) {
        session.read_message(id, stream, sequence.value());
    };
    Outcome<NatsReply> answer = co_await request(std::move(ask), deadline);
    if (!answer.applied()) co_return answer.failure_as<Found>();
    if (!answer.value().error.empty()) co_return NotApplied{{FailureCause::refused, answer.value().error}};
    const MessagePtr& message = answer.value().message;
    if (message && !tell_read(*message, stream, sequence))
        co_return NotApplied{{FailureCause::disconnected, "the node is down"}};
    co_return message_of(answer.value());
}

Task<Outcome<engine::StreamState>> NatsClient::stream_state(std::string stream, MonoTime deadline) {
    auto ask = [stream = std::move(stream)](NatsSession& session, RequestId id) { session.stream_state(id, stream); };
    Outcome<NatsReply> answer = co_await request(std::move(ask), deadline);
    if (!answer.applied()) co_return answer.failure_as<engine::StreamState>();
    if (!answer.value().error.empty()) co_return NotApplied{{FailureCause::refused, answer.value().error}};
    co_return answer.value().state;
}

Task<Outcome<std::optional<engine::ConsumerState>>> NatsClient::consumer_state(std::string stream, std::string durable,
                                                                               MonoTime deadline) {
    using Found = std::optional<engine::ConsumerState>;
    auto ask = [stream = std::move(stream), durable = std::move(durable)](NatsSession& session, RequestId id) {
        session.consumer_state(id, stream, durable);
    };
    Outcome<NatsReply> answer = co_await request(std::move(ask), deadline);
    if (!answer.applied()) co_return answer.failure_as<Found>();
    if (!answer.value().error.empty()) co_return NotApplied{{FailureCause::refused, answer.value().error}};
    co_return answer.value().consumer;
}

Task<Outcome<std::unique_ptr<engine::Consumption>>> NatsClient::consume(engine::ConsumerSpec spec,
                                                                        engine::DeliverySink& sink, MonoTime deadline) {
    using Bound = std::unique_ptr<engine::Consumption>;
    const auto shared = std::make_shared<const engine::ConsumerSpec>(std::move(spec));
    auto ask = [shared](NatsSession& session, RequestId id) { session.ensure_consumer(id, *shared); };
    Outcome<NatsReply> answer = co_await request(std::move(ask), deadline);
    if (!answer.applied()) co_return answer.failure_as<Bound>();
    if (!answer.value().error.empty()) co_return NotApplied{{FailureCause::refused, answer.value().error}};
    co_return Bound(std::make_unique<NatsSubscription>(core_, core_->bind(shared, sink)));
}

std::unique_ptr<engine::Subscription> NatsClient::subscribe(std::string subject, std::string queue,
                                                            engine::MessageSink& sink) {
    return std::make_unique<NatsSubscription>(core_, core_->subscribe(std::move(subject), std::move(queue), sink));
}

}  // namespace lockstep::fakes
