// Takes dumps of the servers at chosen events, as they are told. It follows a run from its beginning: who holds a lock or has a
// message in hand is nowhere in a server, only in what happened.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "fakes/nats/server.h"
#include "fakes/redis/server.h"
#include "sim/explain/world_dump.h"
#include "sim/simulation/simulation.h"

namespace lockstep::sim {

class WorldDumper final : public EventObserver {
public:
    /// `events`: the numbers of the events, ascending and not empty. Everything must outlive the run. `done` is called in the
    /// last of them.
    WorldDumper(std::vector<std::uint64_t> events, Simulation& simulation, fakes::redis::RedisServer& redis,
                fakes::NatsServer& nats, std::function<void()> done);

    void on_event(const fakes::Event& event, Time now) override;
    [[nodiscard]] std::vector<WorldDump> take() { return std::move(dumps_); }

private:
    struct Holder {
        std::string node;
        std::uint64_t since = 0;  // the event
    };
    using InHand = std::tuple<std::string, std::string, std::uint64_t>;  // stream, durable, sequence

    void follow(const fakes::Event& event);
    void dump(const fakes::Event& event, Time now);
    void add_nodes(WorldDump& out, Time now) const;
    void add_redis(WorldDump& out) const;
    void add_value(WorldDump& out, const std::string& key, const fakes::redis::Value& value) const;
    void add_locks(WorldDump& out) const;
    void add_circuit(WorldDump& out) const;
    void add_streams(WorldDump& out);
    void add_consumer(WorldDump& out, const std::string& stream, const fakes::ConsumerModel& consumer) const;
    [[nodiscard]] std::string expiry(std::int64_t expires_at) const;
    [[nodiscard]] std::int64_t server_ms(fakes::NodeId node) const;

    const std::vector<std::uint64_t> events_;
    Simulation& simulation_;
    fakes::redis::RedisServer& redis_;
    fakes::NatsServer& nats_;
    const std::function<void()> done_;
    std::vector<WorldDump> dumps_;
    std::map<std::string, Holder, std::less<>> holders_;  // by lock
    std::map<InHand, Holder> in_hand_;
};

}  // namespace lockstep::sim
