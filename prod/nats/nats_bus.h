// The bus port over NATS JetStream. All of JetStream is asked and answered by messages on the one connection; no call of
// the client library's own JetStream layer is used, because those block.
//
// 1. Consumers are created explicitly and bound to by their deliver subject, so that none is ever deleted by us. Whatever
//    deliver subject an existing durable has is used, a Go peer's inbox included.
// 2. Each binding is looked after: should the durable vanish (a peer may delete the one it created) or deliver elsewhere,
//    it is created or bound to anew.
// 3. Durables are never deleted. What of one differs from what is wanted is changed in place only where that is harmless to
//    every other member (the rate limit, the deployment in its description); the rest is an operator's decision: `lockstepctl consumers set`.
// 4. With JetStream switched off every subject is plain NATS: `publish` hands to the connection, `consume` is a queue
//    subscription without redelivery that cannot be paused (what it did not take would be lost), and streams read as empty.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "engine/ports/bus.h"
#include "engine/runtime/scope.h"
#include "prod/nats/jetstream_api.h"
#include "prod/nats/nats_connection.h"
#include "prod/nats/nats_delivery.h"

namespace lockstep::prod {

class NatsBus final : public engine::Bus {
public:
    /// Connects, blocking: for start-up only.
    static tl::expected<std::unique_ptr<NatsBus>, std::string> connect(UvLoop& loop, NatsOptions options);
    /// For a server that may be away now: see NatsConnection::connect_in_background. What is consumed and subscribed to needs a
    /// connection first, but for core subscriptions.
    static tl::expected<std::unique_ptr<NatsBus>, std::string> connect_in_background(UvLoop& loop, NatsOptions options);
    ~NatsBus() override;
    NatsBus(const NatsBus&) = delete;
    NatsBus& operator=(const NatsBus&) = delete;

    /// Makes sure that JetStream is there and has the two streams of the protocol. A stream of that name is taken as it
    /// is, a cluster that has no leader is waited for up to the deadline. Nothing to do without JetStream. The error says what
    /// to check.
    [[nodiscard]] engine::Task<tl::expected<void, std::string>> prepare(engine::MonoTime deadline);

    /// For operators: changes a durable in place; messages in hand and positions stay. Answers how it differed, empty when it
    /// did not; with `apply` false nothing is changed. The error says what the server said.
    [[nodiscard]] engine::Task<tl::expected<std::string, std::string>> change_durable(std::string stream,
                                                                                      std::string durable,
                                                                                      jetstream::ConsumerChange change,
                                                                                      bool apply,
                                                                                      engine::MonoTime deadline);

    /// For operators: what the JetStream API answers to an empty request for `what`, such as STREAM.INFO.<stream>, an error of the
    /// server included. The error says why there was no answer.
    [[nodiscard]] engine::Task<tl::expected<std::string, std::string>> ask_api(std::string what,
                                                                               engine::MonoTime deadline);

    [[nodiscard]] engine::Task<engine::Outcome<engine::PublishAck>> publish(std::string subject, std::string payload,
                                                                            std::string message_id,
                                                                            engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<engine::Done>> publish_core(std::string subject,
                                                                           std::string payload) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_stream(
        std::string stream, std::string subject, engine::StreamSequence from_sequence,
        engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::StoredMessage>>> read_message(
        std::string stream, engine::StreamSequence sequence, engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<engine::StreamState>> stream_state(std::string stream,
                                                                                  engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::optional<engine::ConsumerState>>> consumer_state(
        std::string stream, std::string durable, engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<engine::Outcome<std::unique_ptr<engine::Consumption>>> consume(
        engine::ConsumerSpec spec, engine::DeliverySink& sink, engine::MonoTime deadline) override;
    [[nodiscard]] std::unique_ptr<engine::Subscription> subscribe(std::string subject, std::string queue,
                                                                  engine::MessageSink& sink) override;
    [[nodiscard]] engine::BusConnection connection() const override { return connection_->state(); }

    /// Bytes of the largest message that the stream takes, headers included; 0: it has no limit of its own, or does not say.
    [[nodiscard]] engine::Task<std::uint64_t> message_limit(std::string stream, engine::MonoTime deadline);

    /// See NatsConnection.
    void on_event(std::function<void(bool connected, const std::string& what)> listener);
    void on_problem(std::function<void(const std::string& what)> listener);
    void on_given_up(std::function<void(const std::string& why)> listener);
    /// For deliveries and calls from now on: to be set before anything is consumed.
    void on_watch(BusWatch watch) { watch_ = std::make_shared<const BusWatch>(std::move(watch)); }
    /// Ends the connection; what is buffered is sent before.
    void close();

private:
    class Consumer;
    class ConsumerHandle;

    NatsBus(UvLoop& loop, NatsOptions options, std::shared_ptr<NatsConnection> connection);

    struct PrepareFailure {
        std::string text;
        bool passing = false;  // as of a cluster without a leader
    };
    using Prepared = tl::expected<void, PrepareFailure>;
    [[nodiscard]] engine::Task<Prepared> prepare_once(engine::MonoTime deadline);
    [[nodiscard]] engine::Task<Prepared> prepare_stream(jetstream::StreamSpec spec, engine::MonoTime deadline);
    /// Sees to it that a rate stops no message of `stream`. False: a durable of it must not get a rate.
    [[nodiscard]] engine::Task<bool> make_room_for_rate(std::string stream, engine::MonoTime deadline);
    /// The durable as it is, created if missing; the first asks again while its stream has no leader.
    [[nodiscard]] engine::Task<engine::Outcome<jetstream::ConsumerBinding>> find_or_create_in_time(
        engine::ConsumerSpec spec, engine::MonoTime deadline);
    [[nodiscard]] engine::Task<engine::Outcome<jetstream::ConsumerBinding>> find_or_create(engine::ConsumerSpec spec,
                                                                                           engine::MonoTime deadline);
    /// Gives the durable at `place`, which `info` describes, what it lacks: a rate limit, its deployment. A refusal is told once; the
    /// durable is used as it is.
    [[nodiscard]] engine::Task<void> complete(std::string place, jetstream::ConsumerChange change, std::string info);
    void bind(const std::shared_ptr<Consumer>& consumer, const jetstream::ConsumerBinding& binding);
    [[nodiscard]] engine::Task<void> look_after(std::shared_ptr<Consumer> consumer);
    /// Subscribes again whenever a pause ends.
    [[nodiscard]] engine::Task<void> end_pauses(std::shared_ptr<Consumer> consumer);
    [[nodiscard]] engine::Task<void> hand_back_unreceived(std::shared_ptr<Consumer> consumer);

    UvLoop& loop_;
    const NatsOptions options_;
    std::shared_ptr<NatsConnection> connection_;
    std::function<void(const std::string&)> problem_;
    std::shared_ptr<const BusWatch> watch_;
    std::set<std::string> unchangeable_;  // durables that the server did not change
    std::set<std::string> cramped_;       // streams in which a rate could stop a message
    engine::WaitQueue reconnected_;
    engine::Scope scope_;  // last: its tasks use everything above
};

}  // namespace lockstep::prod
