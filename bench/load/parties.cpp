#include "bench/load/parties.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "bench/load/processes.h"
#include "fakes/testing/server_lines.h"

namespace lockstep::bench {

namespace {

using fakes::testing::ServerProcess;
using prod::testing::Durability;

/// For whatever takes a moment on an idle machine.
constexpr std::chrono::seconds kStartPatience{60};
/// Without a job that ends.
constexpr std::chrono::seconds kStall{60};
constexpr std::chrono::seconds kStopPatience{20};
constexpr std::chrono::seconds kSnapshotPatience{5};
constexpr std::array kWorkerIds{"bench-worker-1", "bench-worker-2"};
constexpr std::size_t kLogShown = 3000;

UnixMicros unix_now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string tail_of(const std::string& text) {
    return text.substr(text.size() > kLogShown ? text.size() - kLogShown : 0);
}

/// The program and what it has started: a shell does not hand a signal on.
void signal_tree(const prod::testing::Program& program, int number) {
    for (const pid_t pid : ProcessTable::read().tree(program.pid())) ::kill(pid, number);
}

}  // namespace

Parties::Parties(const Plan& plan, const Variant& variant, const Patience& patience)
    : plan_(plan), variant_(variant), patience_(patience), world_(Durability::none) {
    // Nobody dies here: what a crash leaves behind need not be found within seconds, and no job is to time out under load.
    world_.environment["NATS_JS_ACK_WAIT"] = "60s";
    world_.environment["LOCKSTEP_JOB_LOCK_TTL"] = "60s";
    world_.environment["LOCKSTEP_PENDING_AGE"] = "120s";
    world_.environment["TIMEOUT_CONFIG_PATH"] = std::filesystem::path(LOCKSTEP_DEPLOY_FOLDER) / "timeouts.yaml";
    if (variant.programs != world_.programs) {
        world_.stop_kernel();
        world_.programs = variant.programs;
        world_.start_kernel();
    }
    redis_ = std::make_unique<RedisReader>(world_.redis().port());
    start_redis_replicas();
    long slots = plan.slots;
    for (std::size_t i = 0; i < kWorkerIds.size(); ++i) {
        const long own = slots / static_cast<long>(kWorkerIds.size() - i);
        slots -= own;
        workers_.push_back(
            world_
                .add_worker(kWorkerIds[i], {"--service-time", fmt::format("{}ms", plan.service_time.count()),
                                            "--max-parallel", std::to_string(own)})
                .pid());
    }
    try_out();
}

Parties::~Parties() {
    for (const Program& scheduler : schedulers_) signal_tree(scheduler, SIGKILL);
}

void Parties::start_redis_replicas() {
    if (plan_.redis_replicas == 0) return;
    redis_->copy_without_delay();
    const int primary = world_.redis().port();
    for (int i = 0; i < plan_.redis_replicas; ++i)
        redis_replicas_.push_back(
            std::make_unique<ServerProcess>([primary](int port, const std::filesystem::path& folder) {
                return fakes::testing::redis_replica_line(port, folder, primary);
            }));
    if (!patience_.until([&] { return redis_->replicas_following() == plan_.redis_replicas; }, kStartPatience))
        throw std::runtime_error("the replicas of redis-server do not follow it");
}

/// What this costs (streams, scripts and plans that are not there yet) is not what is measured.
void Parties::try_out() {
    Program& scheduler = schedulers_.emplace_back(launch_scheduler());
    // Without a text to wait for, it is when the streams exist that something can be submitted.
    const auto submitted = [&] { return world_.ctl({"submit", "--id", "tried-out"}).exit_code == 0; };
    if (!patience_.until([&] { return is_ready(scheduler) && submitted(); }, kStartPatience))
        fail(variant_.ready_text.empty()
                 ? "nothing can be submitted: the scheduler has made no stream for it"
                 : fmt::format("the scheduler does not say that it takes jobs: expected \"{}\" in what it prints",
                               variant_.ready_text));
    if (!patience_.until([&] { return redis_->ended() == 1; }, kStartPatience)) fail("a first job does not end");
    ended_before_ = 1;
    // Who starts next knows the workers from it, and puts no job off until they are heard of. One that keeps none has to do without.
    const auto workers_are_noted = [&] {
        const std::string snapshot = redis_->text_at("sys:workers:snapshot");
        return std::ranges::all_of(kWorkerIds, [&](const char* id) { return snapshot.find(id) != std::string::npos; });
    };
    if (!patience_.until(workers_are_noted, kSnapshotPatience))
        fmt::print(stderr, "{}: the scheduler has written no snapshot of its workers; its start counts their absence\n",
                   variant_.name);
    Program going = std::move(scheduler);
    schedulers_.clear();
    stop(std::move(going));
}

Parties::Program Parties::launch_scheduler() {
    if (variant_.scheduler.empty()) return world_.launch("lockstepd", {}, variant_.environment);
    return world_.launch_shell("scheduler", variant_.scheduler, variant_.environment);
}

/// Without a text, once it runs.
bool Parties::is_ready(Program& scheduler) {
    if (scheduler.pid() > 0 && scheduler.wait(std::chrono::milliseconds(0))) fail("the scheduler ended by itself");
    return variant_.ready_text.empty() || scheduler.output().find(variant_.ready_text) != std::string::npos;
}

void Parties::stop(Program scheduler) {
    const auto family = ProcessTable::read().tree(scheduler.pid());
    for (const pid_t pid : family) ::kill(pid, SIGTERM);
    const auto gone = [&] {
        scheduler.wait(std::chrono::milliseconds(0));
        const ProcessTable table = ProcessTable::read();
        return std::ranges::all_of(family, [&](pid_t pid) { return table.tree(pid).empty(); });
    };
    if (patience_.until(gone, kStopPatience)) return;
    for (const pid_t pid : family) ::kill(pid, SIGKILL);
}

UnixMicros Parties::start_schedulers() {
    for (int i = 0; i < plan_.replicas; ++i) schedulers_.push_back(launch_scheduler());
    std::optional<UnixMicros> first;
    const auto all_ready = [&] {
        const auto ready = std::ranges::count_if(schedulers_, [&](Program& one) { return is_ready(one); });
        if (ready > 0 && !first) first = unix_now();
        return ready == plan_.replicas;
    };
    if (!patience_.until(all_ready, kStartPatience)) fail("the schedulers do not come to take jobs");
    if (!variant_.ready_text.empty()) return *first;
    if (!patience_.until([&] { return redis_->ended() > ended_before_; }, kStartPatience))
        fail("the schedulers do not see a first job to its end");
    return unix_now();
}

void Parties::start_idle_schedulers() {
    submit("first", 1, 0);
    start_schedulers();
    await_ends(1);
    ++ended_before_;
}

void Parties::submit(const std::string& prefix, long count, double rate) {
    const double cpu_before = cpu_of_ended_children();
    Program submitter = world_.launch("lockstepctl", {"submit", "--count", std::to_string(count), "--id", prefix,
                                                      "--rate", fmt::format("{:.6f}", rate)});
    const std::chrono::seconds planned(rate > 0 ? static_cast<long>(static_cast<double>(count) / rate) : 0);
    // A job that is submitted late is one whose end comes late, and tells of the schedulers: they have the time of a stall for it.
    std::optional<int> code;
    const auto over = [&] {
        code = submitter.wait(std::chrono::milliseconds(0));
        return code.has_value();
    };
    if (!patience_.until(over, 4 * planned + 5 * kStall)) fail("lockstepctl submit does not come to an end");
    submitter_cpu_seconds_ += cpu_of_ended_children() - cpu_before;
    if (code != 0) fail(fmt::format("lockstepctl submit ended with {}: {}", *code, tail_of(submitter.output())));
}

void Parties::await_ends(long count) {
    long ended = 0;
    while (ended < count) {
        const auto some = [&] {
            const long now = redis_->ended() - ended_before_;
            return std::exchange(ended, now) < now;
        };
        if (!patience_.until(some, kStall))
            fail(fmt::format("{} of {} jobs have ended, and for {} s no further one", ended, count, kStall.count()));
    }
}

Snapshot Parties::snapshot() {
    Snapshot now;
    now.redis = redis_->counts();
    const ProcessTable table = ProcessTable::read();
    now.machine_cpu_seconds = cpu_of_machine();
    now.at_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    auto& cpu = now.cpu_seconds;
    cpu[kRedis] = table.cpu_of(world_.redis().pid());
    cpu[kNats] = table.cpu_of(world_.nats().pid());
    cpu[kKernel] = table.cpu_of(world_.kernel().pid());
    cpu[kSubmitter] = submitter_cpu_seconds_;
    for (const pid_t worker : workers_) cpu[kWorkers] += table.cpu_of(worker);
    for (const Program& scheduler : schedulers_) cpu[kSchedulers] += table.cpu_of(scheduler.pid());
    for (const auto& replica : redis_replicas_) cpu[kRedisReplicas] += table.cpu_of(replica->pid());
    return now;
}

double Parties::peak_resident_bytes_of_schedulers() const {
    const ProcessTable table = ProcessTable::read();
    double most = 0;
    for (const Program& scheduler : schedulers_) most = std::max(most, peak_resident_bytes(table, scheduler.pid()));
    return most;
}

void Parties::fail(const std::string& why) {
    std::string logs;
    for (const Program& scheduler : schedulers_) logs += tail_of(scheduler.output()) + "----\n";
    throw Failed(fmt::format("{}: {}\n{}{}", variant_.name, why, logs, world_.logs()));
}

}  // namespace lockstep::bench
