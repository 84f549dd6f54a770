// Hostile tenants, workers and gateways beside the honest ones of an ordeal, on a thread of its own (`--attack`). What they send
// is of the kinds below, by turns; what they submit under a name of their own begins with `attack-`.
//
// They may do what prod/deploy/permissions.md lets a gateway and a worker do: publish submissions, results and heartbeats, and write
// inputs, definitions and runs into Redis.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "fakes/rng.h"
#include "prod/ordeal/bus_client.h"
#include "prod/ordeal/ledger.h"
#include "prod/ordeal/store_reader.h"

namespace lockstep::prod::ordeal {

class Attack {
public:
    /// Begins at once. `victims`: the ids of the honest jobs begin with it and end in a number.
    Attack(const std::string& nats_url, PrimaryPort redis_port, std::uint64_t seed, std::string victims);
    Attack(const Attack&) = delete;
    Attack& operator=(const Attack&) = delete;
    /// Ends it, if `finish` has not.
    ~Attack();

    /// Sends no more, and adds to the ledger what was sent and which jobs must not have run. Call it once.
    void finish(Ledger& ledger);

private:
    struct Kind {
        const char* name;
        void (Attack::*strike)();
    };
    static const std::array<Kind, 7> kKinds;

    void run();
    void foreign_input();
    void huge_input();
    void slow_input();
    void stolen_step();
    void results_of_nothing();
    void strange_heartbeats();
    void wide_run();

    [[nodiscard]] std::string next_id();
    [[nodiscard]] std::string victim();
    /// True: the stream has it.
    bool submit(const std::string& job, const std::string& pointer);

    fakes::Rng rng_;
    const std::string victims_;
    StoreReader store_;
    std::atomic<bool> stopping_ = false;

    // The thread's own, until `finish`.
    int number_ = 0;
    std::map<std::string, int> struck_;
    std::set<std::string> may_not_run_;

    BusClient bus_;
    std::thread thread_;
};

}  // namespace lockstep::prod::ordeal
