#include "fakes/nats/server.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/subjects.h"

namespace lockstep::fakes {

NatsServer::NatsServer(World& world, NatsServerOptions options)
    : world_(world), options_(std::move(options)), draws_(world.draws("nats")), jetstream_(options_.storage) {
    for (const StreamConfig& stream : options_.streams) jetstream_.add_stream(stream, now());
    if (options_.clustered) jetstream_.join_cluster();
    world_.listen(options_.node, options_.service, *this);
}

std::string NatsServer::process_name() const { return fmt::format("{}#{}", options_.service, incarnation_); }

void NatsServer::make_stream_anew(const std::string& stream) {
    for (auto entry = bound_.begin(); entry != bound_.end();) {
        const auto next = std::next(entry);
        if (entry->first.first == stream) unbound_.push_back(bound_.extract(entry));
        entry = next;
    }
    jetstream_.make_anew(stream, now());
}

ConnectionListener& NatsServer::on_accept(std::shared_ptr<Connection> connection, NodeId client) {
    // A session outlives its connection, and somebody may hold that one for longer than we do.
    std::erase_if(gone_, [](const auto& session) { return session->connection().use_count() == 1; });
    const std::uint64_t id = ++last_session_;
    auto session = std::make_shared<NatsSession>(*this, id, std::move(connection), client);
    sessions_.emplace(id, session);
    watch_silence(id);
    return *session;
}

void NatsServer::hello(const Connection& connection, std::weak_ptr<NatsPeer> peer) {
    const auto found = std::find_if(sessions_.rbegin(), sessions_.rend(), [&connection](const auto& entry) {
        return entry.second->connection().get() == &connection;
    });
    if (found == sessions_.rend()) return;
    const std::shared_ptr<NatsSession> session = found->second;
    if (up_) {
        session->hello(std::move(peer));
        return;
    }
    drop(session->id());
    session->connection()->close_from_server();
}

std::size_t NatsServer::change_leaders(ConsumerModel::InHand in_hand) {
    const std::size_t count = jetstream_.change_leaders(in_hand);
    for (const StreamModel* stream : jetstream_.streams()) {
        const std::string& of = stream->config().name;
        for (const ConsumerModel* consumer : jetstream_.consumers_of(of)) {
            const std::string& name = consumer->config().name;
            std::string content =
                fmt::format(R"({{"type":"io.nats.jetstream.advisory.v1.consumer_leader_elected","stream":"{}",)"
                            R"("consumer":"{}","leader":"{}"}})",
                            of, name, jetstream_.leader());
            route_core(make_message(engine::wire::leader_elected_subject(of, name), std::move(content)), From::server);
        }
    }
    return count;
}

void NatsServer::lose_quorum() {
    if (quorums_lost_++ == 0) lost_since_ = engine::MonoTime(world_.monotonic(options_.node));
}

void NatsServer::regain_quorum() {
    if (--quorums_lost_ > 0) return;
    settle_proposals();
    if (up_) on_timer();
}

NatsServer::Taken NatsServer::take(const MessagePtr& message, NodeId publisher) {
    route_core(message);
    StreamModel* stream = jetstream_.stream_of(message->subject);
    if (stream == nullptr) return {};
    if (has_quorum()) return store(*stream, message, publisher);
    propose(message, publisher);
    return {.undecided = true};
}

bool NatsServer::somebody_leads() const {
    // As the server does: a leader that hears of nobody for ten seconds steps down, and there is no other.
    constexpr auto kLeaderNotices = std::chrono::seconds(10);
    return has_quorum() || engine::MonoTime(world_.monotonic(options_.node)) < lost_since_ + kLeaderNotices;
}

void NatsServer::propose(const MessagePtr& message, NodeId publisher) {
    if (somebody_leads()) proposals_.push_back({message, publisher});
}

void NatsServer::settle_proposals() {
    const std::vector<Proposal> proposals = std::exchange(proposals_, {});
    if (proposals.empty() || draws_.next("quorum back").chance(0.5)) return;
    for (const auto& [message, publisher] : proposals) {
        StreamModel* stream = jetstream_.stream_of(message->subject);
        if (stream != nullptr) store(*stream, message, publisher);
    }
}

NatsServer::Taken NatsServer::store(StreamModel& stream, const MessagePtr& message, NodeId publisher) {
    const StreamModel::Ack ack = stream.publish(message, now());
    if (ack.stored()) {
        Event stored = bus_event(EventKind::stored, When::applied, publisher, options_.node, *message);
        stored.stream = stream.config().name;
        stored.sequence = ack.sequence;
        world_.trace().emit(stored);
    }
    return {.stream = &stream, .ack = ack};
}

void NatsServer::route_core(const MessagePtr& message, From from) {
    if (!up_) return;
    subscriptions_.match(message->subject, message->job(), draws_, matches_);
    const MessageScope about{message->subject, message->job()};
    for (const SubscriptionTable::Match& match : matches_) {
        if (from == From::client && world_.faults().drop_core(about)) continue;
        if (const auto receiver = session(match.subscriber.session)) {
            receiver->send_core(match.subscriber.sid, message);
        }
    }
}

void NatsServer::pump_all(std::string_view subject) {
    for (auto& [name, bound] : bound_) {
        if (bound.consumer->wants(subject)) pump(bound);
    }
}

NatsServer::Bound* NatsServer::bound(const std::string& stream, const std::string& durable) {
    const auto found = bound_.find({stream, durable});
    if (found != bound_.end()) return &found->second;
    ConsumerModel* consumer = jetstream_.consumer(stream, durable);
    if (consumer == nullptr) return nullptr;
    return &bound_.emplace(std::pair{stream, durable}, Bound{.stream = stream, .consumer = consumer}).first->second;
}

void NatsServer::join(const std::string& stream, const std::string& durable, SubscriberId member) {
    Bound* group = bound(stream, durable);
    if (group == nullptr) return;
    group->members.push_back(member);
    pump(*group);
}

void NatsServer::leave(const std::string& stream, const std::string& durable, SubscriberId member) {
    if (Bound* group = bound(stream, durable)) std::erase(group->members, member);
}

void NatsServer::apply(const HandedMessage& handed, DeliveryAnswer answer, NodeId client) {
    Bound* group = up_ && has_quorum() ? bound(handed.consumer->stream, handed.consumer->durable) : nullptr;
    if (group == nullptr) return;
    const bool counted = group->consumer->apply(handed.receipt, answer, now());
    Event event = bus_event(answer.kind, When::applied, client, options_.node, *handed.message);
    event.payload = {};
    event.outcome = counted ? EventOutcome::applied : EventOutcome::not_applied;
    event.stream = handed.consumer->stream;
    event.sequence = handed.receipt.sequence;
    event.name = handed.consumer->durable;
    event.number = answer.delay.count();
    world_.trace().emit(event);
    pump(*group);
}

void NatsServer::pump(Bound& bound) {
    bound.consumer->expire(now());
    while (up_ && has_quorum() && !bound.members.empty() && !bound.slowed) {
        const auto next = bound.consumer->next(now());
        if (!next) break;
        if (within_rate(bound, *next)) deliver(bound, *next);
    }
    tell_given_up(bound);
    arm(*bound.consumer);
}

std::uint64_t NatsServer::largest_message(const StreamModel& stream) const {
    const std::uint64_t own = stream.config().max_message_size;
    return own != 0 ? own : options_.max_payload;
}

bool NatsServer::within_rate(Bound& bound, const ConsumerModel::Next& next) {
    if (bound.limiter.bits_per_second() != bound.consumer->rate_limit_bps())
        bound.limiter = RateLimiter(bound.consumer->rate_limit_bps(), largest_message(bound.consumer->stream()));
    const engine::MonoTime time(world_.monotonic(options_.node));
    const auto delay = bound.limiter.reserve(delivery_bytes(*next.message), time);
    if (delay && *delay == engine::Duration::zero()) return true;
    bound.slowed = next;
    // Without a delay it never leaves, and nothing behind it does: the server waits for tokens that will never be there.
    if (delay) bound.slowed_until = world_.after(options_.node, *delay, [this, &bound] { let_go_slowed(bound); });
    return false;
}

void NatsServer::let_go_slowed(Bound& bound) {
    const ConsumerModel::Next next = *std::exchange(bound.slowed, std::nullopt);
    if (somebody_leads()) deliver(bound, next);  // else it comes again
    pump(bound);
}

void NatsServer::tell_given_up(Bound& bound) {
    for (const ConsumerModel::GivenUp& message : bound.consumer->take_given_up()) {
        Event event;
        event.kind = EventKind::max_deliveries;
        event.node = options_.node;
        event.subject = bound.consumer->config().filter_subject;
        event.stream = bound.stream;
        event.sequence = message.sequence;
        event.name = bound.consumer->config().name;
        event.number = message.deliveries;
        world_.trace().emit(event);
    }
}

// Try n of a job's message goes to the same member in every run in which there is one. A message about no job goes by its place.
Rng NatsServer::draw_for(const Bound& bound, const ConsumerModel::Next& next) const {
    DrawKey key;
    key.with(bound.consumer->config().name).with(static_cast<std::uint64_t>(next.receipt.count));
    const std::string_view job = next.message->job();
    return draws_.at(job.empty() ? key.with(next.receipt.sequence) : key.with(job));
}

void NatsServer::deliver(Bound& bound, const ConsumerModel::Next& next) {
    const std::size_t count = bound.members.size();
    if (count == 0) return;  // they have left while it waited; it comes again
    const SubscriberId member = bound.members[count > 1 ? draw_for(bound, next).below(count) : 0];
    if (!world_.faults().garble_delivery({next.message->subject, next.message->job()})) {
        send(bound, member, next);
        return;
    }
    // What a client makes of bytes that it has lost its place in.
    auto garbled = make_message(next.message->subject, "PONG\r\n" + next.message->payload, next.message->message_id);
    send(bound, member, {next.receipt, std::move(garbled)});
}

void NatsServer::send(Bound& bound, SubscriberId member, const ConsumerModel::Next& next) {
    const auto receiver = session(member.session);
    if (!receiver) return;
    const MessageScope about{next.message->subject, next.message->job()};
    const int copies = world_.faults().duplicate_delivery(about) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
        const Faults::HoldUp late = world_.faults().reorder_delivery(about);
        const std::uint64_t number = next.receipt.delivery_sequence;
        if (late.by <= engine::Duration::zero()) {
            bound.held_up.pass(number);
            receiver->send_delivery(member.sid, next.message, next.receipt);
            continue;
        }
        const std::uint64_t held = bound.held_up.add(number, late.effect);
        world_.after(options_.node, late.by,
                     [&waiting = bound.held_up, number, held, to = std::weak_ptr(receiver), sid = member.sid, next] {
                         waiting.release(held);
                         const auto alive = to.lock();
                         if (!alive) return;
                         waiting.pass(number);
                         alive->send_delivery(sid, next.message, next.receipt);
                     });
    }
}

