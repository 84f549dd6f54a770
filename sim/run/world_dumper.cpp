#include "sim/run/world_dumper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "fakes/printable.h"
#include "sim/world/trace_file.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kValueMax = 400;
constexpr std::string_view kCircuitPrefixes[] = {"cordum:cb:", "lockstep:cb:"};

/// As one line: what is not printable becomes \xNN, what is long is cut.
std::string one_line(std::string_view text) {
    std::string out;
    fakes::append_printable(out, text.substr(0, kValueMax));
    if (text.size() > kValueMax) out += fmt::format("... ({} bytes)", text.size());
    return out;
}

std::string duration_text(std::int64_t ms) {
    if (ms < 0) return fmt::format("-{}", duration_text(-ms));
    if (ms < 600'000) return fmt::format("{}.{:03}s", ms / 1000, ms % 1000);
    const std::int64_t seconds = ms / 1000;
    return fmt::format("{}h{:02}m{:02}s", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

WorldDump::Line same(std::string text) {
    std::string compared = text;
    return {std::move(text), std::move(compared)};
}

void put(WorldDump::Section& section, std::string name, WorldDump::Line line) {
    section.insert_or_assign(std::move(name), std::move(line));
}

}  // namespace

WorldDumper::WorldDumper(std::vector<std::uint64_t> events, Simulation& simulation, fakes::redis::RedisServer& redis,
                         fakes::NatsServer& nats, std::function<void()> done)
    : events_(std::move(events)), simulation_(simulation), redis_(redis), nats_(nats), done_(std::move(done)) {}

void WorldDumper::on_event(const fakes::Event& event, Time now) {
    if (!in_digest(event.kind) || dumps_.size() == events_.size()) return;
    follow(event);
    if (simulation_.trace().events() != events_[dumps_.size()]) return;
    dump(event, now);
    if (dumps_.size() == events_.size()) done_();
}

void WorldDumper::follow(const fakes::Event& event) {
    using enum fakes::EventKind;
    const Holder here{std::string(simulation_.topology().name(event.node)), simulation_.trace().events()};
    switch (event.kind) {
        case lock_acquired: holders_.insert_or_assign(std::string(event.key), here); break;
        case lock_released:
        case lock_expired:
            if (const auto found = holders_.find(event.key); found != holders_.end()) holders_.erase(found);
            break;
        case deliver: in_hand_.insert_or_assign(InHand{event.stream, event.name, event.sequence}, here); break;
        case ack:
        case nak:
        case term:
            if (event.when == fakes::When::applied) in_hand_.erase(InHand{event.stream, event.name, event.sequence});
            break;
        default: break;
    }
}

void WorldDumper::dump(const fakes::Event& event, Time now) {
    WorldDump out;
    out.event = simulation_.trace().events();
    out.ns = now.time_since_epoch().count();
    append_event_json(event, now, simulation_.topology(), out.what);
    if (out.what.size() > kValueMax) out.what = out.what.substr(0, kValueMax) + "...";
    add_nodes(out, now);
    add_redis(out);
    add_locks(out);
    add_circuit(out);
    add_streams(out);
    dumps_.push_back(std::move(out));
}

void WorldDumper::add_nodes(WorldDump& out, Time now) const {
    for (const Topology::Entry& entry : simulation_.topology().nodes()) {
        const Node& node = simulation_.nodes()[entry.id];
        const char* state = !node.up ? "down" : node.dying ? "dying" : node.paused() ? "paused" : "up";
        const std::int64_t ahead_us = (node.clock.wall(now) - perfect_wall(now)).count() /
                                      std::chrono::nanoseconds(std::chrono::microseconds{1}).count();
        put(out.nodes, entry.name,
            {fmt::format("{}, start {}, clock {}{}us", state, node.incarnation, ahead_us < 0 ? "" : "+", ahead_us),
             fmt::format("{}, start {}", state, node.incarnation)});
    }
}

std::int64_t WorldDumper::server_ms(fakes::NodeId node) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(simulation_.wall(node).time_since_epoch()).count();
}

std::string WorldDumper::expiry(std::int64_t expires_at) const {
    if (expires_at == fakes::redis::kNever) return "no TTL";
    return fmt::format("TTL {}", duration_text(expires_at - server_ms(Topology::kRedis)));
}

void WorldDumper::add_redis(WorldDump& out) const {
    const fakes::redis::Keyspace& keys = redis_.keyspace();
    for (const std::string_view key : keys.keys()) {
        const auto* entry = keys.find(key);
        const std::string type(fakes::redis::type_name(entry->value));
        const std::string at =
            entry->expires_at == fakes::redis::kNever ? "no TTL" : fmt::format("expires at {}", entry->expires_at);
        put(out.redis, std::string(key), {fmt::format("{}, {}", type, expiry(entry->expires_at)), type + ", " + at});
        add_value(out, std::string(key), entry->value);
    }
}

void WorldDumper::add_value(WorldDump& out, const std::string& key, const fakes::redis::Value& value) const {
    namespace redis = fakes::redis;
    const auto add = [&](const std::string& place, std::string text) {
        put(out.redis, key + " " + place, same(std::move(text)));
    };
    if (const auto* text = std::get_if<std::string>(&value)) add("=", one_line(*text));
    if (const auto* hash = std::get_if<redis::Hash>(&value)) {
        for (const auto& [field, content] : *hash) add("." + one_line(field), one_line(content));
    }
    if (const auto* list = std::get_if<redis::List>(&value)) {
        for (std::size_t i = 0; i < list->size(); ++i) add(fmt::format("[{:04}]", i), one_line((*list)[i]));
    }
    if (const auto* set = std::get_if<redis::Set>(&value)) {
        for (const std::string& member : *set) add("{" + one_line(member) + "}", "");
    }
    if (const auto* zset = std::get_if<redis::SortedSet>(&value)) {
        for (const auto& ranked : zset->ranking())
            add("{" + one_line(ranked.member) + "}", fmt::format("{}", ranked.score));
    }
}

void WorldDumper::add_locks(WorldDump& out) const {
    for (const auto& [key, holder] : holders_) {
        const auto* entry = std::as_const(redis_.keyspace()).find(key);
        const auto* token = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
        if (token == nullptr) continue;
        const std::string who = fmt::format("held by {} since event {}, token {}", holder.node, holder.since, *token);
        put(out.locks, key, {fmt::format("{}, {}", who, expiry(entry->expires_at)), who});
    }
}

void WorldDumper::add_circuit(WorldDump& out) const {
    const fakes::redis::Keyspace& keys = redis_.keyspace();
    for (const std::string_view key : keys.keys()) {
        const bool ours =
            std::ranges::any_of(kCircuitPrefixes, [key](std::string_view p) { return key.starts_with(p); });
        const auto* entry = keys.find(key);
        const auto* text = ours ? std::get_if<std::string>(&entry->value) : nullptr;
        if (text != nullptr)
            put(out.circuit, std::string(key), {fmt::format("{}, {}", *text, expiry(entry->expires_at)), *text});
    }
    if (out.circuit.empty()) put(out.circuit, "(shared)", same("closed, no failure counted"));
}

void WorldDumper::add_streams(WorldDump& out) {
    const fakes::JetStreamModel& jetstream = nats_.jetstream();
    for (const fakes::StreamModel* stream : jetstream.streams()) {
        const std::string& name = stream->config().name;
        put(out.streams, name,
            same(fmt::format("{} messages, {} to {}", stream->size(), stream->first_sequence(),
                             stream->last_sequence())));
        for (const auto& stored : stream->messages()) {
            const std::string_view job = stored.message->job();
            put(out.streams, fmt::format("{} {:>8}", name, stored.sequence),
                same(fmt::format("{}{}{}{}{}, {} bytes", stored.message->subject, job.empty() ? "" : ", job ", job,
                                 stored.message->message_id.empty() ? "" : ", id ", stored.message->message_id,
                                 stored.message->payload.size())));
        }
        for (const fakes::ConsumerModel* consumer : jetstream.consumers_of(name)) add_consumer(out, name, *consumer);
    }
}

void WorldDumper::add_consumer(WorldDump& out, const std::string& stream, const fakes::ConsumerModel& consumer) const {
    const std::string& durable = consumer.config().name;
    const std::string name = stream + " " + durable;
    put(out.consumers, name, same(fmt::format("{}, {} pending", consumer.config().filter_subject, consumer.pending())));
    const engine::MonoTime now = nats_.now();
    for (const fakes::ConsumerModel::PendingMessage& pending : consumer.pending_messages()) {
        const auto hand = in_hand_.find(InHand{stream, durable, pending.sequence});
        const std::string who = fmt::format(
            "delivery {}, {}", pending.deliveries,
            hand == in_hand_.end() ? std::string("in nobody's hand")
                                   : fmt::format("to {} in event {}", hand->second.node, hand->second.since));
        const std::string left = pending.queued
                                     ? "to be delivered again"
                                     : fmt::format("again in {}", duration_text(engine::to_millis(pending.due - now)));
        put(out.consumers, fmt::format("{} {:>8}", name, pending.sequence),
            {who + ", " + left, who + (pending.queued ? ", to be delivered again" : "")});
    }
}

}  // namespace lockstep::sim
