#include "sim/scenario/chaos.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/store/keys.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;

struct Level {
    std::string_view name;
    Duration gap;  // mean time between the begins of two faults
    Duration length_min;
    Duration length_max;
    double rate_max;  // of calls that go wrong while a fault of that kind lasts
};

// Light leaves the system time to recover in between; heavy overlaps several faults most of the time. Lengths go beyond
// the deadlines of single calls (2 s) always, beyond the worker time to live (30 s) from moderate on, and beyond the job
// lock (60 s) in heavy, so that each level meets mechanisms that the one before does not need.
constexpr std::array kLevels{
    Level{"light", 60s, 2s, 10s, 0.1},
    Level{"moderate", 20s, 2s, 40s, 0.3},
    Level{"heavy", 6s, 2s, 90s, 0.7},
};

const Level& level_named(std::string_view name) {
    const auto* found = std::ranges::find(kLevels, name, &Level::name);
    return found == kLevels.end() ? kLevels[1] : *found;
}

class Drawer {
public:
    Drawer(const Scenario& scenario, const Topology& topology, std::uint64_t seed)
        : scenario_(scenario),
          chaos_(*scenario.chaos),
          topology_(topology),
          level_(level_named(chaos_.level)),
          heal_at_(std::min(chaos_.heal_at.value_or(scenario.duration), scenario.duration)),
          rng_(seed, "chaos") {}

    std::vector<Fault> run() {
        if (chaos_.faults.empty()) return {};
        for (Duration at = gap(); at + level_.length_min < heal_at_; at += gap()) {
            const Duration longest = until_fault_free(at) - at;
            if (longest < level_.length_min) continue;
            begin_ = at;
            length_ = std::min(between(level_.length_min, level_.length_max), longest);
            draw(chaos_.faults[rng_.below(chaos_.faults.size())]);
        }
        std::ranges::sort(faults_, {}, [](const Fault& fault) { return std::pair(fault.at, fault.pointer); });
        for (Fault& fault : faults_) fault.pointer.clear();
        return std::move(faults_);
    }

private:
    /// When what begins then has to have ended: at the latest by the healing.
    Duration until_fault_free(Duration at) const {
        Duration end = heal_at_;
        for (const Stretch& stretch : chaos_.fault_free)
            if (at < stretch.at + stretch.length) end = std::min(end, std::max(at, stretch.at));
        return end;
    }

    // Draws ------------------------------------------------------------------------------------------------------------

    Duration between(Duration min, Duration max) {
        const auto span = static_cast<std::uint64_t>((max - min).count()) + 1;
        return min + Duration{static_cast<std::int64_t>(rng_.below(span))};
    }

    Duration gap() { return Distribution{Distribution::Kind::exponential, level_.gap, {}, 0}.draw(rng_) + 1ms; }

    /// A share that people can read, never 0.
    double share() {
        return static_cast<double>(1 + rng_.below(static_cast<std::uint64_t>(level_.rate_max * 100))) / 100.0;
    }

    std::string_view one_of(std::span<const std::string_view> words) { return words[rng_.below(words.size())]; }

    // Faults -----------------------------------------------------------------------------------------------------------

    Fault& add(std::string_view kind) {
        Fault fault;
        fault.what = find_fault(kind)->make();
        fault.at = begin_;
        fault.duration = length_;
        fault.pointer = fmt::format("{:08}", faults_.size());  // keeps the order of drawing among equal times
        faults_.push_back(std::move(fault));
        return faults_.back();
    }

    /// Nodes that crash and freeze: schedulers, workflow engines, result readers and workers, without the part that is to
    /// survive.
    std::vector<NodeId> victims() const {
        std::vector<NodeId> nodes;
        for (const Topology::Entry& node : topology_.nodes()) {
            const bool expendable = node.role == NodeRole::scheduler || node.role == NodeRole::workflow ||
                                    node.role == NodeRole::result_reader || node.role == NodeRole::worker;
            if (expendable && !spared(node)) nodes.push_back(node.id);
        }
        return nodes;
    }

    /// With a heal that leaves things broken, a sufficient part is never touched: the first scheduler, workflow engine and
    /// result reader, and the first half of each worker group.
    bool spared(const Topology::Entry& node) const {
        if (chaos_.heal == "all") return false;
        if (node.role != NodeRole::worker) return node.index == 0;
        const int count = scenario_.cluster.workers.at(static_cast<std::size_t>(node.worker_group)).count.value_or(1);
        return node.index < (count + 1) / 2;
    }

    void draw(std::string_view kind) {
        if (kind == "crash" || kind == "pause") return node_fault(kind);
        if (kind == "partition") return partition();
        if (kind == "redis") return redis();
        if (kind == "nats") return nats();
        if (kind == "kernel") return kernel();
        if (kind == "clock") return clock();
    }

    void node_fault(std::string_view kind) {
        const auto nodes = victims();
        if (nodes.empty()) return;
        Fault& fault = add(kind);
        fault.part<faults::OfNode>()->target = topology_.name(nodes[rng_.below(nodes.size())]);
        const bool stays = kind == "crash" ? chaos_.heal != "all" : chaos_.heal == "core";
        // Some come back even so: a node that returns late is a case of its own.
        if (rng_.chance(0.5) && stays) fault.duration.reset();
    }

