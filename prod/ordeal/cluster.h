// The deployment that an ordeal hurts: servers of Redis and NATS, the reference kernel, replicas of lockstepd, behind relays where
// the servers are single ones, and workers. Everything on loopback ports of its own, in folders of its own, gone with this object.
//
// 1. What is made to end is started again by whoever ended it; what ends by itself is started again by `supervise`, and noted.
// 2. A single Redis syncs every write; NATS may be killed, its files survive. Where there are several of each, what is killed or
//    frozen is the one that leads, and it comes back when another has taken its place.
// REQUIRES: one thread, which outlives the object: a child dies with the thread that started it.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fakes/testing/server_process.h"
#include "prod/integration/program.h"
#include "prod/ordeal/disturbance.h"
#include "prod/ordeal/ledger.h"
#include "prod/ordeal/relay.h"
#include "prod/ordeal/servers.h"

namespace lockstep::prod::ordeal {

/// A worker's pool and how long each of its jobs takes.
struct WorkerKind {
    std::string pool;
    std::chrono::milliseconds service_time{};
};

class Cluster {
public:
    /// Starts everything and waits until it is ready. `programs` holds the programs; `more` goes into the environment of
    /// each replica. Throws std::runtime_error when something does not start.
    Cluster(const Shape& shape, std::filesystem::path programs, const testing::Program::Environment& more);

    [[nodiscard]] static std::vector<std::string> missing_servers();
    [[nodiscard]] static Rules rules(const Shape& shape);
    /// Topics that workers serve, from the quickest jobs to the slowest.
    [[nodiscard]] static std::vector<std::string> topics();
    /// One whose jobs wait for a person.
    [[nodiscard]] static std::string topic_of_approvals();

    [[nodiscard]] std::string nats_url() const { return servers_->nats_url(); }
    [[nodiscard]] PrimaryPort redis_port() const { return servers_->primary_port(); }

    /// Begins it. False: it would change nothing, as its target is down or frozen. Gives the target's name.
    bool begin(const Planned& planned, std::string& target);
    /// Gives back what it took. Nothing else is taken from the target meanwhile. False: it had no effect after all.
    bool end(const Planned& planned);
    /// Whether it can be ended: a replica that was asked to stop has done so, another server has taken the place of one that led.
    bool can_end(const Planned& planned);
    /// What keeps the servers from being in their places again; empty: nothing.
    std::string servers_missing() { return servers_->missing(); }

    /// Restarts what has ended by itself.
    void supervise();
    [[nodiscard]] const std::vector<Crash>& crashes() const { return crashes_; }
    [[nodiscard]] const std::vector<std::string>& unstoppable() const { return unstoppable_; }

    /// Remembers what each replica uses now, unless it is known from an earlier call for the same process.
    void measure_once();
    /// What has become of it.
    [[nodiscard]] std::vector<Footprint> footprints() const;

    /// Lines of the workers: "job micros worker".
    [[nodiscard]] std::vector<Execution> executions() const;
    /// Logs, for somebody who wants to know why.
    void copy_logs(const std::filesystem::path& folder) const;

private:
    using Clock = std::chrono::steady_clock;

    /// A program of ours in its place. It may be started many times.
    struct Place {
        std::string name;
        std::string program;
        std::vector<std::string> arguments;
        testing::Program::Environment environment;
        std::unique_ptr<testing::Program> running;
        bool wanted = true;  // else somebody holds it down
        bool frozen = false;
        int starts = 0;
        Clock::time_point started{};
        Clock::time_point ended{};
        Clock::time_point asked_to_stop{};
        std::filesystem::path log;
        Footprint footprint;
        pid_t measured = -1;
    };
    struct Links {
        std::unique_ptr<Relay> redis;
        std::unique_ptr<Relay> nats;
        bool hurt = false;
    };

    void write_documents() const;
    void add_kernel();
    void add_replica(const testing::Program::Environment& more);
    void add_worker(const WorkerKind& kind);
    void start(Place& place);
    void must_say(Place& place, const std::string& words);
    Place* place_of(const Planned& planned);
    static bool begin_place(const Planned& planned, Place& place);
    bool begin_link(const Planned& planned);
    bool end_link(const Planned& planned);
    [[nodiscard]] std::string last_words(const Place& place) const;

    const std::thread::id thread_ = std::this_thread::get_id();
    const std::filesystem::path programs_;
    const Shape shape_;
    fakes::testing::TemporaryFolder folder_;
    std::unique_ptr<Servers> servers_;
    fakes::testing::ReservedPort kernel_port_;
    std::vector<Links> links_;
    Place kernel_;
    std::deque<Place> replicas_;
    std::deque<Place> workers_;
    std::vector<Crash> crashes_;
    std::vector<std::string> unstoppable_;
};

}  // namespace lockstep::prod::ordeal
