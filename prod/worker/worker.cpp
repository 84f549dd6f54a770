#include "prod/worker/worker.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "engine/runtime/timeout.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "prod/worker/child_process.h"

namespace lockstep::prod {

using engine::LogLevel;
namespace wire = engine::wire;

namespace {

constexpr auto kRedisTimeout = std::chrono::seconds(5);
constexpr int kStoreAttempts = 5;
constexpr auto kStorePause = std::chrono::milliseconds(500);
/// How long a worker that wants to stop still listens after it has told everybody that it is full: jobs that were sent
/// before its last heartbeat arrived must not get lost.
constexpr auto kLastCall = std::chrono::milliseconds(500);
/// For the acknowledgement of a report, and for all of them.
constexpr auto kReportTimeout = std::chrono::seconds(2);
constexpr auto kReportPatience = std::chrono::minutes(2);
/// How long a worker that stops still tries to hand over its reports, once it works on nothing any more.
constexpr auto kLastReports = std::chrono::seconds(10);
constexpr std::string_view kPointerScheme = "redis://";

float machine_load_percent() {
    double load = 0;
    if (getloadavg(&load, 1) != 1) return 0;
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    return static_cast<float>(std::min(100.0, 100.0 * load / cores));
}

engine::Task<bool> all_ended(engine::Scope& tasks) {
    co_await tasks.join();
    co_return true;
}

/// As sysexits.h has them: EX_TEMPFAIL invites to try again, EX_DATAERR says that it will never work.
cap::JobStatus status_of(const ChildResult& ended) {
    constexpr int kTryAgain = 75;
    constexpr int kNeverWorks = 65;
    if (!ended.error.empty() || ended.signal != 0) return cap::JOB_STATUS_FAILED;
    if (ended.exit_status == kTryAgain) return cap::JOB_STATUS_FAILED_RETRYABLE;
    return ended.exit_status == kNeverWorks ? cap::JOB_STATUS_FAILED_FATAL : cap::JOB_STATUS_FAILED;
}

}  // namespace

Worker::Worker(const Ports& ports, WorkerOptions options)
    : ports_(ports),
      options_(std::move(options)),
      slots_(static_cast<std::size_t>(options_.max_parallel)),
      jobs_(ports.loop),
      reports_(ports.loop),
      background_(ports.loop) {}

Worker::~Worker() {
    if (record_descriptor_ >= 0) close(record_descriptor_);
}

engine::Task<tl::expected<void, std::string>> Worker::start() {
    if (!options_.record_file.empty()) {
        record_descriptor_ = open(options_.record_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (record_descriptor_ < 0)
            co_return tl::make_unexpected(
                fmt::format("cannot write {}: {}", options_.record_file, std::strerror(errno)));
    }
    const std::string subject = wire::worker_subject(engine::WorkerId(options_.id));
    // The group is the subject itself: a second process with the same id shares the jobs instead of doubling them.
    subscriptions_.push_back(ports_.bus.subscribe(subject, subject, *this));
    subscriptions_.push_back(ports_.bus.subscribe(std::string(wire::kSubjectCancel), "", *this));
    co_await announce();
    background_.spawn(beat());
    co_return tl::expected<void, std::string>();
}

engine::Task<void> Worker::announce() {
    cap::Handshake handshake;
    handshake.set_component_id(options_.id);
    handshake.set_role(cap::COMPONENT_ROLE_WORKER);
    handshake.add_supported_versions(wire::kProtocolVersion);
    const auto packet = wire::make_packet(std::move(handshake), "", options_.id, ports_.clock.now());
    (void)co_await ports_.bus.publish_core(std::string(wire::kSubjectHandshake), wire::serialise(packet));
}

std::string Worker::heartbeat() const {
    cap::Heartbeat beat;
    beat.set_worker_id(options_.id);
    beat.set_pool(options_.pool);
    beat.set_region(options_.region);
    beat.set_type("lockstep-worker");
    beat.set_max_parallel_jobs(options_.max_parallel);
    // A worker that is about to stop calls itself full, and gets nothing more.
    beat.set_active_jobs(draining_ ? options_.max_parallel : static_cast<int>(accepted_.size() + reports_.size()));
    if (options_.report_cpu) beat.set_cpu_load(machine_load_percent());
    for (const auto& capability : options_.capabilities) beat.add_capabilities(capability);
    for (const auto& [key, value] : options_.labels) (*beat.mutable_labels())[key] = value;
    return wire::serialise(wire::make_packet(std::move(beat), "", options_.id, ports_.clock.now()));
}

engine::Task<void> Worker::beat() {
    while (true) {
        // One that is not sent is made up for by the next.
        (void)co_await ports_.bus.publish_core(std::string(wire::kSubjectHeartbeat), heartbeat());
        co_await ports_.clock.sleep(options_.heartbeat);
    }
}

void Worker::on_message(std::string_view subject, std::string_view payload) {
    auto packet = wire::decode(payload);
    if (!packet) {
        ports_.log.event(LogLevel::warn, "message not decodable",
                         {{"subject", subject}, {"error", packet.error().detail}});
        return;
    }
    if (packet->has_job_request()) {
        cap::JobRequest& request = *packet->mutable_job_request();
        const auto entry =
            accepted_.emplace(request.job_id(), std::make_shared<Accepted>(Accepted{.trace_id = packet->trace_id()}));
        jobs_.spawn(work(std::move(request), entry));
    } else if (packet->has_job_cancel()) {
        const auto [first, last] = accepted_.equal_range(packet->job_cancel().job_id());
        for (auto it = first; it != last; ++it) {
            it->second->cancelled = true;
            if (it->second->interrupt) it->second->interrupt();
        }
    }
}

void Worker::record(const std::string& job) {
    ++started_;
    if (record_descriptor_ < 0) return;
    const std::string line = fmt::format("{} {} {}\n", job, engine::to_unix_micros(ports_.clock.now()), options_.id);
    // One write, so that lines of several workers do not mix.
    if (write(record_descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        ports_.log.event(LogLevel::error, "execution not recorded", {{"job", job}});
}

engine::Task<void> Worker::work(cap::JobRequest request, AcceptedJobs::iterator entry) {
    const auto slot = co_await slots_.acquire();
    const std::shared_ptr<Accepted> job = entry->second;
    cap::JobResult result;
    if (!job->cancelled) {
        job->begun = ports_.clock.monotonic();
        record(request.job_id());
        result = co_await execute(request, job);
    }
    end(entry, std::move(result));
}

void Worker::end(AcceptedJobs::iterator entry, cap::JobResult result) {
    const Accepted& job = *entry->second;
    if (job.cancelled) {
        result.set_status(cap::JOB_STATUS_CANCELLED);
        result.set_error_code("cancelled");
    }
    result.set_job_id(entry->first);
    result.set_worker_id(options_.id);
    if (job.begun) result.set_execution_ms(engine::to_millis(ports_.clock.monotonic() - *job.begun));
    reports_.spawn(report(std::move(result), job.trace_id));
    accepted_.erase(entry);
}

void Worker::end_all_that_is_left() {
    jobs_.cancel();  // commands are killed
    while (!accepted_.empty()) {
        const auto entry = accepted_.begin();
        cap::JobResult result;
        result.set_status(cap::JOB_STATUS_FAILED_RETRYABLE);
        result.set_error_code(kWorkerStopped);
        result.set_error_message(
            entry->second->begun
                ? fmt::format("the worker was stopped, and the job was not done within {}, for which it drains",
                              engine::format_duration(options_.drain))
                : std::string("the worker was stopped before it began the job"));
        ports_.log.event(LogLevel::warn, "job ended: the worker stops",
                         {{"job_id", entry->first}, {"begun", entry->second->begun.has_value()}});
        end(entry, std::move(result));
    }
}

engine::Task<std::string> Worker::load_input(std::string context_ptr) {
    std::string_view key = context_ptr;
    if (key.starts_with(kPointerScheme)) key.remove_prefix(kPointerScheme.size());
    if (key.empty()) co_return std::string();
    std::vector<std::string> get{"GET", std::string(key)};
    const auto reply = co_await ports_.redis.command(std::move(get), ports_.clock.in(kRedisTimeout));
    if (reply.applied()) co_return std::string(reply.value().text());
    ports_.log.event(LogLevel::warn, "input not read", {{"key", key}, {"error", reply.failure().detail}});
    co_return std::string();
}

engine::Task<bool> Worker::store_output(std::string key, std::string output) {
    for (int attempt = 0; attempt < kStoreAttempts; ++attempt) {
        std::vector<std::string> set{"SET", key, output, "PX", std::to_string(engine::to_millis(options_.data_ttl))};
        const auto reply = co_await ports_.redis.command(std::move(set), ports_.clock.in(kRedisTimeout));
        if (reply.applied()) co_return true;
        ports_.log.event(LogLevel::warn, "output not stored", {{"key", key}, {"error", reply.failure().detail}});
        co_await ports_.clock.sleep(kStorePause);  // the same bytes again: harmless whatever became of the first
    }
    co_return false;
}

engine::Task<cap::JobResult> Worker::execute(const cap::JobRequest& request, std::shared_ptr<Accepted> job) {
    cap::JobResult result;
    result.set_status(cap::JOB_STATUS_SUCCEEDED);
    std::string output = "{}";
    if (options_.mode != WorkerOptions::Mode::sleep) output = co_await load_input(request.context_ptr());
    if (options_.mode == WorkerOptions::Mode::command) {
        ChildProcess child(ports_.loop, options_.command,
                           {"CORDUM_JOB_ID=" + request.job_id(), "CORDUM_JOB_TOPIC=" + request.topic()},
                           std::move(output));
        job->interrupt = [&child] { child.terminate(); };
        const engine::Duration limit = wire::deadline_of(request);
        std::optional<ChildResult> ended;
        if (limit.count() > 0)
            ended = co_await engine::with_deadline(ports_.loop, ports_.clock.in(limit), child.finished());
        else
            ended = co_await child.finished();
        job->interrupt = nullptr;
        if (!ended) {
            result.set_status(cap::JOB_STATUS_TIMEOUT);
            result.set_error_code("timeout");
            result.set_error_message("the command did not end in time");
            co_return result;
        }
        if (!ended->error.empty() || ended->exit_status != 0 || ended->signal != 0) {
            result.set_status(status_of(*ended));
            result.set_error_code("command_failed");
            result.set_error_message(!ended->error.empty() ? ended->error
                                     : ended->signal != 0  ? fmt::format("ended by signal {}", ended->signal)
                                                           : fmt::format("exit status {}", ended->exit_status));
        }
        output = std::move(ended->output);
    } else if (options_.service_time.count() > 0) {
        co_await ports_.clock.sleep(options_.service_time);
    }
    const std::string key = "res:" + request.job_id();
    const bool stored = co_await store_output(key, std::move(output));
    if (stored) {
        result.set_result_ptr(std::string(kPointerScheme) + key);
    } else if (result.status() == cap::JOB_STATUS_SUCCEEDED) {
        result.set_status(cap::JOB_STATUS_FAILED_RETRYABLE);
        result.set_error_code("output_not_stored");
    }
    co_return result;
}

engine::Task<void> Worker::report(cap::JobResult result, std::string trace_id) {
    const auto packet = wire::make_packet(std::move(result), std::move(trace_id), options_.id, ports_.clock.now());
    const std::string bytes = wire::serialise(packet);
    std::optional<engine::MonoTime> give_up;
    while (true) {
        const auto sent =
            co_await ports_.bus.publish(std::string(wire::kSubjectResult), bytes, "", ports_.clock.in(kReportTimeout));
        if (sent.applied()) co_return;
        const bool unknown = sent.kind() == engine::OutcomeKind::unknown;
        if (unknown && !give_up) give_up = ports_.clock.in(kReportPatience);
        if (give_up && ports_.clock.monotonic() >= *give_up) {
            ports_.log.event(LogLevel::warn, "no stream has acknowledged a result",
                             {{"job_id", packet.job_result().job_id()}, {"error", sent.failure().detail}});
            co_return;
        }
        // A stream that does not answer has taken its time already; one that refuses answers at once.
        if (sent.failure().cause != engine::FailureCause::timeout)
            co_await ports_.clock.sleep(unknown ? engine::Duration(kReportTimeout) : engine::Duration(kStorePause));
    }
}

engine::Task<void> Worker::drain() {
    draining_ = true;
    (void)co_await ports_.bus.publish_core(std::string(wire::kSubjectHeartbeat), heartbeat());
    co_await ports_.clock.sleep(kLastCall);
    subscriptions_.clear();
    const engine::MonoTime deadline = ports_.clock.in(options_.drain);
    const auto done = co_await engine::with_deadline(ports_.loop, deadline, all_ended(jobs_));
    if (!done) end_all_that_is_left();
    const auto reported =
        co_await engine::with_deadline(ports_.loop, ports_.clock.in(kLastReports), all_ended(reports_));
    if (!reported)
        ports_.log.event(LogLevel::warn, "results given up: no stream has acknowledged them",
                         {{"count", reports_.size()}});
    background_.cancel();
    jobs_.cancel();
    reports_.cancel();
}

}  // namespace lockstep::prod
