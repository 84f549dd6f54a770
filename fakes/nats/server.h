// NatsServer: a simulated nats-server, core NATS and JetStream, on one node. It listens in the world and speaks to
// NatsClients; what streams and consumers do is in JetStreamModel, who gets a core message in SubscriptionTable.
//
// 1. A publish reaches core subscribers first and whatever the stream then decides about it.
// 2. A consumer's deliveries go to one member of its deliver group each, drawn at random, while there is one. What a
//    member that went away had in hand is redelivered after its ack wait, to whoever is there.
// 3. What the server writes down as a time is its wall clock's, as in the real one, and jumps with it: ack waits, naks, ids
//    and ages. Timers run by the monotonic clock. Randomness is the world's stream "nats".
// 4. Streams, consumers' settings and, within StoragePolicy, their contents survive restarts; sessions do not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fakes/nats/held_up.h"
#include "fakes/nats/jetstream_model.h"
#include "fakes/nats/rate_limiter.h"
#include "fakes/nats/session.h"
#include "fakes/nats/subscription_table.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct NatsServerOptions {
    NodeId node;
    std::string service = "nats";
    std::vector<StreamConfig> streams = cap_streams();
    StoragePolicy storage{};
    /// A client that has been silent for more than `pings_out_max` of these is hung up on. Both are the server's defaults.
    engine::Duration ping_interval = std::chrono::minutes(2);
    int pings_out_max = 2;
    std::uint64_t max_payload = 1'048'576;  // bytes of one message; the server's default
    OutgoingLimits outgoing{};              // of each client
    bool clustered = false;                 // says of its consumers which server leads them
};

class NatsServer final : public Server {
public:
    /// Starts listening. Must outlive the world's run and every client.
    NatsServer(World& world, NatsServerOptions options);

    // For the fault plan. While it is down, clients are turned away.

    /// A clean stop, and a start after `down_for`.
    void restart(engine::Duration down_for);
    /// The power fails: what was not synced is lost.
    void power_cut(engine::Duration down_for);
    /// Another server of its cluster leads the consumers from now on, see ConsumerModel, and says so for each. Returns how many
    /// messages come no more.
    std::size_t change_leaders(ConsumerModel::InHand in_hand);
    /// Most of its cluster is away, until `regain_quorum` was called as often. Core messages pass; streams and consumers do nothing,
    /// and answer nobody. What is sent to a stream before its leader has noticed stands in that one's log: if it leads again
    /// afterwards, which is drawn, the stream has it then. May be called within an event.
    void lose_quorum();
    void regain_quorum();
    /// Somebody deletes a stream, with its messages and its durables, and makes it anew. REQUIRES: there is one of that name.
    void make_stream_anew(const std::string& stream);
    /// Hooks for a crash of the node: the process is killed, what it has written stays.
    void on_node_down();
    void on_node_up();

    // For sessions and clients.

    [[nodiscard]] const NatsServerOptions& options() const { return options_; }
    [[nodiscard]] bool up() const { return up_; }
    [[nodiscard]] bool has_quorum() const { return quorums_lost_ == 0; }
    /// Of the process that runs now: another one after every start.
    [[nodiscard]] std::string process_name() const;
    ConnectionListener& on_accept(std::shared_ptr<Connection> connection, NodeId client) override;
    /// The client on `connection` introduces itself.
    void hello(const Connection& connection, std::weak_ptr<NatsPeer> peer);

    [[nodiscard]] World& world() { return world_; }
    [[nodiscard]] JetStreamModel& jetstream() { return jetstream_; }
    [[nodiscard]] SubscriptionTable& subscriptions() { return subscriptions_; }
    /// The wall clock, under the type in which the models count.
    [[nodiscard]] engine::MonoTime now() const {
        return engine::MonoTime(world_.wall(options_.node).time_since_epoch());
    }