std::shared_ptr<NatsSession> NatsServer::session(std::uint64_t id) const {
    const auto found = sessions_.find(id);
    return found != sessions_.end() ? found->second : nullptr;
}

void NatsServer::drop(std::uint64_t id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    const std::shared_ptr<NatsSession> session = std::move(found->second);
    sessions_.erase(found);
    session->end();
    gone_.push_back(session);
}

void NatsServer::hang_up(std::uint64_t id, std::string_view limit, std::uint64_t bytes) {
    const auto slow = session(id);
    if (!slow) return;
    Event event;
    event.kind = EventKind::slow_consumer;
    event.node = slow->client();
    event.peer = options_.node;
    event.name = limit;
    event.number = static_cast<std::int64_t>(bytes);
    world_.trace().emit(event);
    drop(id);
    slow->connection()->close_from_server();
}

void NatsServer::watch_silence(std::uint64_t id) {
    world_.after(options_.node, options_.ping_interval, [this, id] {
        const auto watched = session(id);
        if (!watched) return;
        if (watched->count_silence() <= options_.pings_out_max) {
            watch_silence(id);
            return;
        }
        drop(id);
        watched->connection()->close_from_server();
    });
}

void NatsServer::restart(engine::Duration down_for) {
    stop(true);
    start_after(down_for);
}

