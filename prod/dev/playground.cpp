#include "prod/dev/playground.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "prod/config/pools_file.h"
#include "prod/config/yaml.h"
#include "prod/deploy/pools.yaml.h"
#include "prod/deploy/safety.yaml.h"
#include "prod/deploy/timeouts.yaml.h"
#include "prod/dev/readiness.h"
#include "prod/loop/system_clock.h"

namespace lockstep::prod {

namespace {

constexpr auto kLookPause = std::chrono::milliseconds(20);
/// A machine that builds at the same time is slow.
constexpr auto kStartPatience = std::chrono::seconds(60);
/// Longer than the grace that replicas and workers are given, kShutdownGrace.
constexpr auto kStopPatience = std::chrono::seconds(5);
constexpr const char* kShutdownGrace = "2s";
constexpr std::size_t kLastLines = 12;

std::string loopback(int port) { return fmt::format("127.0.0.1:{}", port); }

std::unique_ptr<LoopbackPort> port_for(const char* option, int wanted) {
    try {
        return std::make_unique<LoopbackPort>(wanted);
    } catch (const std::system_error& error) {
        throw std::runtime_error(
            wanted == 0
                ? fmt::format("no port of 127.0.0.1 can be had: {}", error.what())
                : fmt::format("{}: port {} of 127.0.0.1 cannot be had: {}. Leave the option out for a free one, or "
                              "name another.",
                              option, wanted, error.code().message()));
    }
}

void write(const std::filesystem::path& file, std::string_view text) {
    std::ofstream out(file, std::ios::binary);
    out << text;
    if (!out.flush()) throw std::runtime_error(fmt::format("{} cannot be written", file.string()));
}

std::string told_end(const Child& child, int code) {
    return code > 128 ? fmt::format("{} was ended by signal {}", child.name(), code - 128)
                      : fmt::format("{} has ended with exit code {}", child.name(), code);
}

/// For a POSIX shell.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::set<std::string> pools_in(const std::filesystem::path& file) {
    const auto text = read_file(file);
    if (!text) throw std::runtime_error(fmt::format("--pools: {}", text.error()));
    const auto pools = parse_pools_file(*text, file);
    if (!pools) throw std::runtime_error(fmt::format("--pools: {}", pools.error()));
    std::set<std::string> names;
    for (const auto& [topic, serving] : pools->table.topics) names.insert(serving.begin(), serving.end());
    return names;
}

}  // namespace

DevFolder::DevFolder(bool keep) : keep_(keep) {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-dev-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error(fmt::format("no folder can be made in {} (TMPDIR): {}",
                                             std::filesystem::temp_directory_path().string(),
                                             std::generic_category().message(errno)));
    path_ = pattern;
}

DevFolder::~DevFolder() {
    std::error_code ignored;  // what cannot be removed is in the system's folder for such things
    if (!keep_) std::filesystem::remove_all(path_, ignored);
}

Playground::Playground(DevOptions options, Programs programs)
    : options_(std::move(options)), programs_(std::move(programs)), folder_(options_.keep) {
    take_ports();
    write_files();
}

void Playground::take_ports() {
    redis_port_ = port_for("--redis-port", options_.redis_port);
    nats_port_ = port_for("--nats-port", options_.nats_port);
    kernel_port_ = port_for("--kernel-port", options_.kernel_port);
    for (int i = 0; i < options_.replicas; ++i)
        metrics_ports_.push_back(
            port_for("--metrics-port", options_.metrics_port == 0 ? 0 : options_.metrics_port + i));
}

void Playground::write_files() {
    // What is somebody's own stays where it is: the kernel looks at it again by itself, replicas do so on SIGHUP.
    const auto file_or_example = [this](const std::string& own, const char* name, std::string_view example) {
        if (!own.empty()) return std::filesystem::absolute(own);
        std::filesystem::path file = folder_.path() / name;
        write(file, example);
        return file;
    };
    policy_file_ = file_or_example(options_.policy_file, "safety.yaml", examples::kSafety);
    pools_file_ = file_or_example(options_.pools_file, "pools.yaml", examples::kPools);
    timeouts_file_ = file_or_example({}, "timeouts.yaml", examples::kTimeouts);
    pools_ = pools_in(pools_file_);
    std::filesystem::create_directory(folder_.path() / "jetstream");
    std::string lines;
    for (const auto& [name, value] : settings(true, 0)) lines += fmt::format("export {}={}\n", name, quoted(value));
    write(folder_.path() / "env", lines);
}

