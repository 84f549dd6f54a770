#include "fakes/worker/worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/ports/clock.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "fakes/forever.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
namespace wire = engine::wire;

/// How often something that could not be sent is tried again.
constexpr engine::Duration kRetryPause = 250ms;
constexpr engine::Duration kStorePatience = 2s;
constexpr int kStoreAttempts = 5;
/// How often a worker whose work a fault has stopped looks whether it may go on.
constexpr engine::Duration kStoppedPoll = 250ms;
/// What an overloaded worker reports; the scheduler's threshold is 90.
constexpr float kOverloadedCpu = 97.0F;

std::string env_of(const cap::JobRequest& request, const char* key) {
    const auto found = request.env().find(key);
    return found == request.env().end() ? std::string() : found->second;
}

/// Nothing when there is none; 0 for what is no number, or a negative one.
std::optional<std::int64_t> number_in_env(const cap::JobRequest& request, const char* key) {
    const std::string text = env_of(request, key);
    if (text.empty()) return std::nullopt;
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return std::max<std::int64_t>(number, 0);
}

/// Without the protocol's prefix: SUCCEEDED, FAILED_FATAL ...
std::string short_name(cap::JobStatus status) {
    return cap::JobStatus_Name(status).substr(std::string_view("JOB_STATUS_").size());
}

}  // namespace

/// One message that is being executed or waits for it.
struct Worker::Job {
    cap::JobRequest request;
    std::string trace_id;
    engine::MonoTime started{};
    engine::Event cancelled;
};

Worker::Worker(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, engine::Redis& redis,
               WorkerConfig config, std::function<void()> on_crash_wanted)
    : world_(world),
      node_(node),
      executor_(executor),
      bus_(bus),
      redis_(redis),
      config_(std::move(config)),
      outcomes_(config_.outcomes),
      on_crash_wanted_(std::move(on_crash_wanted)),
      scope_(executor) {
    const std::string subject = wire::worker_subject(engine::WorkerId(config_.id));
    subscriptions_.push_back(bus_.subscribe(subject, subject, *this));  // the SDK's queue group is the subject itself
    if (config_.listens_to_cancel) {
        subscriptions_.push_back(bus_.subscribe(std::string(wire::kSubjectCancel), "", *this));
    }
    scope_.spawn(live());
}

Worker::~Worker() = default;

void Worker::on_message(std::string_view, std::string_view payload) {
    auto packet = wire::decode(payload);
    if (!packet) return;  // what is corrupt is dropped, as the SDK does
    if (packet->has_job_cancel()) return on_cancel(packet->job_cancel());
    if (!packet->has_job_request()) return;
    auto job = std::make_shared<Job>();
    job->request = std::move(*packet->mutable_job_request());
    job->trace_id = packet->trace_id();
    waiting_.push_back(std::move(job));
    start_waiting();
}

void Worker::on_cancel(const cap::JobCancel& cancel) {
    // A job that waits is taken up in its turn all the same, finds out then, and is not executed.
    for (const auto& job : waiting_) {
        if (job->request.job_id() == cancel.job_id()) job->cancelled.set();
    }
    for (const auto& job : running_) {
        if (job->request.job_id() == cancel.job_id()) job->cancelled.set();
    }
}

void Worker::start_waiting() {
    const auto room = [this] { return config_.max_parallel_jobs <= 0 || active_jobs() < config_.max_parallel_jobs; };
    while (!waiting_.empty() && room()) {
        running_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        scope_.spawn(work(running_.back()));
    }
}

engine::Task<void> Worker::live() {
    co_await announce();  // returns once there is a connection, so that the first heartbeat is not lost
    if (config_.heartbeat_phase > engine::Duration::zero()) co_await engine::SleepUntil(in(config_.heartbeat_phase));
    co_await beat();
}

engine::Task<void> Worker::announce() {
    cap::Handshake handshake;
    handshake.set_component_id(config_.id);
    handshake.set_role(cap::COMPONENT_ROLE_WORKER);
    handshake.add_supported_versions(wire::kProtocolVersion);
    for (const auto& capability : config_.capabilities) (*handshake.mutable_capabilities())[capability] = true;
    const auto packet = wire::make_packet(std::move(handshake), "", config_.id, world_.wall(node_));
    co_await publish(std::string(wire::kSubjectHandshake), wire::serialise(packet));
}

engine::Task<void> Worker::beat() {
    while (true) {
        if (!world_.faults().worker_silent(node_)) {
            const auto sent = co_await bus_.publish_core(std::string(wire::kSubjectHeartbeat), heartbeat());
            // One that could not be sent is not made up for: the next one says it all.
            if (sent.applied()) {
                const bool lives = world_.trace().emit(
                    Event{.kind = EventKind::heartbeat, .node = node_, .name = config_.id, .number = active_jobs()});
                if (!lives) co_await forever();
            }
        }
        co_await engine::SleepUntil(in(config_.heartbeat));
    }
}

