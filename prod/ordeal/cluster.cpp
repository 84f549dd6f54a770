#include "prod/ordeal/cluster.h"

#include <fmt/core.h>
#include <signal.h>

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "engine/runtime/invariant.h"
#include "fakes/testing/server_lines.h"

namespace lockstep::prod::ordeal {

namespace {

using fakes::testing::find_program;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Program;

/// A supervisor's pause before it starts again what has ended by itself.
constexpr milliseconds kRestartPause{500};
/// By then a replica that was asked to stop has given up what it could not finish: shutdown_grace is half of it.
constexpr seconds kStopPatience{20};
/// What is there after the start is there: connections, caches of scripts, the first heartbeats.
constexpr seconds kGrownUp{4};
constexpr std::size_t kLastWords = 1500;

constexpr seconds kAckWait{6};
constexpr seconds kReconcilerInterval{1};
constexpr seconds kDispatchTimeout{20};
constexpr seconds kRunningTimeout{20};
constexpr seconds kInFlightLife{120};
static_assert(kAckWait + 2 * kReconcilerInterval < kDispatchTimeout);

const std::array<WorkerKind, 3> kWorkerKinds{
    {{"quick", milliseconds(50)}, {"steady", milliseconds(400)}, {"slow", milliseconds(2500)}}};

std::string loopback(int port) { return fmt::format("127.0.0.1:{}", port); }

long number_after(const std::string& text, const std::string& word) {
    const auto at = text.find(word);
    return at == std::string::npos ? 0 : std::stol(text.substr(at + word.size()));
}

int port_in(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

std::string slurp(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

struct Use {
    long descriptors = 0;
    long resident_kb = 0;
    long most_kb = 0;
};

Use use_of(pid_t pid) {
    const std::filesystem::path process = fmt::format("/proc/{}", pid);
    Use use;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(process / "fd", error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
        ++use.descriptors;
    const std::string status = slurp(process / "status");
    use.resident_kb = number_after(status, "VmRSS:");
    use.most_kb = number_after(status, "VmHWM:");
    return use;
}

bool is_of_a_server(DisturbanceKind kind) {
    return kind == DisturbanceKind::nats_kill || kind == DisturbanceKind::nats_freeze ||
           kind == DisturbanceKind::redis_kill || kind == DisturbanceKind::redis_freeze;
}

std::unique_ptr<Servers> start_servers(const Shape& shape) {
    if (!shape.available) return single_servers();
    return available_servers(shape.lossy ? Durability::none : Durability::required);
}

std::string go_seconds(seconds span) { return fmt::format("{}s", span.count()); }

}  // namespace

std::vector<std::string> Cluster::missing_servers() {
    std::vector<std::string> missing;
    for (const char* name : {"redis-server", "nats-server"}) {
        if (!find_program(name)) missing.emplace_back(name);
    }
    return missing;
}

Rules Cluster::rules(const Shape& shape) {
    return {kDispatchTimeout, kRunningTimeout, kAckWait + 2 * kReconcilerInterval,
            kInFlightLife,    shape.available, shape.lossy};
}

std::vector<std::string> Cluster::topics() {
    std::vector<std::string> topics;
    for (const WorkerKind& kind : kWorkerKinds) topics.push_back("job." + kind.pool);
    return topics;
}

std::string Cluster::topic_of_approvals() { return "job.gated"; }

Cluster::Cluster(const Shape& shape, std::filesystem::path programs, const Program::Environment& more)
    : programs_(std::move(programs)), shape_(shape), servers_(start_servers(shape)) {
    write_documents();
    add_kernel();
    must_say(kernel_, "serving policy");
    for (int i = 0; i < shape.workers; ++i)
        add_worker(kWorkerKinds.at(static_cast<std::size_t>(i) % kWorkerKinds.size()));
    for (int i = 0; i < shape.replicas; ++i) add_replica(more);
    for (Place& replica : replicas_) must_say(replica, " ready instance=");
    for (Place& worker : workers_) must_say(worker, " ready");
}

void Cluster::write_documents() const {
    std::ofstream(folder_.path() / "timeouts.yaml") << fmt::format(
        "reconciler: {{dispatch_timeout_seconds: {}, running_timeout_seconds: {}, scan_interval_seconds: {}}}\n",
        kDispatchTimeout.count(), kRunningTimeout.count(), kReconcilerInterval.count());
    std::ofstream pools(folder_.path() / "pools.yaml");
    pools << "topics:\n  job.gated: quick\n  job.hostile: hostile\n";
    for (const WorkerKind& kind : kWorkerKinds) pools << fmt::format("  job.{}: {}\n", kind.pool, kind.pool);
    std::ofstream(folder_.path() / "safety.yaml") << R"(version: ordeal
default_decision: deny
rules:
  - {id: gated, decision: require_approval, reason: a person decides, match: {topics: [job.gated]}}
  - {id: secrets, decision: deny, reason: secrets stay inside, match: {risk_tags: [secrets]}}
  - {id: everyday, decision: allow, match: {topics: ["job.*"]}}
input_rules:
  - {id: cards, decision: deny, match: {topics: ["job.hostile"], content_patterns: ["a.*b|a"]}}
)";
}

void Cluster::add_kernel() {
    kernel_.name = "kernel";
    kernel_.program = "lockstep-kernel";
    kernel_.arguments = {"--listen", loopback(kernel_port_.number())};
    kernel_.environment = {{"SAFETY_POLICY_PATH", folder_.path() / "safety.yaml"}};
    start(kernel_);
}

void Cluster::add_replica(const Program::Environment& more) {
    std::string redis_url = servers_->redis_url();
    std::string nats_url = servers_->nats_url();
    // Who is told of other servers by those that it reaches cannot be kept behind a relay.
    if (!shape_.available) {
        Links& links = links_.emplace_back();
        links.redis = std::make_unique<Relay>(port_in(redis_url));
        links.nats = std::make_unique<Relay>(port_in(nats_url));
        redis_url = "redis://" + loopback(links.redis->port());
        nats_url = "nats://" + loopback(links.nats->port());
    }
    Place& replica = replicas_.emplace_back();
    replica.name = fmt::format("replica-{}", replicas_.size() - 1);
    replica.program = "lockstepd";
    // Short times, so that what a blow leaves behind is dealt with within the ordeal.
    replica.environment = {{"CORDUM_INSTANCE_ID", replica.name},
                           {"REDIS_URL", redis_url},
                           {"NATS_URL", nats_url},
                           {"SAFETY_KERNEL_ADDR", loopback(kernel_port_.number())},
                           {"POOL_CONFIG_PATH", folder_.path() / "pools.yaml"},
                           {"TIMEOUT_CONFIG_PATH", folder_.path() / "timeouts.yaml"},
                           {"SCHEDULER_METRICS_ADDR", "127.0.0.1:0"},
                           {"SCHEDULER_DLQ_MAX_SIZE", "1000000"},
                           {"NATS_JS_ACK_WAIT", go_seconds(kAckWait)},
                           {"LOCKSTEP_BUS_INFLIGHT_TTL", go_seconds(kInFlightLife)},
                           {"LOCKSTEP_RECONCILER_INTERVAL", go_seconds(kReconcilerInterval)},
                           {"LOCKSTEP_JOB_LOCK_TTL", "6s"},
                           {"LOCKSTEP_BACKOFF_BASE", "200ms"},
                           {"LOCKSTEP_BACKOFF_MAX", "2s"},
                           {"LOCKSTEP_BACKOFF_JITTER", "100ms"},
                           {"LOCKSTEP_MAX_SCHEDULING_RETRIES", "200"},
                           {"LOCKSTEP_RETRY_DELAY_NO_WORKERS", "300ms"},
                           {"LOCKSTEP_SAFETY_UNAVAILABLE_DELAY", "500ms"},
                           {"LOCKSTEP_CIRCUIT_OPEN_FOR", "1s"},
                           {"LOCKSTEP_PENDING_AGE", "12s"},
                           {"LOCKSTEP_REPLAYER_INTERVAL", "2s"},
                           {"LOCKSTEP_WORKER_TTL", "5s"},
                           {"LOCKSTEP_HYDRATED_WORKER_TTL", "3s"},
                           {"LOCKSTEP_SNAPSHOT_INTERVAL", "1s"}};
    // What is sent while a stream has no leader is answered by nobody, and holds the lock of its job for as long as it is looked for.
    if (shape_.available)
        replica.environment.insert({{"NATS_JS_REPLICAS", "3"},
                                    {"LOCKSTEP_PUBLISH_TIMEOUT", "2s"},
                                    {"LOCKSTEP_PUBLISH_SETTLE", "500ms"},
                                    {"LOCKSTEP_PUBLISH_RESEND_LIMIT", "6s"}});
    if (shape_.available && !shape_.lossy) replica.environment["LOCKSTEP_REDIS_REPLICAS"] = "1";
    if (shape_.attack) {
        // The times between tries are those of a deployment: jobs of attackers wait for workers that never come, by the ten thousand.
        for (const char* name : {"LOCKSTEP_BACKOFF_BASE", "LOCKSTEP_BACKOFF_MAX", "LOCKSTEP_MAX_SCHEDULING_RETRIES"})
            replica.environment.erase(name);
        replica.environment["LOCKSTEP_ROLE"] = "scheduler,workflow";
        replica.environment["WORKFLOW_ENGINE_HTTP_ADDR"] = "127.0.0.1:0";
    }
    for (const auto& [name, value] : more) replica.environment.insert_or_assign(name, value);
    start(replica);
}

void Cluster::add_worker(const WorkerKind& kind) {
    Place& worker = workers_.emplace_back();
    worker.name = fmt::format("worker-{}-{}", kind.pool, workers_.size() - 1);
    worker.program = "lockstep-worker";
    worker.arguments = {"--id",           worker.name, "--pool",         kind.pool,
                        "--max-parallel", "16",        "--service-time", fmt::format("{}ms", kind.service_time.count()),
                        "--heartbeat",    "500ms",     "--record",       (folder_.path() / "executions").string()};
    worker.environment = {{"REDIS_URL", servers_->redis_url()}, {"NATS_URL", nats_url()}};
    start(worker);
}

void Cluster::start(Place& place) {
    PRECONDITION(std::this_thread::get_id() == thread_, "{} would end with another thread than this cluster's",
                 place.name);
    std::vector<std::string> line{(programs_ / place.program).string()};
    line.insert(line.end(), place.arguments.begin(), place.arguments.end());
    place.log = folder_.path() / fmt::format("{}-{}.log", place.name, place.starts++);
    place.running = std::make_unique<Program>(std::move(line), place.environment, place.log);
    place.started = Clock::now();
    place.frozen = false;
    place.wanted = true;
}

void Cluster::must_say(Place& place, const std::string& words) {
    if (!place.running->says(words, seconds(60)))
        throw std::runtime_error(fmt::format("{} does not start:\n{}", place.name, last_words(place)));
}

Cluster::Place* Cluster::place_of(const Planned& planned) {
    const auto target = static_cast<std::size_t>(planned.target);
    switch (planned.kind) {
        case DisturbanceKind::replica_kill:
        case DisturbanceKind::replica_stop:
        case DisturbanceKind::replica_freeze: return &replicas_.at(target);
        case DisturbanceKind::worker_kill:
        case DisturbanceKind::worker_freeze: return &workers_.at(target);
        case DisturbanceKind::kernel_kill: return &kernel_;
        default: return nullptr;
    }
}

bool Cluster::begin_place(const Planned& planned, Place& place) {
    if (!place.wanted || place.frozen || place.running->pid() <= 0) return false;
    switch (planned.kind) {
        case DisturbanceKind::replica_freeze:
        case DisturbanceKind::worker_freeze:
            place.running->signal(SIGSTOP);
            place.frozen = true;
            break;
        case DisturbanceKind::replica_stop:
            place.wanted = false;
            place.asked_to_stop = Clock::now();
            place.running->signal(SIGTERM);
            break;
        default:
            place.wanted = false;
            place.running->kill();
            break;
    }
    return true;
}

bool Cluster::begin_link(const Planned& planned) {
    if (links_.empty()) return false;
    Links& links = links_.at(static_cast<std::size_t>(planned.target));
    if (std::exchange(links.hurt, true)) return false;
    Relay& relay = planned.to_nats ? *links.nats : *links.redis;
    if (planned.kind == DisturbanceKind::stall)
        relay.stall();
    else
        relay.cut_after(static_cast<std::size_t>(planned.amount),
                        planned.towards_replica ? Relay::Direction::to_client : Relay::Direction::to_server);
    return true;
}

bool Cluster::end_link(const Planned& planned) {
    Links& links = links_.at(static_cast<std::size_t>(planned.target));
    links.hurt = false;
    Relay& relay = planned.to_nats ? *links.nats : *links.redis;
    if (planned.kind == DisturbanceKind::cut) return !relay.spare();
    relay.resume();
    return true;
}

bool Cluster::begin(const Planned& planned, std::string& target) {
    if (is_of_a_server(planned.kind)) return servers_->begin(planned.kind, planned.target, target);
    if (Place* place = place_of(planned)) {
        target = place->name;
        return begin_place(planned, *place);
    }
    target = fmt::format("{} to {}", replicas_.at(static_cast<std::size_t>(planned.target)).name,
                         planned.to_nats ? "nats" : "redis");
    return begin_link(planned);
}

bool Cluster::can_end(const Planned& planned) {
    if (is_of_a_server(planned.kind)) return servers_->can_end(planned.kind);
    if (planned.kind != DisturbanceKind::replica_stop) return true;
    Place& place = *place_of(planned);
    if (place.running->pid() <= 0) return true;
    if (const auto code = place.running->wait(milliseconds(0))) {
        if (*code > 128) crashes_.push_back({place.name, *code, last_words(place)});
        return true;
    }
    if (Clock::now() - place.asked_to_stop < kStopPatience) return false;
    unstoppable_.push_back(place.name);
    place.running->kill();
    return true;
}

bool Cluster::end(const Planned& planned) {
    if (is_of_a_server(planned.kind)) {
        servers_->end(planned.kind);
        return true;
    }
    Place* place = place_of(planned);
    if (place == nullptr) return end_link(planned);
    if (place->frozen) {
        place->running->signal(SIGCONT);
        place->frozen = false;
    } else if (!place->wanted) {
        start(*place);
    }
    return true;
}

void Cluster::supervise() {
    const auto look_after = [this](Place& place) {
        if (!place.wanted) return;
        if (place.running->pid() > 0) {
            const auto code = place.running->wait(milliseconds(0));
            if (!code) return;
            place.ended = Clock::now();
            crashes_.push_back({place.name, *code, last_words(place)});
        }
        if (Clock::now() - place.ended > kRestartPause) start(place);
    };
    look_after(kernel_);
    for (Place& replica : replicas_) look_after(replica);
    for (Place& worker : workers_) look_after(worker);
}

void Cluster::measure_once() {
    for (Place& replica : replicas_) {
        const pid_t pid = replica.running->pid();
        if (pid <= 0 || replica.frozen || pid == replica.measured || Clock::now() - replica.started < kGrownUp)
            continue;
        const Use use = use_of(pid);
        replica.footprint = {replica.name, use.descriptors, 0, use.resident_kb, 0, 0};
        replica.measured = pid;
    }
}

std::vector<Footprint> Cluster::footprints() const {
    std::vector<Footprint> all;
    for (const Place& replica : replicas_) {
        if (replica.measured != replica.running->pid()) continue;
        const Use use = use_of(replica.measured);
        Footprint footprint = replica.footprint;
        footprint.descriptors_after = use.descriptors;
        footprint.resident_kb_after = use.resident_kb;
        footprint.resident_kb_most = use.most_kb;
        all.push_back(std::move(footprint));
    }
    return all;
}

std::vector<Execution> Cluster::executions() const {
    std::ifstream file(folder_.path() / "executions", std::ios::binary);
    std::vector<Execution> all;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string job;
        std::string worker;
        std::int64_t micros = 0;
        words >> job >> micros >> worker;
        all.push_back({std::move(job), std::move(worker), Moment(Span(micros))});
    }
    return all;
}

std::string Cluster::last_words(const Place& place) const {
    const std::string text = slurp(place.log);
    return text.size() > kLastWords ? text.substr(text.size() - kLastWords) : text;
}

void Cluster::copy_logs(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    const auto overwrite = std::filesystem::copy_options::overwrite_existing;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        if (entry.is_regular_file())
            std::filesystem::copy_file(entry.path(), folder / entry.path().filename(), overwrite);
    }
    servers_->copy_logs(folder);
}

}  // namespace lockstep::prod::ordeal
