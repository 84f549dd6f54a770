// A simulated worker process, as the workers' SDK makes them: a core subscription on its own subject, heartbeats, a
// handshake, results as core messages. The cluster creates one for a node that comes up and destroys it where it stands
// when the node crashes; the next one knows nothing of it.
//
// 1. It executes every message that it receives, one that it had before included: to notice is the scheduler's
//    business. What it did with each job is told in events (job_started with the count for this process, result,
//    job_finished).
// 2. It runs at most `max_parallel_jobs` at once; others wait in its memory, in the order of arrival.
// 3. All randomness comes from the world's stream "workers". A job draws its outcome and then its service time, when it
//    starts.
// 4. A job can direct its worker by entries of its environment: SIM_OUTCOME (a name of WorkOutcome), SIM_SERVICE_MS,
//    SIM_OUTPUT (text that the result holds), and SIM_OUTPUT_BYTES (how long that text is, filled up with dots).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/ports/redis.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "engine/wire/fwd.h"
#include "fakes/rng.h"
#include "fakes/worker/outcome.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct WorkerConfig {
    std::string id;
    std::string pool = "default";
    int max_parallel_jobs = 8;  // 0 or less: no limit, and none is told in heartbeats
    std::vector<std::string> capabilities;
    std::map<std::string, std::string> labels;
    std::string region;
    std::string type;
    engine::Duration heartbeat = std::chrono::seconds{5};
    Distribution service_time = Distribution::constant(std::chrono::seconds{1});
    std::map<std::string, double> outcomes = {{"SUCCEEDED", 1.0}};
    /// Names as in `outcomes`: what the first jobs of this process come to, one after the other.
    std::vector<std::string> first_outcomes;
    /// Before the first heartbeat.
    engine::Duration heartbeat_phase{};
    /// Least and most processor load in percent that a heartbeat reports, drawn for each from the world's stream "worker load";
    /// without it, the load follows from the jobs.
    std::optional<std::pair<double, double>> cpu_load;
    /// The same of the graphics processor; without it, none.
    std::optional<std::pair<double, double>> gpu_load;
    /// Added to the service time of a `late` job. Longer than the scheduler's running timeout, 15 minutes by default.
    engine::Duration late_by = std::chrono::minutes{16};
    engine::Duration duplicate_after = std::chrono::milliseconds{500};
    engine::Duration result_ttl = std::chrono::hours{24};
    /// The basic SDK does not listen to cancellations. With this the worker stops the job and sends CANCELLED.
    bool listens_to_cancel = false;
};

class Worker final : private engine::MessageSink {
public:
    /// Starts at once. Everything referred to must outlive the worker; bus, redis and executor are its node's.
    /// `on_crash_wanted` is called, from a step of this worker, when a job asks for the node to die: it must bring that
    /// about later, not in the call.
    Worker(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, engine::Redis& redis,
           WorkerConfig config, std::function<void()> on_crash_wanted);
    ~Worker() override;

    [[nodiscard]] int active_jobs() const { return static_cast<int>(running_.size()); }
    [[nodiscard]] std::size_t waiting_jobs() const { return waiting_.size(); }
    [[nodiscard]] const std::string& id() const { return config_.id; }

private:
    struct Job;

    void on_message(std::string_view subject, std::string_view payload) override;
    void on_cancel(const cap::JobCancel& cancel);
    void start_waiting();

    engine::Task<void> live();
    engine::Task<void> announce();
    engine::Task<void> beat();
    engine::Task<void> work(std::shared_ptr<Job> job);
    /// How the job will end and how long it will take; without a time it never ends by itself.
    struct Plan {
        WorkOutcome outcome;
        std::optional<engine::Duration> time;
    };
    [[nodiscard]] Plan plan_for(const cap::JobRequest& request);
    /// Waits for as long as a fault keeps this worker from working. False: cancelled meanwhile.
    engine::Task<bool> until_able(std::shared_ptr<Job> job);
    /// Waits for the service time, then until the worker is able. False: cancelled.
    engine::Task<bool> serve(std::shared_ptr<Job> job, std::optional<engine::Duration> time);
    /// The result of the job, its output stored where there is one.
    engine::Task<cap::JobResult> conclude(std::shared_ptr<Job> job, WorkOutcome outcome, bool finished);
    /// Sends one result; when the connection is away, as soon as it is back. Whether it was sent.
    engine::Task<bool> send_result(std::shared_ptr<Job> job, cap::JobResult result);
    /// The pointer to the stored result; empty when the store did not take it.
    engine::Task<std::string> store_result(std::shared_ptr<Job> job);
    engine::Task<bool> publish(std::string subject, std::string payload);

    [[nodiscard]] cap::JobResult result_of(const Job& job, cap::JobStatus status) const;
    [[nodiscard]] std::string heartbeat() const;
    [[nodiscard]] float cpu_load() const;
    [[nodiscard]] float drawn_load(const std::pair<double, double>& range) const;
    /// False: a fault has killed this node.
    [[nodiscard]] bool tell(Event event, const Job& job);
    [[nodiscard]] engine::MonoTime in(engine::Duration delay) const { return executor_.monotonic() + delay; }

    World& world_;
    NodeId node_;
    engine::Executor& executor_;
    engine::Bus& bus_;
    engine::Redis& redis_;
    const WorkerConfig config_;
    const OutcomeTable outcomes_;
    std::function<void()> on_crash_wanted_;

    std::deque<std::shared_ptr<Job>> waiting_;
    std::vector<std::shared_ptr<Job>> running_;   // in the order of their start
    std::map<std::string, std::int64_t> starts_;  // by job id
    std::size_t begun_ = 0;                       // jobs
    // Last, so that coroutines end before what they use.
    std::vector<std::unique_ptr<engine::Subscription>> subscriptions_;
    engine::Scope scope_;
};

}  // namespace lockstep::fakes
