// The reference worker: takes jobs from its subject, works on them, writes the output and reports. It does what the
// protocol asks of a worker and nothing clever.
//
// 1. A job that arrives is worked on, a second time as well: whether a job may come twice is the scheduler's business, and
//    tests count on seeing it.
// 2. The output is stored before the result that points to it is published.
// 3. A result that could not be handed to NATS is handed over when there is a connection again, and one that no stream has
//    acknowledged is said again: a cluster whose stream has no leader keeps nothing. Without a message id, as the protocol has it: a
//    second copy changes nothing, and a leader that has lost a message may still take the next one for its repetition.
// 4. A worker that is to stop finishes its jobs for as long as `drain` says. Those that are left then, begun or not, are ended and reported as
//    FAILED_RETRYABLE with kWorkerStopped, so that their submitters need not wait for the timeout.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/ports/redis.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "engine/wire/messages.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

/// The error code of a job that ended because its worker was stopped.
inline constexpr const char* kWorkerStopped = "worker_stopped";

struct WorkerOptions {
    enum class Mode : std::uint8_t { sleep, echo, command };

    std::string id;
    std::string pool = "default";
    std::string region;
    std::vector<std::string> capabilities;
    std::map<std::string, std::string> labels;
    int max_parallel = 8;
    engine::Duration heartbeat = std::chrono::seconds(5);
    engine::Duration data_ttl = std::chrono::hours(24);
    engine::Duration drain = std::chrono::seconds(30);

    Mode mode = Mode::echo;
    engine::Duration service_time{};  // sleep, and before an echo
    std::string command;              // run by the shell: input on stdin, output on stdout
    std::string record_file;          // gets one line per started execution
    bool report_cpu = false;          // tell the machine's load in heartbeats
};

class Worker final : public engine::MessageSink {
public:
    struct Ports {
        UvLoop& loop;
        engine::Clock& clock;
        engine::Redis& redis;
        engine::Bus& bus;
        engine::Log& log;
    };

    Worker(const Ports& ports, WorkerOptions options);
    ~Worker() override;

    /// Subscribes and announces itself. Jobs are worked on in the background from here on. The error says what failed.
    [[nodiscard]] engine::Task<tl::expected<void, std::string>> start();
    /// Asks for no more jobs, finishes those that it has (for `drain` at most), ends the others, and reports all of them.
    [[nodiscard]] engine::Task<void> drain();

    [[nodiscard]] std::uint64_t started() const { return started_; }
    [[nodiscard]] std::size_t active() const { return accepted_.size(); }

private:
    /// A job that has come and has no result yet.
    struct Accepted {
        std::string trace_id;
        std::optional<engine::MonoTime> begun{};
        bool cancelled = false;
        std::function<void()> interrupt{};  // stops the work, if it can be stopped
    };
    using AcceptedJobs = std::multimap<std::string, std::shared_ptr<Accepted>, std::less<>>;

    void on_message(std::string_view subject, std::string_view payload) override;
    [[nodiscard]] engine::Task<void> work(cap::JobRequest request, AcceptedJobs::iterator entry);
    [[nodiscard]] engine::Task<cap::JobResult> execute(const cap::JobRequest& request, std::shared_ptr<Accepted> job);
    /// The job is over, and has this result.
    void end(AcceptedJobs::iterator entry, cap::JobResult result);
    void end_all_that_is_left();
    [[nodiscard]] engine::Task<std::string> load_input(std::string context_ptr);
    [[nodiscard]] engine::Task<bool> store_output(std::string key, std::string output);
    [[nodiscard]] engine::Task<void> report(cap::JobResult result, std::string trace_id);
    [[nodiscard]] engine::Task<void> beat();
    [[nodiscard]] engine::Task<void> announce();
    [[nodiscard]] std::string heartbeat() const;
    void record(const std::string& job);

    Ports ports_;
    const WorkerOptions options_;
    engine::Semaphore slots_;
    AcceptedJobs accepted_;
    std::uint64_t started_ = 0;
    bool draining_ = false;
    int record_descriptor_ = -1;
    std::vector<std::unique_ptr<engine::Subscription>> subscriptions_;
    engine::Scope jobs_;
    engine::Scope reports_;
    engine::Scope background_;
};

}  // namespace lockstep::prod