void NatsServer::power_cut(engine::Duration down_for) {
    stop(true);
    proposals_.clear();
    jetstream_.power_cut(now());
    start_after(down_for);
}

void NatsServer::on_node_down() {
    stop(false);
    jetstream_.crash(now());
}

void NatsServer::on_node_up() { start(); }

void NatsServer::stop(bool hang_up) {
    up_ = false;
    ++incarnation_;
    for (auto& [id, session] : sessions_) {
        session->end();
        if (hang_up) session->connection()->close_from_server();
        gone_.push_back(std::move(session));
    }
    sessions_.clear();
    for (auto& [name, bound] : bound_) {
        bound.held_up.clear();
        bound.slowed.reset();
        bound.limiter = {};
        world_.cancel(std::exchange(bound.slowed_until, 0));
    }
    if (timer_) world_.cancel(timer_->second);
    timer_.reset();
}

void NatsServer::start_after(engine::Duration down_for) {
    world_.after(options_.node, down_for, [this, incarnation = incarnation_] {
        if (incarnation == incarnation_) start();
    });
}

void NatsServer::start() {
    // As the server does: it looks at what was pending half a second to a second and a half after it started.
    constexpr auto kFirstCheckMin = std::chrono::milliseconds(500);
    const engine::Duration first_check =
        kFirstCheckMin + std::chrono::milliseconds(draws_.next("first check").below(1000));
    up_ = true;
    ++incarnation_;
    jetstream_.restart(now(), now() + first_check);
}

void NatsServer::arm(const ConsumerModel& consumer) {
    const auto deadline = consumer.next_deadline();
    if (!deadline || (timer_ && timer_->first <= *deadline)) return;
    if (timer_) world_.cancel(timer_->second);
    const engine::Duration delay = std::max(*deadline - now(), engine::Duration(1));
    timer_.emplace(*deadline, world_.after(options_.node, delay, [this] { on_timer(); }));
}

void NatsServer::on_timer() {
    timer_.reset();
    for (auto& [name, bound] : bound_) pump(bound);
}

}  // namespace lockstep::fakes
