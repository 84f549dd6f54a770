#include "fakes/nats/jetstream_model.h"

#include <fmt/core.h>

#include <utility>

namespace lockstep::fakes {

namespace {

/// Names the first setting in which the two differ.
std::string difference(const ConsumerConfig& is, const ConsumerConfig& wanted) {
    const auto tell = [&](std::string_view setting, const auto& has, const auto& wants) {
        return fmt::format("durable {} has {} {}, not {}", is.name, setting, has, wants);
    };
    if (is.filter_subject != wanted.filter_subject)
        return tell("filter subject", is.filter_subject, wanted.filter_subject);
    if (is.deliver_group != wanted.deliver_group) return tell("deliver group", is.deliver_group, wanted.deliver_group);
    if (is.ack_wait != wanted.ack_wait) {
        return tell("ack wait in ms", engine::to_millis(is.ack_wait), engine::to_millis(wanted.ack_wait));
    }
    if (is.max_deliver != wanted.max_deliver) return tell("max deliver", is.max_deliver, wanted.max_deliver);
    return tell("max ack pending", is.max_ack_pending, wanted.max_ack_pending);
}

}  // namespace

StreamModel& JetStreamModel::add_stream(StreamConfig config, engine::MonoTime created) {
    return *entries_.emplace_back(Entry{std::make_unique<StreamModel>(std::move(config), created), {}}).stream;
}

void JetStreamModel::make_anew(std::string_view stream, engine::MonoTime now) {
    Entry& old = *entry(stream);
    old.consumers.clear();
    // The real server counts nanoseconds, in which no two streams are made, even where its clock has been set back.
    const engine::MonoTime created = now == old.stream->created() ? now + engine::Duration(1) : now;
    old.stream = std::make_unique<StreamModel>(old.stream->config(), created);
}

JetStreamModel::Entry* JetStreamModel::entry(std::string_view stream) {
    for (Entry& entry : entries_) {
        if (entry.stream->config().name == stream) return &entry;
    }
    return nullptr;
}

StreamModel* JetStreamModel::stream(std::string_view name) {
    const Entry* found = entry(name);
    return found != nullptr ? found->stream.get() : nullptr;
}

StreamModel* JetStreamModel::stream_of(std::string_view subject) {
    for (const Entry& entry : entries_) {
        if (entry.stream->binds(subject)) return entry.stream.get();
    }
    return nullptr;
}

JetStreamModel::Ensured JetStreamModel::ensure_consumer(std::string_view stream, const ConsumerConfig& config) {
    Entry* found = entry(stream);
    if (found == nullptr) return {nullptr, "stream not found"};
    if (ConsumerModel* existing = consumer(stream, config.name)) {
        if (existing->config() == config) return {existing, {}};
        return {nullptr, difference(existing->config(), config)};
    }
    found->consumers.push_back(std::make_unique<ConsumerModel>(config, *found->stream, storage_));
    return {found->consumers.back().get(), {}};
}

ConsumerModel* JetStreamModel::consumer(std::string_view stream, std::string_view name) {
    const Entry* found = entry(stream);
    if (found == nullptr) return nullptr;
    for (const auto& consumer : found->consumers) {
        if (consumer->config().name == name) return consumer.get();
    }
    return nullptr;
}

std::vector<const StreamModel*> JetStreamModel::streams() const {
    std::vector<const StreamModel*> out;
    for (const Entry& entry : entries_) out.push_back(entry.stream.get());
    return out;
}

std::vector<const ConsumerModel*> JetStreamModel::consumers_of(std::string_view stream) const {
    std::vector<const ConsumerModel*> out;
    for (const Entry& entry : entries_) {
        if (entry.stream->config().name != stream) continue;
        for (const auto& consumer : entry.consumers) out.push_back(consumer.get());
    }
    return out;
}

void JetStreamModel::crash(engine::MonoTime now) {
    for (const Entry& entry : entries_) {
        for (const auto& consumer : entry.consumers) consumer->crash(now);
    }
}

void JetStreamModel::power_cut(engine::MonoTime now) {
    for (const Entry& entry : entries_) {
        entry.stream->power_cut(StoragePolicy::last_tick(storage_.sync_interval, now));
        for (const auto& consumer : entry.consumers) consumer->power_cut(now);
    }
}

std::string JetStreamModel::leader() const { return leader_ == 0 ? std::string() : fmt::format("nats-{}", leader_); }

std::size_t JetStreamModel::change_leaders(ConsumerModel::InHand in_hand) {
    leader_ = leader_ == 1 ? 2 : 1;  // who led before it may lead again
    std::size_t count = 0;
    for (const Entry& entry : entries_)
        for (const auto& consumer : entry.consumers) count += consumer->change_leader(in_hand);
    return count;
}

void JetStreamModel::restart(engine::MonoTime now, engine::MonoTime first_check) {
    for (const Entry& entry : entries_) {
        entry.stream->restart(now);
        for (const auto& consumer : entry.consumers) consumer->restart(now, first_check);
    }
}

}  // namespace lockstep::fakes