    void partition() {
        static constexpr std::array<std::string_view, 4> kServers{"redis", "nats", "kernel", "redis"};
        static constexpr std::array<std::string_view, 4> kDirections{"both", "both", "a_to_b", "b_to_a"};
        const auto nodes = victims();
        if (nodes.empty()) return;
        const auto& node = topology_.node(nodes[rng_.below(nodes.size())]);
        Fault& fault = add("partition");
        auto& cut = fault.as<faults::Partition>();
        cut.a = node.name;
        // Workers speak to NATS only.
        const auto server = one_of(kServers);
        cut.b = node.role == NodeRole::worker ? "nats" : server;
        cut.direction = one_of(kDirections);
        if (rng_.chance(0.5) && chaos_.heal == "core") fault.duration.reset();
    }

    void redis() {
        static constexpr std::array<std::string_view, 6> kKinds{"redis.errors",       "redis.errors", "redis.latency",
                                                                "redis.script_flush", "redis.oom",    "redis.restart"};
        static constexpr std::array<std::string_view, 2> kLossy{"redis.failover", "redis.evict"};
        const auto lossy = one_of(kLossy);
        const bool lose = rng_.chance(0.2) && chaos_.data_loss.redis;
        auto kind = one_of(kKinds);
        if (lose) kind = lossy;
        // What a restart forgets depends on how Redis persists.
        const bool forgetful = scenario_.cluster.redis_persistence != RedisPersistence::always;
        if (kind == "redis.restart" && forgetful && !chaos_.data_loss.redis) kind = "redis.errors";
        Fault& fault = add(kind);
        if (auto* errors = std::get_if<faults::RedisErrors>(&fault.what)) draw_errors(*errors);
        if (auto* slow = std::get_if<faults::RedisLatency>(&fault.what)) slow->latency = latency();
        if (auto* evict = std::get_if<faults::RedisEvict>(&fault.what)) evict->keys = victim_keys();
        if (kind == "redis.script_flush" || kind == "redis.evict") fault.duration.reset();
    }

    /// Every lock that is held, or the records of one job in ten, by the last digit of its id.
    std::string victim_keys() {
        if (rng_.chance(0.6)) return engine::keys::job_lock(engine::JobId("*"));
        return engine::keys::job_meta(engine::JobId(fmt::format("*{}", rng_.below(10))));
    }

    void nats() {
        static constexpr std::array<std::string_view, 7> kKinds{
            "nats.publish_errors", "nats.lost_acks", "nats.late_acks",     "nats.duplicate",
            "nats.reorder",        "nats.restart",   "nats.publish_errors"};
        auto kind = one_of(kKinds);
        if (rng_.chance(0.2) && chaos_.data_loss.nats) kind = "nats.power_cut";
        Fault& fault = add(kind);
        if (auto* errors = std::get_if<faults::NatsPublishErrors>(&fault.what))
            draw_errors(*errors);
        else if (auto* messages = fault.part<faults::OfMessages>())
            messages->rate = share();
        if (auto* late = std::get_if<faults::NatsLateAcks>(&fault.what)) late->latency = latency();
        if (auto* overtaken = std::get_if<faults::NatsReorder>(&fault.what)) overtaken->latency = latency();
    }

    void kernel() {
        static constexpr std::array<std::string_view, 4> kKinds{"kernel.errors", "kernel.latency", "kernel.outage",
                                                                "kernel.flap"};
        static constexpr std::array<int, 4> kStatuses{14, 4, 8, 13};
        const auto kind = one_of(kKinds);
        Fault& fault = add(kind);
        if (auto* errors = std::get_if<faults::KernelErrors>(&fault.what)) {
            errors->rate = share();
            errors->status = kStatuses[rng_.below(kStatuses.size())];
        }
        if (auto* slow = std::get_if<faults::KernelLatency>(&fault.what)) slow->latency = latency();
        if (auto* flap = std::get_if<faults::KernelFlap>(&fault.what)) {
            flap->status = kStatuses[rng_.below(kStatuses.size())];
            flap->period = between(1s, 10s);
        }
    }

    /// A jump and, at the end, the jump back: a clock that stays wrong would outlive the healing.
    void clock() {
        const auto nodes = victims();
        if (nodes.empty()) return;
        const std::string target(topology_.name(nodes[rng_.below(nodes.size())]));
        const Duration by = between(100ms, 10min);
        const bool backwards = rng_.chance(0.5);
        for (const bool back : {false, true}) {
            Fault& fault = add("clock_jump");
            auto& jump = fault.as<faults::ClockJump>();
            jump.target = target;
            jump.by = backwards != back ? -by : by;
            fault.at = back ? begin_ + length_ : begin_;
            fault.duration.reset();
        }
    }

    template <class Kind>
    void draw_errors(Kind& fault) {
        static constexpr std::array<std::string_view, 3> kOutcomes{"not_applied", "unknown", "lost"};
        fault.rate = share();
        fault.outcome = one_of(kOutcomes);
    }

    /// From a nuisance to beyond the deadline of a store operation.
    Distribution latency() { return {Distribution::Kind::uniform, 1ms, between(10ms, 3s), 0}; }

    const Scenario& scenario_;
    const Chaos& chaos_;
    const Topology& topology_;
    const Level& level_;
    const Duration heal_at_;
    fakes::Rng rng_;
    Duration begin_{};
    Duration length_{};
    std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> draw_chaos(const Scenario& scenario, const Topology& topology, std::uint64_t seed) {
    return Drawer(scenario, topology, seed).run();
}

}  // namespace lockstep::sim
