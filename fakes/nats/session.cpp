#include "fakes/nats/session.h"

#include <utility>

#include "fakes/nats/server.h"

namespace lockstep::fakes {

namespace {

constexpr std::uint64_t kEnvelopeMax = 64 * 1024;  // bytes, as the production binding counts

constexpr const char* kNoStream = "stream not found";

// Bytes on the link of what has no payload: a PONG, the INFO of a server, an answer of JetStream's API.
constexpr std::uint64_t kPongBytes = 6;
constexpr std::uint64_t kInfoBytes = 400;
constexpr std::uint64_t kReplyBytes = 200;

NatsReply found_message(const StreamModel::Stored& stored) {
    NatsReply answer;
    answer.sequence = stored.sequence;
    answer.message = stored.message;
    answer.stored_at = engine::WallTime(stored.time.time_since_epoch());
    return answer;
}

}  // namespace

NatsSession::NatsSession(NatsServer& server, std::uint64_t id, std::shared_ptr<Connection> connection, NodeId client)
    : server_(server),
      id_(id),
      connection_(std::move(connection)),
      outgoing_(std::make_shared<Outgoing>(
          server.world(), server.options().node, server.options().outgoing,
          [&server, id](std::string_view limit, std::uint64_t bytes) { server.hang_up(id, limit, bytes); })),
      client_(client) {}

template <class Arrival>
void NatsSession::send(std::uint64_t bytes, Arrival arrival) {
    if (!outgoing_->write(bytes)) return;
    auto read = [self = shared_from_this(), bytes, arrival = std::move(arrival)]() mutable {
        if (const auto client = self->read_by(bytes)) arrival(*client);
    };
    if (outgoing_->is_wide()) {
        connection_->send_to_client(std::move(read));
        return;
    }
    outgoing_->when_there_is_room(bytes, [connection = connection_, read = std::move(read)]() mutable {
        connection->send_to_client(std::move(read));
    });
}

std::shared_ptr<NatsPeer> NatsSession::read_by(std::uint64_t bytes) {
    outgoing_->read(bytes);
    return outgoing_->given_up() ? nullptr : peer_.lock();
}

void NatsSession::hello(std::weak_ptr<NatsPeer> peer) {
    peer_ = std::move(peer);
    send(kInfoBytes,
         [self = weak_from_this(), name = server_.process_name(), max_payload = server_.options().max_payload](
             NatsPeer& client) { client.on_welcome(self, name, max_payload); });
}

void NatsSession::ping() {
    heard_ = true;
    send(kPongBytes, [](NatsPeer& client) { client.on_pong(); });
}

void NatsSession::publish(const MessagePtr& message, RequestId request, bool lose_answer) {
    heard_ = true;
    const NatsServer::Taken taken = server_.take(message, client_);
    if (taken.undecided) return;
    NatsReply answer;
    if (taken.stream == nullptr) {
        answer.error = "no responders";
    } else {
        answer.error = taken.ack.error;
        answer.stream = taken.stream->config().name;
        answer.sequence = taken.ack.sequence;
        answer.duplicate = taken.ack.duplicate;
    }
    Event applied = bus_event(EventKind::publish, When::applied, client_, server_.options().node, *message);
    applied.outcome = answer.error.empty() ? EventOutcome::applied : EventOutcome::unknown;
    applied.stream = answer.stream;
    applied.sequence = answer.sequence;
    applied.flag = answer.duplicate;
    const bool lives = server_.world().trace().emit(applied);
    if (lives && !lose_answer) reply(request, std::move(answer));
    server_.pump_all(message->subject);
}

void NatsSession::publish_core(const MessagePtr& message) {
    heard_ = true;
    server_.take(message, client_);
    server_.pump_all(message->subject);
}

void NatsSession::read(RequestId request, const std::string& stream, const std::string& subject, std::uint64_t from) {
    heard_ = true;
    NatsReply answer;
    if (StreamModel* found = server_.jetstream().stream(stream)) {
        const StreamModel::Stored* stored = found->next(found->filter(subject), from, server_.now());
        if (stored != nullptr) answer = found_message(*stored);
    } else {
        answer.error = kNoStream;
    }
    reply(request, std::move(answer));
}

void NatsSession::read_message(RequestId request, const std::string& stream, std::uint64_t sequence) {
    heard_ = true;
    NatsReply answer;
    if (StreamModel* found = server_.jetstream().stream(stream)) {
        const StreamModel::Stored* stored = found->find(sequence, server_.now());
        if (stored != nullptr) answer = found_message(*stored);
    } else {
        answer.error = kNoStream;
    }
    reply(request, std::move(answer));
}

void NatsSession::stream_state(RequestId request, const std::string& stream) {
    heard_ = true;
    NatsReply answer;
    if (const StreamModel* found = server_.jetstream().stream(stream)) {
        answer.state = {engine::StreamSequence(found->first_sequence()), engine::StreamSequence(found->last_sequence()),
                        engine::WallTime(found->created().time_since_epoch()), found->config().max_messages != 0,
                        !server_.jetstream().leader().empty()};
    } else {
        answer.error = kNoStream;
    }
    reply(request, std::move(answer));
}

void NatsSession::consumer_state(RequestId request, const std::string& stream, const std::string& durable) {
    heard_ = true;
    NatsReply answer;
    if (server_.jetstream().stream(stream) == nullptr) {
        answer.error = kNoStream;
    } else if (ConsumerModel* found = server_.jetstream().consumer(stream, durable)) {
        answer.consumer = engine::ConsumerState{found->waiting(server_.now()), found->pending(),
                                                engine::StreamSequence(found->ack_floor()),
                                                server_.jetstream().leader(), found->deployment()};
    }
    reply(request, std::move(answer));
}

void NatsSession::ensure_consumer(RequestId request, const engine::ConsumerSpec& spec) {
    heard_ = true;
    if (!server_.has_quorum()) return;
    const ConsumerConfig config{.name = spec.durable,
                                .filter_subject = spec.subject,
                                .deliver_group = spec.queue,
                                .ack_wait = spec.ack_wait,
                                .max_deliver = spec.max_deliver,
                                .max_ack_pending = spec.max_ack_pending};
    JetStreamModel::Ensured ensured = server_.jetstream().ensure_consumer(spec.stream, config);
    if (ensured.consumer != nullptr && !ensured.consumer->belong_to(spec.deployment))
        ensured = {nullptr, fmt::format("the durable consumer {} belongs to deployment {}, wanted {}", spec.durable,
                                        ensured.consumer->deployment(), spec.deployment)};
    if (ensured.consumer != nullptr && spec.rate_limit_bps > 0) {
        // Before a durable gets a rate, the binding gives its stream's messages room in it.
        StreamModel& stream = *server_.jetstream().stream(spec.stream);
        if (stream.config().max_message_size == 0)
            stream.limit_message_size(2 * server_.options().max_payload + kEnvelopeMax);
        ensured.consumer->limit_rate(spec.rate_limit_bps);
    }
    reply(request, NatsReply{.error = ensured.error});
}

void NatsSession::subscribe(std::uint64_t sid, const std::string& pattern, const std::string& queue) {
    heard_ = true;
    subscribed_.emplace(sid, Subscribed{pattern, queue, false});
    server_.subscriptions().add({id_, sid}, pattern, queue);
}

void NatsSession::bind(std::uint64_t sid, const std::string& stream, const std::string& durable) {
    heard_ = true;
    subscribed_.emplace(sid, Subscribed{stream, durable, true});
    server_.join(stream, durable, {id_, sid});
}

void NatsSession::unsubscribe(std::uint64_t sid) {
    heard_ = true;
    const auto found = subscribed_.find(sid);
    if (found == subscribed_.end()) return;
    const Subscribed was = std::move(found->second);
    subscribed_.erase(found);
    if (was.durable) {
        server_.leave(was.pattern, was.queue, {id_, sid});
    } else {
        server_.subscriptions().remove({id_, sid}, was.pattern, was.queue);
    }
}

void NatsSession::answer(std::shared_ptr<const HandedMessage> handed, DeliveryAnswer answer) {
    heard_ = true;
    World& world = server_.world();
    const MessageScope about{handed->message->subject, handed->message->job()};
    engine::Duration late{};
    if (answer.kind != EventKind::in_progress) {
        if (world.faults().lose_ack(about)) return;
        late = world.faults().delay_ack(about);
    }
    if (late <= engine::Duration::zero()) {
        server_.apply(*handed, answer, client_);
        return;
    }
    world.after(server_.options().node, late,
                [&server = server_, handed = std::move(handed), answer, client = client_] {
                    server.apply(*handed, answer, client);
                });
}

void NatsSession::reply(RequestId request, NatsReply reply) {
    if (!server_.has_quorum()) return;
    const std::uint64_t bytes = kReplyBytes + (reply.message ? reply.message->payload.size() : 0);
    send(bytes,
         [request, reply = std::move(reply)](NatsPeer& client) mutable { client.on_reply(request, std::move(reply)); });
}

void NatsSession::send_core(std::uint64_t sid, const MessagePtr& message) {
    send(core_bytes(*message), [sid, message](NatsPeer& client) { client.on_core(sid, message); });
}

void NatsSession::send_delivery(std::uint64_t sid, const MessagePtr& message, const DeliveryReceipt& receipt) {
    send(delivery_bytes(*message),
         [sid, message, receipt](NatsPeer& client) { client.on_delivery(sid, message, receipt); });
}

int NatsSession::count_silence() {
    silence_ = heard_ ? 0 : silence_ + 1;
    heard_ = false;
    return silence_;
}

void NatsSession::end() {
    ended_ = true;
    outgoing_->end();
    while (!subscribed_.empty()) unsubscribe(subscribed_.begin()->first);
}

void NatsSession::on_broken() { server_.drop(id_); }

}  // namespace lockstep::fakes
