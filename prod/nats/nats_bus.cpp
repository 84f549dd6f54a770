#include "prod/nats/nats_bus.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/subjects.h"
#include "prod/nats/nats_delivery.h"

namespace lockstep::prod {

using engine::FailureCause;
using engine::NotApplied;
using engine::Outcome;
using engine::Unknown;

namespace {

/// nats-server gives a durable's rate room for one message of the stream's `max_msg_size`, or of `max_payload` where there is
/// none, and counts subject and reply subject as well: what is larger is never delivered, and nothing behind it (2.9.10).
constexpr std::uint64_t kEnvelopeMax = 64 * 1024;  // bytes; a protocol line may have 4 KiB
constexpr engine::Duration kBindingTimeout = std::chrono::seconds(5);
/// How long a stream of a cluster is asked once, and the pause until it is asked again, while it may have no leader.
constexpr engine::Duration kLeaderTimeout = std::chrono::seconds(2);
constexpr engine::Duration kLeaderPause = std::chrono::milliseconds(250);
/// A server that may not answer, because this user may not ask, is not waited for longer.
constexpr engine::Duration kLimitTimeout = std::chrono::seconds(1);
/// A consumer stays paused at most this long because the server does not say how far it has come.
constexpr engine::Duration kResumeTimeout = std::chrono::seconds(2);
/// Messages of the stream, those of other subjects included, that one pause looks at; what lies beyond costs an ack wait.
constexpr std::uint64_t kHandedBackMax = 10'000;

std::string text_of(const jetstream::ApiError& error) {
    return error.code == 0 ? error.description : fmt::format("{} ({})", error.description, error.err_code);
}

/// Of a cluster without a leader, or of which too few servers are there yet.
bool is_passing(const jetstream::ApiError& error) {
    return error.code == jetstream::kUnavailable || error.err_code == jetstream::kErrNoPeers;
}

template <class T>
NotApplied refused(std::string_view what, const jetstream::Answer<T>& answer) {
    return NotApplied{{FailureCause::refused, fmt::format("{}: {}", what, text_of(answer.error()))}};
}

}  // namespace

/// What a subscription handle and the task that looks after it share.
class NatsBus::Consumer {
public:
    Consumer(engine::ConsumerSpec wanted, engine::DeliverySink& receiver) : spec(std::move(wanted)), sink(&receiver) {}

