// What the ordeal submits, on a thread of its own: a steady stream of jobs of every kind, second opinions about their results,
// cancellations, and at request floods, large jobs and messages that nobody should send.
//
// A submission is tried until JetStream has acknowledged it or `kTryFor` has passed; which, the record says.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fakes/rng.h"
#include "prod/ordeal/bus_client.h"
#include "prod/ordeal/ledger.h"
#include "prod/ordeal/store_reader.h"

namespace lockstep::prod::ordeal {

/// What the ids of the jobs begin with; a number follows.
[[nodiscard]] std::string job_prefix(std::uint64_t seed);

class Load {
public:
    struct Plan {
        std::uint64_t seed = 1;
        int jobs_per_second = 20;
        int jobs_most = 100'000;
        std::vector<std::string> topics;  // workers serve them, quickest first
        std::string topic_of_approvals;
    };

    Load(const std::string& nats_url, PrimaryPort redis_port, Plan plan);
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    /// Ends it, if `finish` has not.
    ~Load();

    /// Sends what the kind stands for, as soon as what was asked for before has been sent.
    void request(DisturbanceKind kind, int amount);
    /// Submits no more, finishes what is under way, and adds all to the ledger. Call it once.
    void finish(Ledger& ledger);

private:
    using Clock = std::chrono::steady_clock;
    struct Later {
        Clock::time_point due;
        std::string subject;
        std::string payload;
    };
    struct Request {
        DisturbanceKind kind{};
        int amount = 0;
    };

    void run();
    void beat();
    void submit_one();
    void submit(const std::string& topic, Submission submission);
    /// With a message id of its own: the stream takes it as another message.
    void submit_again();
    void send(const std::string& job, const std::string& payload, const std::string& message_id);
    void serve(const Request& request);
    void send_due();
    void hear_result(std::string_view payload);
    [[nodiscard]] bool too_many_under_way();

    const Plan plan_;
    fakes::Rng rng_;
    StoreReader store_;
    std::atomic<bool> stopping_ = false;

    // The thread's own, until `finish`.
    std::map<std::string, Submission> submissions_;
    std::map<std::string, std::string> topics_;
    std::vector<std::string> names_;
    long resting_ = 0;
    Clock::time_point looked_{};
    Clock::time_point next_job_{};
    int garbage_acknowledged_ = 0;
    int nonsense_acknowledged_ = 0;

    std::set<std::string> opined_;  // of the thread that hears results

    std::mutex mutex_;
    // Guarded by mutex_.
    std::deque<Request> requests_;
    std::vector<Later> later_;

    BusClient bus_;  // before the thread, and after what its listener touches
    std::thread thread_;
};

}  // namespace lockstep::prod::ordeal