float Worker::drawn_load(const std::pair<double, double>& range) const {
    const auto [least, most] = range;
    constexpr std::uint64_t kSteps = 1000;
    const auto drawn = static_cast<double>(world_.draws("worker load").next(config_.id).below(kSteps + 1));
    return static_cast<float>(least + (most - least) * drawn / static_cast<double>(kSteps));
}

float Worker::cpu_load() const {
    if (world_.faults().worker_overloaded(node_)) return kOverloadedCpu;
    if (config_.cpu_load) return drawn_load(*config_.cpu_load);
    // A busy worker's load stays below the threshold of overload: that is judged by its jobs.
    const int places = std::max(config_.max_parallel_jobs, 1);
    return 80.0F * static_cast<float>(std::min(active_jobs(), places)) / static_cast<float>(places);
}

std::string Worker::heartbeat() const {
    cap::Heartbeat beat;
    beat.set_worker_id(config_.id);
    beat.set_pool(config_.pool);
    beat.set_region(config_.region);
    beat.set_type(config_.type);
    beat.set_active_jobs(active_jobs());
    beat.set_max_parallel_jobs(std::max(config_.max_parallel_jobs, 0));
    beat.set_cpu_load(cpu_load());
    beat.set_gpu_utilization(config_.gpu_load ? drawn_load(*config_.gpu_load) : 0.0F);
    for (const auto& capability : config_.capabilities) beat.add_capabilities(capability);
    for (const auto& [label, value] : config_.labels) (*beat.mutable_labels())[label] = value;
    return wire::serialise(wire::make_packet(std::move(beat), "", config_.id, world_.wall(node_)));
}

Worker::Plan Worker::plan_for(const cap::JobRequest& request) {
    using Kind = WorkOutcome::Kind;
    Rng rng = world_.draws("workers").next(request.job_id());  // try n of a job goes as it goes, wherever and whenever
    WorkOutcome outcome = outcomes_.draw(rng);
    engine::Duration time = config_.service_time.draw(rng);
    if (begun_ < config_.first_outcomes.size())
        outcome = WorkOutcome::named(config_.first_outcomes[begun_]).value_or(outcome);
    ++begun_;
    if (const auto directed = WorkOutcome::named(env_of(request, "SIM_OUTCOME"))) outcome = *directed;
    if (const auto millis = number_in_env(request, "SIM_SERVICE_MS")) time = std::chrono::milliseconds{*millis};
    switch (outcome.kind) {
        case Kind::hang: return {outcome, std::nullopt};
        case Kind::late: return {outcome, time + config_.late_by};
        case Kind::early: return {outcome, engine::Duration::zero()};
        case Kind::status:
        case Kind::crash:
        case Kind::progress:
        case Kind::contradict:
        case Kind::duplicate: break;
    }
    return {outcome, time};
}

engine::Task<void> Worker::work(std::shared_ptr<Job> job) {
    using Kind = WorkOutcome::Kind;
    const bool begun = co_await until_able(job);
    job->started = executor_.monotonic();
    Plan plan{{}, std::nullopt};
    bool finished = false;
    if (begun) {
        plan = plan_for(job->request);
        const std::int64_t starts = ++starts_[job->request.job_id()];
        if (!tell(Event{.kind = EventKind::job_started, .number = starts}, *job)) co_await forever();
        if (plan.outcome.kind == Kind::progress) co_await send_result(job, result_of(*job, cap::JOB_STATUS_RUNNING));
        finished = co_await serve(job, plan.time);
    }
    if (finished && plan.outcome.kind == Kind::crash) {
        on_crash_wanted_();
        co_await forever();
    }
    const cap::JobResult result = co_await conclude(job, plan.outcome, finished);
    bool sent = co_await send_result(job, result);
    if (finished && plan.outcome.kind == Kind::duplicate) {
        co_await engine::SleepUntil(in(config_.duplicate_after));
        sent = co_await send_result(job, result);
    }
    if (finished && plan.outcome.kind == Kind::contradict) {
        co_await engine::SleepUntil(in(config_.duplicate_after));
        sent = co_await send_result(job, result_of(*job, cap::JOB_STATUS_FAILED));
    }
    const std::string status = short_name(result.status());
    if (!tell(Event{.kind = EventKind::job_finished, .flag = sent, .to = status}, *job)) co_await forever();
    std::erase(running_, job);
    start_waiting();
}