    engine::ConsumerSpec spec;
    engine::DeliverySink* sink;  // null once the subscription has ended
    std::string deliver_subject;
    bool durable = false;  // plain NATS keeps nothing back for a paused subscriber: what it does not take is lost
    bool paused = false;
    std::unique_ptr<engine::Consumption> subscription;  // paused for a moment longer than `paused` says
    engine::WaitQueue changed;                          // a pause or the subscription has ended
    std::uint64_t last_received = 0;                    // by its number in the stream
};

class NatsBus::ConsumerHandle final : public engine::Consumption {
public:
    explicit ConsumerHandle(std::shared_ptr<Consumer> consumer) : consumer_(std::move(consumer)) {}
    ~ConsumerHandle() override {
        consumer_->sink = nullptr;
        consumer_->subscription.reset();
        consumer_->changed.wake_all();
    }
    void pause() override {
        consumer_->paused = true;
        if (consumer_->durable) consumer_->subscription->pause();
    }
    void resume() override {
        if (std::exchange(consumer_->paused, false)) consumer_->changed.wake_all();
    }

private:
    std::shared_ptr<Consumer> consumer_;
};

tl::expected<std::unique_ptr<NatsBus>, std::string> NatsBus::connect(UvLoop& loop, NatsOptions options) {
    auto connection = NatsConnection::connect(loop, options);
    if (!connection) return tl::make_unexpected(connection.error());
    return std::unique_ptr<NatsBus>(new NatsBus(loop, std::move(options), std::move(*connection)));
}

tl::expected<std::unique_ptr<NatsBus>, std::string> NatsBus::connect_in_background(UvLoop& loop, NatsOptions options) {
    auto connection = NatsConnection::connect_in_background(loop, options);
    if (!connection) return tl::make_unexpected(connection.error());
    return std::unique_ptr<NatsBus>(new NatsBus(loop, std::move(options), std::move(*connection)));
}

NatsBus::NatsBus(UvLoop& loop, NatsOptions options, std::shared_ptr<NatsConnection> connection)
    : loop_(loop), options_(std::move(options)), connection_(std::move(connection)), scope_(loop) {
    connection_->on_established([this] { reconnected_.wake_all(); });
}

NatsBus::~NatsBus() {
    scope_.cancel();
    connection_->close();
}

void NatsBus::on_event(std::function<void(bool, const std::string&)> listener) {
    connection_->on_event(std::move(listener));
}

void NatsBus::on_problem(std::function<void(const std::string&)> listener) {
    problem_ = std::move(listener);
    connection_->on_problem(problem_);
}

void NatsBus::on_given_up(std::function<void(const std::string&)> listener) {
    connection_->on_given_up(std::move(listener));
}

void NatsBus::close() { connection_->close(); }

engine::Task<tl::expected<void, std::string>> NatsBus::prepare(engine::MonoTime deadline) {
    while (true) {
        auto prepared = co_await prepare_once(std::min(deadline, loop_.monotonic() + kBindingTimeout));
        if (prepared) co_return tl::expected<void, std::string>();
        const engine::MonoTime next = loop_.monotonic() + kLeaderPause;
        if (!prepared.error().passing || next >= deadline)
            co_return tl::make_unexpected(std::move(prepared.error().text));
        co_await reconnected_.wait_until(next);
    }
}

engine::Task<NatsBus::Prepared> NatsBus::prepare_once(engine::MonoTime deadline) {
    if (!options_.jetstream) co_return Prepared();
    const auto info = co_await connection_->request("$JS.API.INFO", "", "", deadline);
    if (!info.applied())
        co_return tl::make_unexpected(PrepareFailure{
            fmt::format(
                "JetStream does not answer ({}). Start nats-server with -js, or set NATS_USE_JETSTREAM=false for "
                "at-most-once delivery",
                info.failure().detail),
            true});
    if (const auto status = jetstream::parse_status(info.value().payload); !status)
        co_return tl::make_unexpected(
            PrepareFailure{fmt::format("JetStream is not available to this user: {}", text_of(status.error())),
                           is_passing(status.error())});
    jetstream::StreamSpec sys{std::string(engine::wire::kStreamSys), {"sys.>"}, options_.max_age, options_.replicas};
    jetstream::StreamSpec jobs{
        std::string(engine::wire::kStreamJobs), {"job.>", "worker.*.jobs"}, options_.max_age, options_.replicas};
    auto first = co_await prepare_stream(std::move(sys), deadline);
    if (!first) co_return first;
    auto second = co_await prepare_stream(std::move(jobs), deadline);
    co_return second;
}

engine::Task<NatsBus::Prepared> NatsBus::prepare_stream(jetstream::StreamSpec spec, engine::MonoTime deadline) {
    const auto found = co_await connection_->request("$JS.API.STREAM.INFO." + spec.name, "", "", deadline);
    if (found.applied() && jetstream::parse_status(found.value().payload)) co_return Prepared();
    const std::string body = jetstream::stream_create(spec);
    const auto made = co_await connection_->request("$JS.API.STREAM.CREATE." + spec.name, body, "", deadline);
    if (!made.applied())
        co_return tl::make_unexpected(
            PrepareFailure{fmt::format("creating stream {}: {}", spec.name, made.failure().detail), true});
    const auto status = jetstream::parse_status(made.value().payload);
    if (status) co_return Prepared();
    // A replica that started at the same moment may have made it meanwhile.
    const auto again = co_await connection_->request("$JS.API.STREAM.INFO." + spec.name, "", "", deadline);
    if (again.applied() && jetstream::parse_status(again.value().payload)) co_return Prepared();
    co_return tl::make_unexpected(PrepareFailure{
        fmt::format("creating stream {}: {}", spec.name, text_of(status.error())), is_passing(status.error())});
}

engine::Task<tl::expected<std::string, std::string>> NatsBus::ask_api(std::string what, engine::MonoTime deadline) {
    const auto answer = co_await connection_->request("$JS.API." + what, "", "", deadline);
    if (!answer.applied()) co_return tl::make_unexpected(answer.failure().detail);
    co_return answer.value().payload;
}

engine::Task<Outcome<engine::PublishAck>> NatsBus::publish(std::string subject, std::string payload,
                                                           std::string message_id, engine::MonoTime deadline) {
    if (!options_.jetstream) {
        const auto sent = connection_->publish(subject, payload);
        if (!sent.applied()) co_return sent.failure_as<engine::PublishAck>();
        co_return engine::PublishAck{{}, {}, false, sent.value()};
    }
    const std::string to = subject;
    const auto answer =
        co_await connection_->request(std::move(subject), std::move(payload), std::move(message_id), deadline);
    if (!answer.applied()) co_return answer.failure_as<engine::PublishAck>();
    auto ack = jetstream::parse_publish_ack(answer.value().payload);
    // The stream refused it, yet whoever subscribes to the subject has it.
    if (!ack) co_return Unknown{{FailureCause::refused, text_of(ack.error())}, answer.value().connection};
    ack->connection = answer.value().connection;
    if (!ack->duplicate && watch_ && watch_->stored) watch_->stored(to);
    co_return std::move(*ack);
}

engine::Task<Outcome<engine::Done>> NatsBus::publish_core(std::string subject, std::string payload) {
    const auto sent = connection_->publish(subject, payload);
    if (!sent.applied()) co_return sent.failure_as<engine::Done>();
    co_return engine::Done{};
}

engine::Task<Outcome<std::optional<engine::StoredMessage>>> NatsBus::read_stream(std::string stream,
                                                                                 std::string subject,
                                                                                 engine::StreamSequence from_sequence,
                                                                                 engine::MonoTime deadline) {
    if (!options_.jetstream) co_return std::optional<engine::StoredMessage>();
    const auto answer = co_await connection_->request(
        "$JS.API.STREAM.MSG.GET." + stream,
        jetstream::next_by_subject(subject.empty() ? ">" : subject, from_sequence.value()), "", deadline);
    if (!answer.applied()) co_return answer.failure_as<std::optional<engine::StoredMessage>>();
    auto message = jetstream::parse_stored_message(answer.value().payload);
    if (!message) co_return refused(stream, message);
    co_return std::move(*message);
}

engine::Task<Outcome<std::optional<engine::StoredMessage>>> NatsBus::read_message(std::string stream,
                                                                                  engine::StreamSequence sequence,
                                                                                  engine::MonoTime deadline) {
    if (!options_.jetstream) co_return std::optional<engine::StoredMessage>();
    const auto answer = co_await connection_->request("$JS.API.STREAM.MSG.GET." + stream,
                                                      jetstream::by_sequence(sequence.value()), "", deadline);
    if (!answer.applied()) co_return answer.failure_as<std::optional<engine::StoredMessage>>();
    auto message = jetstream::parse_stored_message(answer.value().payload);
    if (!message) co_return refused(stream, message);
    co_return std::move(*message);
}

engine::Task<Outcome<engine::StreamState>> NatsBus::stream_state(std::string stream, engine::MonoTime deadline) {
    if (!options_.jetstream) co_return engine::StreamState{};
    const auto answer = co_await connection_->request("$JS.API.STREAM.INFO." + stream, "", "", deadline);
    if (!answer.applied()) co_return answer.failure_as<engine::StreamState>();
    const auto state = jetstream::parse_stream_state(answer.value().payload);
    if (!state) co_return refused(stream, state);
    co_return *state;
}

engine::Task<Outcome<std::optional<engine::ConsumerState>>> NatsBus::consumer_state(std::string stream,
                                                                                    std::string durable,
                                                                                    engine::MonoTime deadline) {
    if (!options_.jetstream) co_return engine::ConsumerState{};
    const std::string place = fmt::format("{}.{}", stream, durable);
    const auto answer = co_await connection_->request("$JS.API.CONSUMER.INFO." + place, "", "", deadline);
    if (!answer.applied()) co_return answer.failure_as<std::optional<engine::ConsumerState>>();
    const auto state = jetstream::parse_consumer_state(answer.value().payload);
    if (!state) co_return refused(place, state);
    co_return *state;
}

engine::Task<std::uint64_t> NatsBus::message_limit(std::string stream, engine::MonoTime deadline) {
    const auto info = co_await connection_->request("$JS.API.STREAM.INFO." + stream, "", "", deadline);
    if (!info.applied()) co_return 0;
    co_return jetstream::parse_message_limit(info.value().payload).value_or(0);
}

engine::Task<bool> NatsBus::make_room_for_rate(std::string stream, engine::MonoTime deadline) {
    const std::uint64_t largest = connection_->state().max_payload;
    const std::uint64_t needed = largest + kEnvelopeMax;
    const auto info = co_await connection_->request("$JS.API.STREAM.INFO." + stream, "", "", deadline);
    if (!info.applied()) co_return false;
    const auto limit = jetstream::parse_message_limit(info.value().payload);
    if (!limit) co_return false;
    if (*limit >= needed) co_return true;
    std::string why = fmt::format("its own max_msg_size is {} bytes", *limit);
    if (*limit == 0) {
        const auto body = jetstream::stream_update(info.value().payload, 2 * largest + kEnvelopeMax);
        if (!body) co_return false;
        const auto answer = co_await connection_->request("$JS.API.STREAM.UPDATE." + stream, *body, "", deadline);
        if (!answer.applied()) co_return false;
        const auto status = jetstream::parse_status(answer.value().payload);
        if (status) co_return true;
        why = text_of(status.error());
    }
    if (problem_ && cramped_.insert(stream).second)
        problem_(fmt::format(
            "no durable of stream {} is given a rate limit: a message of the largest size ({} bytes) would stop it for "
            "ever unless the stream's max_msg_size is {} or more, and {}. Set it as a user who may, or set the rate to "
            "0",
            stream, largest, needed, why));
    co_return false;
}

// Servers of a cluster do not answer for a stream whose leader is gone, nor later what they were asked meanwhile: it is asked again.
engine::Task<Outcome<jetstream::ConsumerBinding>> NatsBus::find_or_create_in_time(engine::ConsumerSpec spec,
                                                                                  engine::MonoTime deadline) {
    while (true) {
        auto binding = co_await find_or_create(spec, std::min(deadline, loop_.monotonic() + kLeaderTimeout));
        const engine::MonoTime next = loop_.monotonic() + kLeaderPause;
        if (binding.applied() || binding.failure().cause == FailureCause::refused || next >= deadline)
            co_return binding;
        co_await reconnected_.wait_until(next);
    }
}

engine::Task<Outcome<jetstream::ConsumerBinding>> NatsBus::find_or_create(engine::ConsumerSpec spec,
                                                                          engine::MonoTime deadline) {
    std::string place = fmt::format("{}.{}", spec.stream, spec.durable);
    if (spec.rate_limit_bps > 0) {
        const bool room = co_await make_room_for_rate(spec.stream, deadline);
        if (!room) spec.rate_limit_bps = 0;
    }
    const auto found = co_await connection_->request("$JS.API.CONSUMER.INFO." + place, "", "", deadline);
    if (!found.applied()) co_return found.failure_as<jetstream::ConsumerBinding>();
    std::string info = found.value().payload;
    auto binding = jetstream::parse_consumer(info, spec);
    if (!binding && binding.error().code == jetstream::kNotFound &&
        binding.error().err_code != jetstream::kErrStreamNotFound) {
        const std::string body = jetstream::consumer_create(spec);
        const auto made = co_await connection_->request("$JS.API.CONSUMER.DURABLE.CREATE." + place, body, "", deadline);
        if (!made.applied()) co_return made.failure_as<jetstream::ConsumerBinding>();
        info = made.value().payload;
        binding = jetstream::parse_consumer(info, spec);
    }
    if (!binding && is_passing(binding.error()))
        co_return NotApplied{{FailureCause::timeout, fmt::format("{}: {}", place, text_of(binding.error()))}};
    if (!binding) co_return refused(place, binding);
    if (!binding->difference.empty())
        co_return NotApplied{
            {FailureCause::refused,
             fmt::format(
                 "the durable consumer {} exists with other settings: {}. Use the settings of the other replicas, "
                 "or change the durable's in place: lockstepctl consumers set",
                 place, binding->difference)}};
    const std::string owner = binding->deployment;
    if (!spec.deployment.empty() && !owner.empty() && owner != spec.deployment)
        co_return NotApplied{
            {FailureCause::refused,
             fmt::format(
                 "the durable consumer {} belongs to deployment {}, and this Redis to deployment {}: each would "
                 "lack the jobs that the other takes. Give this deployment a NATS, an account or a domain of its "
                 "own; if the other one is gone: lockstepctl consumers adopt --replace",
                 place, owner, spec.deployment)}};
    jetstream::ConsumerChange change;
    if (spec.rate_limit_bps > 0 && binding->rate_limit_bps == 0) change.rate_limit_bps = spec.rate_limit_bps;
    if (owner.empty()) change.deployment = spec.deployment;
    const bool changes = change.rate_limit_bps || !change.deployment.empty();
    if (changes && !unchangeable_.contains(place))
        co_await complete(std::move(place), std::move(change), std::move(info));
    co_return std::move(*binding);
}

engine::Task<tl::expected<std::string, std::string>> NatsBus::change_durable(std::string stream, std::string durable,
                                                                             jetstream::ConsumerChange change,
                                                                             bool apply, engine::MonoTime deadline) {
    const std::string place = fmt::format("{}.{}", stream, durable);
    const auto found = co_await connection_->request("$JS.API.CONSUMER.INFO." + place, "", "", deadline);
    if (!found.applied()) co_return tl::make_unexpected(fmt::format("{}: {}", place, found.failure().detail));
    auto difference = jetstream::parse_difference(found.value().payload, change);
    if (!difference) co_return tl::make_unexpected(fmt::format("{}: {}", place, text_of(difference.error())));
    if (!apply || difference->empty()) co_return std::move(*difference);
    const auto body = jetstream::consumer_update(found.value().payload, change);
    if (!body) co_return tl::make_unexpected(fmt::format("{}: {}", place, text_of(body.error())));
    const auto answer = co_await connection_->request("$JS.API.CONSUMER.DURABLE.CREATE." + place, *body, "", deadline);
    if (!answer.applied()) co_return tl::make_unexpected(fmt::format("{}: {}", place, answer.failure().detail));
    // The server answers with what it made of it.
    const auto left = jetstream::parse_difference(answer.value().payload, change);
    if (!left) co_return tl::make_unexpected(fmt::format("{}: {}", place, text_of(left.error())));
    if (!left->empty())
        co_return tl::make_unexpected(fmt::format("{}: the server left it as it was: {}", place, *left));
    co_return std::move(*difference);
}

engine::Task<void> NatsBus::complete(std::string place, jetstream::ConsumerChange change, std::string info) {
    const auto body = jetstream::consumer_update(info, change);
    if (!body) co_return;
    const auto answer = co_await connection_->request("$JS.API.CONSUMER.DURABLE.CREATE." + place, *body, "",
                                                      loop_.monotonic() + kLimitTimeout);
    std::string why;
    if (answer.applied()) {
        const auto status = jetstream::parse_status(answer.value().payload);
        if (status) co_return;
        why = text_of(status.error());
    } else if (answer.failure().cause == FailureCause::disconnected) {
        co_return;  // tried again on the next connection
    } else {
        why = answer.failure().detail;
    }
    unchangeable_.insert(place);
    if (!problem_) co_return;
    if (change.rate_limit_bps)
        problem_(fmt::format(
            "the durable consumer {} has no rate limit, and it cannot be given one ({}). It is used without: "
            "allow publishing to $JS.API.CONSUMER.DURABLE.CREATE.{}, or run lockstepctl consumers set "
            "--rate-limit {} as a user who may",
            place, why, place, *change.rate_limit_bps));
    if (!change.deployment.empty())
        problem_(
            fmt::format("the durable consumer {} names no deployment, and its description cannot be changed ({}). It "
                        "is used all the "
                        "same, and another deployment on this NATS is not noticed: allow publishing to "
                        "$JS.API.CONSUMER.DURABLE.CREATE.{}, or run lockstepctl consumers adopt as a user who may",
                        place, why, place));
}

void NatsBus::bind(const std::shared_ptr<Consumer>& consumer, const jetstream::ConsumerBinding& binding) {
    consumer->durable = true;
    consumer->last_received = 0;
    consumer->deliver_subject = binding.deliver_subject;
    const std::weak_ptr<Consumer> weak = consumer;
    consumer->subscription = connection_->subscribe(
        binding.deliver_subject, binding.deliver_group,
        [weak, connection = std::weak_ptr<NatsConnection>(connection_), watch = watch_](NatsMessage message) {
            const auto target = weak.lock();
            // Without a reply subject it is a note of the server (a heartbeat of a peer's making), not a message.
            if (!target || target->sink == nullptr || natsMsg_GetReply(message.get()) == nullptr) return;
            auto delivery = std::make_unique<StreamDelivery>(connection, std::move(message), watch);
            target->last_received = std::max(target->last_received, delivery->sequence().value());
            if (watch && watch->delivered) watch->delivered(delivery->payload());
            target->sink->on_delivery(std::move(delivery));
        },
        consumer->paused);
}

engine::Task<Outcome<std::unique_ptr<engine::Consumption>>> NatsBus::consume(engine::ConsumerSpec spec,
                                                                             engine::DeliverySink& sink,
                                                                             engine::MonoTime deadline) {
    auto consumer = std::make_shared<Consumer>(std::move(spec), sink);
    if (!options_.jetstream) {
        if (!connection_->state().connected)
            co_return NotApplied{{FailureCause::disconnected, "not connected to NATS"}};
        const std::weak_ptr<Consumer> weak = consumer;
        consumer->subscription =
            connection_->subscribe(consumer->spec.subject, consumer->spec.queue, [weak](NatsMessage message) {
                const auto target = weak.lock();
                if (target && target->sink != nullptr)
                    target->sink->on_delivery(std::make_unique<CoreDelivery>(std::move(message)));
            });
        std::unique_ptr<engine::Consumption> plain = std::make_unique<ConsumerHandle>(consumer);
        co_return plain;
    }
    auto binding = co_await find_or_create_in_time(consumer->spec, deadline);
    if (!binding.applied()) co_return binding.failure_as<std::unique_ptr<engine::Consumption>>();
    bind(consumer, binding.value());
    if (watch_ && watch_->bound) watch_->bound(consumer->spec);
    scope_.spawn(look_after(consumer));
    scope_.spawn(end_pauses(consumer));
    std::unique_ptr<engine::Consumption> handle = std::make_unique<ConsumerHandle>(consumer);
    co_return handle;
}

engine::Task<void> NatsBus::look_after(std::shared_ptr<Consumer> consumer) {
    while (consumer->sink != nullptr) {
        co_await reconnected_.wait_until(loop_.monotonic() + options_.binding_check);
        if (consumer->sink == nullptr) co_return;
        // A server that has lost its disk has lost the streams, too; the other one besides this consumer's is published to.
        const auto prepared = co_await prepare(loop_.monotonic() + kBindingTimeout);
        if (consumer->sink == nullptr) co_return;
        if (!prepared) {
            if (problem_ && connection_->state().connected) problem_(prepared.error());
            continue;
        }
        const auto binding = co_await find_or_create(consumer->spec, loop_.monotonic() + kBindingTimeout);
        if (consumer->sink == nullptr) co_return;
        if (!binding.applied()) {
            if (problem_ && binding.failure().cause == FailureCause::refused) problem_(binding.failure().detail);
            continue;
        }
        if (binding.value().deliver_subject != consumer->deliver_subject) bind(consumer, binding.value());
    }
}

engine::Task<void> NatsBus::end_pauses(std::shared_ptr<Consumer> consumer) {
    while (consumer->sink != nullptr) {
        co_await consumer->changed.wait_until(engine::MonoTime::max());
        if (consumer->sink == nullptr || consumer->paused) continue;
        co_await hand_back_unreceived(consumer);
        if (consumer->sink != nullptr && !consumer->paused) consumer->subscription->resume();
    }
}

// A server passes deliveries through a queue of its own to whoever is subscribed when their turn comes. Where that is
// nobody, because the last subscriber has paused, they are dropped, and the consumer takes them for delivered until their ack
// wait is over (tried: up to some hundred small messages). Nobody has them, so they can be handed back at once.
engine::Task<void> NatsBus::hand_back_unreceived(std::shared_ptr<Consumer> consumer) {
    if (consumer->last_received == 0) co_return;
    const engine::ConsumerSpec& spec = consumer->spec;
    const auto answer =
        co_await connection_->request(fmt::format("$JS.API.CONSUMER.INFO.{}.{}", spec.stream, spec.durable), "", "",
                                      loop_.monotonic() + kResumeTimeout);
    if (!answer.applied() || consumer->paused) co_return;
    const auto out = jetstream::parse_handed_out(answer.value().payload);
    // While another one is subscribed, whatever came after our last message went there.
    if (!out || out->bound) co_return;
    const std::uint64_t last = std::min(out->stream_sequence, consumer->last_received + kHandedBackMax);
    for (std::uint64_t sequence = consumer->last_received + 1; sequence <= last; ++sequence) {
        const auto subject = jetstream::ack_subject(spec.stream, spec.durable, sequence, out->consumer_sequence);
        if (!connection_->publish(subject, jetstream::nak_body({})).applied()) co_return;
    }
}

std::unique_ptr<engine::Subscription> NatsBus::subscribe(std::string subject, std::string queue,
                                                         engine::MessageSink& sink) {
    return connection_->subscribe(
        subject, queue, [&sink](NatsMessage message) { sink.on_message(subject_of(message), payload_of(message)); });
}

}  // namespace lockstep::prod