    struct Taken {
        const StreamModel* stream = nullptr;  // null: no stream binds the subject
        StreamModel::Ack ack;
        bool undecided = false;  // there is no quorum: nobody is answered
    };
    /// Routes to core subscribers and then to the stream.
    Taken take(const MessagePtr& message, NodeId publisher);
    /// Hands out what the consumers that want `subject` have to deliver now.
    void pump_all(std::string_view subject);

    void join(const std::string& stream, const std::string& durable, SubscriberId member);
    void leave(const std::string& stream, const std::string& durable, SubscriberId member);
    void apply(const HandedMessage& handed, DeliveryAnswer answer, NodeId client);
    /// The session's connection is gone.
    void drop(std::uint64_t session);
    /// The client has let `bytes` wait, which is more than `limit` allows.
    void hang_up(std::uint64_t session, std::string_view limit, std::uint64_t bytes);

private:
    /// A consumer that somebody has bound to, and who is bound to it now.
    struct Bound {
        std::string stream;
        ConsumerModel* consumer = nullptr;
        std::vector<SubscriberId> members;
        HeldUp held_up;
        RateLimiter limiter;
        /// Taken from the consumer, and not to leave before the limiter says so. Nothing overtakes it.
        std::optional<ConsumerModel::Next> slowed;
        World::TimerId slowed_until = 0;
    };

    Bound* bound(const std::string& stream, const std::string& durable);
    void pump(Bound& bound);
    /// In bytes: of the messages that a rate has room for.
    [[nodiscard]] std::uint64_t largest_message(const StreamModel& stream) const;
    /// Whether it may leave now; if not, it leaves later.
    bool within_rate(Bound& bound, const ConsumerModel::Next& next);
    void let_go_slowed(Bound& bound);
    void deliver(Bound& bound, const ConsumerModel::Next& next);
    /// What is drawn for this delivery.
    [[nodiscard]] Rng draw_for(const Bound& bound, const ConsumerModel::Next& next) const;
    void send(Bound& bound, SubscriberId member, const ConsumerModel::Next& next);
    /// Tells of messages that the consumer delivers no more.
    void tell_given_up(Bound& bound);
    /// Faults drop what clients say, and nothing that the server itself has to say.
    enum class From : std::uint8_t { client, server };
    void route_core(const MessagePtr& message, From from = From::client);
    Taken store(StreamModel& stream, const MessagePtr& message, NodeId publisher);
    /// For a while after the quorum is lost somebody still does.
    [[nodiscard]] bool somebody_leads() const;
    /// Without a quorum.
    void propose(const MessagePtr& message, NodeId publisher);
    void settle_proposals();
    [[nodiscard]] std::shared_ptr<NatsSession> session(std::uint64_t id) const;
    void watch_silence(std::uint64_t session);

    void stop(bool hang_up);
    void start_after(engine::Duration down_for);
    void start();
    void arm(const ConsumerModel& consumer);
    void on_timer();

    World& world_;
    const NatsServerOptions options_;
    KeyedRng& draws_;
    JetStreamModel jetstream_;
    SubscriptionTable subscriptions_;
    using BoundMap = std::map<std::pair<std::string, std::string>, Bound>;  // by stream and durable
    BoundMap bound_;
    std::vector<BoundMap::node_type> unbound_;  // of deleted streams; what they held up may be on its way still
    std::map<std::uint64_t, std::shared_ptr<NatsSession>> sessions_;
    /// Sessions that are no more, kept until the next accept: one may be in the middle of a call.
    std::vector<std::shared_ptr<NatsSession>> gone_;
    std::uint64_t last_session_ = 0;
    std::vector<SubscriptionTable::Match> matches_;

    struct Proposal {
        MessagePtr message;
        NodeId publisher;
    };

    bool up_ = true;
    std::uint64_t incarnation_ = 1;
    int quorums_lost_ = 0;
    engine::MonoTime lost_since_;  // by the monotonic clock
    std::vector<Proposal> proposals_;
    std::optional<std::pair<engine::MonoTime, World::TimerId>> timer_;  // for the earliest deadline of a consumer
};

}  // namespace lockstep::fakes