std::string Playground::redis_url() const { return "redis://" + loopback(redis_port_->number()); }

std::string Playground::nats_url() const { return "nats://" + loopback(nats_port_->number()); }

std::map<std::string, std::string> Playground::settings(bool of_replica, int metrics_port) const {
    std::map<std::string, std::string> values{{"REDIS_URL", redis_url()}, {"NATS_URL", nats_url()}};
    if (!of_replica) return values;
    values.insert({{"SAFETY_KERNEL_ADDR", loopback(kernel_port_->number())},
                   {"POOL_CONFIG_PATH", pools_file_.string()},
                   {"TIMEOUT_CONFIG_PATH", timeouts_file_.string()},
                   {"LOCKSTEP_ROLE", "scheduler,workflow"},
                   {"SCHEDULER_METRICS_ADDR", loopback(metrics_port)},
                   {"WORKFLOW_ENGINE_HTTP_ADDR", "127.0.0.1:0"},
                   {"WORKER_SNAPSHOT_INTERVAL", "1s"},
                   {"LOCKSTEP_SHUTDOWN_GRACE", kShutdownGrace}});
    for (const auto& [name, value] : options_.environment) values.insert_or_assign(name, value);
    return values;
}

std::vector<std::string> Playground::environment(bool of_replica, int metrics_port) const {
    auto values = settings(of_replica, metrics_port);
    // Of the shell that we were started from only what says where and in which language: its REDIS_... and NATS_... are not meant.
    for (const char* name : {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"})
        if (const char* value = std::getenv(name)) values.emplace(name, value);
    std::vector<std::string> entries;
    for (const auto& [name, value] : values) entries.push_back(name + "=" + value);
    return entries;
}

void Playground::launch(Part part, const std::string& name, const char* program, std::vector<std::string> arguments,
                        int port, std::string ready) {
    std::vector<std::string> words{programs_.at(program).string()};
    words.insert(words.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
    if (!broken_.empty()) return;
    try {
        places_.push_back(
            {.part = part,
             .child = std::make_unique<Child>(Child::Start{.name = name,
                                                           .words = std::move(words),
                                                           .environment = environment(part == Part::replica, port),
                                                           .log = folder_.path() / (name + ".log")}),
             .ready = std::move(ready),
             .port = port,
             .noticed = false});
    } catch (const std::system_error& error) {
        broken_ = fmt::format("{} cannot be started: {}", name, error.what());
    }
}

void Playground::launch_redis() {
    launch(Part::redis, "redis", "redis-server",
           {"--port", std::to_string(redis_port_->number()), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", folder_.path().string()},
           redis_port_->number(), "Ready to accept connections");
}

void Playground::launch_nats() {
    launch(Part::nats, "nats", "nats-server",
           {"-a", "127.0.0.1", "-p", std::to_string(nats_port_->number()), "-js", "-sd",
            (folder_.path() / "jetstream").string()},
           nats_port_->number(), "Server is ready");
}

void Playground::launch_kernel() {
    launch(Part::kernel, "kernel", "lockstep-kernel",
           {"--listen", loopback(kernel_port_->number()), "--policy", policy_file_.string()}, kernel_port_->number(),
           "serving policy");
}

void Playground::launch_replica(int number) {
    launch(Part::replica, fmt::format("replica-{}", number), "lockstepd", {},
           metrics_ports_.at(static_cast<std::size_t>(number) - 1)->number(), {});
}

void Playground::launch_worker(const std::string& pool, int number) {
    const std::string name = fmt::format("{}-{}", pool, number);
    // The name of a pool is not ours: what it says must stay within the folder.
    std::string file = "worker-" + name;
    std::ranges::replace(file, '/', '_');
    launch(Part::worker, file, "lockstep-worker",
           {"--id", name, "--pool", pool, "--echo", "--service-time", options_.service_time, "--heartbeat", "1s",
            "--drain", kShutdownGrace},
           0, " ready");
}

engine::Task<bool> Playground::start() {
    launch_redis();
    launch_nats();
    launch_kernel();
    bool ready = co_await all_ready();
    if (!ready) co_return false;
    for (int i = 1; i <= options_.replicas; ++i) launch_replica(i);
    ready = co_await all_ready();
    if (!ready) co_return false;
    for (const std::string& pool : pools_)
        for (int i = 1; i <= options_.workers; ++i) launch_worker(pool, i);
    started_ = co_await all_ready();
    co_return started_;
}

bool Playground::is_ready(const Place& place) {
    return place.ready.empty() ? says_ready(place.port) : place.child->said(place.ready);
}

engine::Task<bool> Playground::all_ready() {
    const SystemClock clock;
    const engine::MonoTime limit = clock.in(kStartPatience);
    for (std::size_t i = 0; i < places_.size(); ++i) {
        while (broken_.empty() && !is_ready(places_[i])) {
            const Child& child = *places_[i].child;
            if (clock.monotonic() > limit)
                broken_ = fmt::format("{} does not get ready within {} s. {}", child.name(), kStartPatience.count(),
                                      last_words(child));
            co_await clock.sleep(kLookPause);
            look();
        }
    }
    co_return broken_.empty();
}

std::string Playground::last_words(const Child& child) const {
    return fmt::format("The end of its log:\n{}{}", child.last_lines(kLastLines),
                       options_.keep ? fmt::format("All of it is in {}.", child.log().string())
                                     : "--keep leaves the folder with all of it.");
}

int Playground::running(Part part) const {
    return static_cast<int>(
        std::ranges::count_if(places_, [part](const Place& p) { return p.part == part && p.child->pid() > 0; }));
}

void Playground::look() {
    for (Place& place : places_) {
        const auto code = place.child->ended();
        if (!code || std::exchange(place.noticed, true) || stopping_) continue;
        const std::string end = told_end(*place.child, *code);
        if (started_ && running(place.part) > 0)
            news_.push_back(fmt::format("{}; {} of its kind go on", end, running(place.part)));
        else if (broken_.empty())
            broken_ = fmt::format("{}. {}", end, last_words(*place.child));
    }
}

std::vector<std::string> Playground::news() { return std::exchange(news_, {}); }

void Playground::stop(UvLoop& loop, const std::function<bool()>& hurried) {
    stopping_ = true;
    using Parts = std::vector<Part>;
    // Each part after those that speak to it, so that what is in hand can be handed back.
    for (const Parts& parts :
         {Parts{Part::worker, Part::replica}, Parts{Part::kernel}, Parts{Part::redis, Part::nats}}) {
        for (const Place& place : places_)
            if (std::ranges::find(parts, place.part) != parts.end()) place.child->signal(SIGTERM);
        const auto gone = [&] {
            look();
            return hurried() || std::ranges::all_of(parts, [this](Part part) { return running(part) == 0; });
        };
        loop.run_until(gone, kStopPatience);
    }
    places_.clear();
}

std::string Playground::introduction() const {
    std::string text = fmt::format("Lockstep on this machine, with its logs in {}:\n", folder_.path().string());
    std::vector<std::string> workers;
    for (const Place& place : places_) {
        const std::string head = fmt::format("  {:<11}pid {:<8}", place.child->name(), place.child->pid());
        if (place.part == Part::worker)
            workers.push_back(place.child->name());
        else if (place.part == Part::replica)
            text += fmt::format("{}http://{}/metrics, /readyz\n", head, loopback(place.port));
        else
            text += fmt::format("{}{}\n", head, loopback(place.port));
    }
    text +=
        fmt::format("  {:<11}{}\n", "workers", workers.empty() ? "none" : fmt::format("{}", fmt::join(workers, ", ")));
    text += fmt::format(
        "In another terminal:\n"
        "  export REDIS_URL={} NATS_URL={}\n"
        "  lockstepctl submit --topic {} --payload {} --wait\n"
        "(. {} sets what a further lockstepd needs, too.)\n",
        redis_url(), nats_url(), options_.topic, quoted(options_.payload), (folder_.path() / "env").string());
    return text;
}

}  // namespace lockstep::prod