engine::Task<bool> Worker::until_able(std::shared_ptr<Job> job) {
    while (world_.faults().worker_zombie(node_)) {
        const bool cancelled = co_await job->cancelled.wait_until(in(kStoppedPoll));
        if (cancelled) co_return false;
    }
    co_return !job->cancelled.is_set();
}

engine::Task<bool> Worker::serve(std::shared_ptr<Job> job, std::optional<engine::Duration> time) {
    if (!time) {
        co_await job->cancelled.wait();
        co_return false;
    }
    const bool cancelled = co_await job->cancelled.wait_until(in(*time));
    if (cancelled) co_return false;
    co_return co_await until_able(job);
}

engine::Task<cap::JobResult> Worker::conclude(std::shared_ptr<Job> job, WorkOutcome outcome, bool finished) {
    cap::JobResult result = result_of(*job, finished ? outcome.status : cap::JOB_STATUS_CANCELLED);
    // An early result is on its way before the scheduler knows of the dispatch: it does not wait for the store.
    const bool has_output = result.status() == cap::JOB_STATUS_SUCCEEDED && outcome.kind != WorkOutcome::Kind::early;
    if (!has_output) co_return result;
    result.set_result_ptr(co_await store_result(job));
    if (result.result_ptr().empty()) {
        result = result_of(*job, cap::JOB_STATUS_FAILED_RETRYABLE);
        result.set_error_code("result_store_failed");
        result.set_error_message("the result could not be stored");
    }
    co_return result;
}

cap::JobResult Worker::result_of(const Job& job, cap::JobStatus status) const {
    cap::JobResult result;
    result.set_job_id(job.request.job_id());
    result.set_status(status);
    result.set_worker_id(config_.id);
    result.set_execution_ms(engine::to_millis(executor_.monotonic() - job.started));
    switch (status) {
        case cap::JOB_STATUS_FAILED:
        case cap::JOB_STATUS_FAILED_RETRYABLE:
        case cap::JOB_STATUS_FAILED_FATAL:
            result.set_error_code("worker_error");
            result.set_error_message("the work failed");
            break;
        case cap::JOB_STATUS_TIMEOUT:
            result.set_error_code("timeout");
            result.set_error_message("the work took too long");
            break;
        case cap::JOB_STATUS_DENIED:
            result.set_error_code("permission_denied");
            result.set_error_message("the worker may not do this");
            break;
        default: break;
    }
    return result;
}

engine::Task<std::string> Worker::store_result(std::shared_ptr<Job> job) {
    const std::string& id = job->request.job_id();
    const std::string key = "res:" + id;
    std::string output = env_of(job->request, "SIM_OUTPUT");
    if (output.empty()) output = "done";
    const auto bytes = static_cast<std::size_t>(number_in_env(job->request, "SIM_OUTPUT_BYTES").value_or(0));
    if (output.size() < bytes) output.resize(bytes, '.');
    const nlohmann::json body{{"job_id", id}, {"output", output}, {"worker_id", config_.id}};
    const std::string text = wire::json_text(body);
    const std::string seconds = fmt::format("{}", std::chrono::floor<std::chrono::seconds>(config_.result_ttl).count());
    for (int attempt = 0; attempt < kStoreAttempts; ++attempt) {
        engine::RedisCommand set{"SET", key, text, "EX", seconds};
        // Unknown is tried again like not applied: storing the same bytes twice is storing them once.
        const auto stored = co_await redis_.command(std::move(set), in(kStorePatience));
        if (stored.applied()) co_return "redis://" + key;
        co_await engine::SleepUntil(in(kRetryPause));
    }
    co_return std::string();
}

engine::Task<bool> Worker::send_result(std::shared_ptr<Job> job, cap::JobResult result) {
    const std::string status = short_name(result.status());
    const auto packet = wire::make_packet(std::move(result), job->trace_id, config_.id, world_.wall(node_));
    const bool sent = co_await publish(std::string(wire::kSubjectResult), wire::serialise(packet));
    if (sent && !tell(Event{.kind = EventKind::result, .to = status}, *job)) co_await forever();
    co_return sent;
}

engine::Task<bool> Worker::publish(std::string subject, std::string payload) {
    while (true) {
        const auto sent = co_await bus_.publish_core(subject, payload);
        switch (sent.kind()) {
            case engine::OutcomeKind::applied: co_return true;
            case engine::OutcomeKind::unknown: co_return false;  // the SDK does not learn that it may be lost
            case engine::OutcomeKind::not_applied: break;
        }
        co_await engine::SleepUntil(in(kRetryPause));
    }
}

bool Worker::tell(Event event, const Job& job) {
    event.node = node_;
    event.job = job.request.job_id();
    event.name = config_.id;
    return world_.trace().emit(event);
}

}  // namespace lockstep::fakes
