// Workflow runs on real servers: how many a second go from their start to their end, what a step costs Redis, how large the engine
// grows, how long a step for many items takes, and how late delays end. Servers, kernel, workers, scheduler and engine share this
// machine, so the figures are a baseline for comparison on the same machine and not a promise.
//
//   workflow_bench [RUNS [ENGINES]]
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/runs/run_document.h"
#include "engine/runtime/scope.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"
#include "engine/workflow/run_keys.h"
#include "engine/workflow/run_store.h"
#include "engine/workflow/workflow_engine.h"
#include "prod/integration/deployment.h"
#include "prod/loop/system_clock.h"
#include "prod/nats/nats_bus.h"
#include "prod/redis/hiredis_client.h"
#include "prod/rehearsal/redis_tap.h"

namespace {

using namespace lockstep;
using namespace std::chrono_literals;
using engine::Duration;
using nlohmann::json;
using prod::testing::Deployment;
using prod::testing::Durability;

constexpr Duration kLimit = 10min;
constexpr Duration kPatience = 10s;
constexpr int kSteps = 3;
/// Enough to count calls by; every line of MONITOR slows Redis down.
constexpr int kWatchedRuns = 300;
constexpr int kItemsMax = 1000;
constexpr int kDelaysMax = 1000;

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }
double mebibytes(double bytes) { return bytes / (1024 * 1024); }

/// Of a process, in bytes, by a line of its status such as VmRSS; zero when it cannot be read.
double memory_of(pid_t pid, const std::string& line) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string text; std::getline(status, text);)
        if (text.starts_with(line + ":")) return 1024 * std::strtod(text.c_str() + line.size() + 1, nullptr);
    return 0;
}

class Bench {
public:
    explicit Bench(int engines);
    void many_runs(int runs);
    void many_items(int items);
    void delays(int runs, int delay_seconds);

private:
    struct Cost {
        double commands = 0;
        double bytes = 0;
    };

    template <class T>
    T await(engine::Task<T> task);
    engine::RedisValue ask(engine::RedisCommand command);
    void put(const std::string& workflow, const json& steps);
    /// Stores runs `<workflow>-0` and so on, which nobody knows of yet.
    void store(const std::string& workflow, int count, const json& input = json::object());
    void wake(const std::string& run);
    void wake_all(const std::string& workflow, int count);
    void await_runs(const std::string& workflow, int count);
    json document(const std::string& run);
    double info(const std::string& name);
    std::set<std::string> clients();
    std::map<std::string, double> commands_of_engines(const std::string& workflow);

    Deployment world_;
    std::vector<prod::testing::Program*> engines_;
    std::set<std::string> engine_addresses_;
    prod::UvLoop loop_;
    prod::SystemClock clock_;
    engine::Tunables tunables_;
    std::unique_ptr<prod::HiredisClient> redis_;
    std::unique_ptr<prod::NatsBus> bus_;
    std::optional<engine::RunStore> store_;
};

engine::Task<void> put_into(auto task, auto& result) { result = co_await std::move(task); }

template <class T>
T Bench::await(engine::Task<T> task) {
    std::optional<T> result;
    engine::Scope scope(loop_);
    scope.spawn(put_into(std::move(task), result));
    if (!loop_.run_until([&] { return result.has_value(); }, kPatience))
        throw std::runtime_error("a server does not answer");
    return std::move(*result);
}

engine::RedisValue Bench::ask(engine::RedisCommand command) {
    auto reply = await(redis_->command(std::move(command), clock_.in(kPatience)));
    if (!reply.applied()) throw std::runtime_error(reply.failure().detail);
    return std::move(reply.value());
}

Bench::Bench(int engines) : world_(Durability::none) {
    world_.environment["NATS_JS_ACK_WAIT"] = "60s";
    world_.environment["LOCKSTEP_JOB_LOCK_TTL"] = "60s";
    world_.environment["LOCKSTEP_PENDING_AGE"] = "120s";
    world_.add_scheduler();
    for (const char* id : {"w1", "w2"}) world_.add_worker(id, {"--service-time", "0s", "--max-parallel", "4096"});
    redis_ =
        std::make_unique<prod::HiredisClient>(loop_, prod::RedisAddress{"127.0.0.1", world_.redis().port(), {}, {}, 0});
    prod::NatsOptions options;
    options.url = world_.environment["NATS_URL"];
    auto bus = prod::NatsBus::connect(loop_, options);
    if (!bus || !loop_.run_until([&] { return redis_->connected(); }, kPatience))
        throw std::runtime_error("a server cannot be reached");
    bus_ = std::move(*bus);
    store_.emplace(*redis_, clock_, tunables_);
    const auto before = clients();
    for (int i = 0; i < engines; ++i) engines_.push_back(&world_.add_scheduler({{"LOCKSTEP_ROLE", "workflow"}}));
    for (const std::string& address : clients())
        if (!before.contains(address)) engine_addresses_.insert(address);
}

std::set<std::string> Bench::clients() {
    std::set<std::string> addresses;
    const engine::RedisValue reply = ask({"CLIENT", "LIST"});
    std::istringstream words{std::string(reply.text())};
    for (std::string word; words >> word;)
        if (word.starts_with("addr=")) addresses.insert(word.substr(5));
    return addresses;
}

double Bench::info(const std::string& name) {
    const engine::RedisValue reply = ask({"INFO"});
    const std::string text(reply.text());
    const auto at = text.find("\n" + name + ":");
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

void Bench::put(const std::string& workflow, const json& steps) {
    const json definition{{"id", workflow}, {"org_id", "default"}, {"steps", steps}};
    if (!await(store_->put_definition(workflow, "default", engine::wire::json_text(definition))).applied())
        throw std::runtime_error("a definition cannot be stored");
}

void Bench::store(const std::string& workflow, int count, const json& input) {
    for (int n = 0; n < count; ++n) {
        const std::string run = fmt::format("{}-{}", workflow, n);
        const json document{{"id", run},      {"workflow_id", workflow}, {"org_id", "default"},
                            {"input", input}, {"status", "pending"},     {"created_at", "2026-01-01T00:00:00Z"}};
        if (!await(store_->create({run, workflow, "default", engine::wire::json_text(document)}, {})).applied())
            throw std::runtime_error("a run cannot be stored");
    }
}

void Bench::wake(const std::string& run) {
    if (!await(bus_->publish_core(engine::kSubjectRunWake, run)).applied()) throw std::runtime_error("NATS is away");
}

void Bench::wake_all(const std::string& workflow, int count) {
    for (int n = 0; n < count; ++n) wake(fmt::format("{}-{}", workflow, n));
}

/// Until all of them have succeeded.
void Bench::await_runs(const std::string& workflow, int count) {
    const auto end = clock_.monotonic() + kLimit;
    std::set<std::string> open;
    for (int n = 0; n < count; ++n) open.insert(fmt::format("{}-{}", workflow, n));
    while (!open.empty()) {
        std::vector<std::string> asked(open.begin(),
                                       std::next(open.begin(), std::min<std::ptrdiff_t>(200, std::ssize(open))));
        engine::RedisCommand scores{"ZMSCORE", engine::keys::runs_of_status("succeeded")};
        scores.insert(scores.end(), asked.begin(), asked.end());
        const engine::RedisValue reply = ask(std::move(scores));
        for (std::size_t i = 0; i < asked.size(); ++i)
            if (!reply.at(i).is_nil()) open.erase(asked[i]);
        const bool some_left = std::ranges::any_of(asked, [&](const std::string& run) { return open.contains(run); });
        if (some_left) loop_.run_until([] { return false; }, 20ms);
        if (clock_.monotonic() > end)
            throw std::runtime_error(fmt::format("{} runs have not succeeded in time, {} among them\n{}", open.size(),
                                                 *open.begin(), world_.logs()));
    }
}

json Bench::document(const std::string& run) {
    return engine::wire::sound_json(ask({"GET", engine::keys::run_document(run)}).text());
}

/// Commands that engines send during some runs, per step, by command; those inside scripts do not count.
std::map<std::string, double> Bench::commands_of_engines(const std::string& workflow) {
    put(workflow, {{"a", {{"topic", "job.default"}}},
                   {"b", {{"topic", "job.default"}, {"depends_on", {"a"}}}},
                   {"c", {{"topic", "job.default"}, {"depends_on", {"b"}}}}});
    store(workflow, kWatchedRuns);
    prod::rehearsal::Recording recording;
    std::map<std::string, double> each;
    {
        const prod::rehearsal::RedisTap tap(world_.redis().port(), recording);
        wake_all(workflow, kWatchedRuns);
        await_runs(workflow, kWatchedRuns);
    }
    for (const auto& record : recording.take()) {
        const auto* line = std::get_if<prod::rehearsal::MonitorLine>(&record);
        if (line != nullptr && engine_addresses_.contains(line->client))
            each[line->words.front()] += 1.0 / (kWatchedRuns * kSteps);
    }
    return each;
}

void Bench::many_runs(int runs) {
    put("three", {{"a", {{"topic", "job.default"}}},
                  {"b", {{"topic", "job.default"}, {"depends_on", {"a"}}}},
                  {"c", {{"topic", "job.default"}, {"depends_on", {"b"}}}}});
    const double held = info("used_memory");
    store("three", runs);
    const double empty = memory_of(engines_.front()->pid(), "VmRSS");
    const double bytes = info("total_net_input_bytes");
    const double calls = info("total_commands_processed");
    const auto began = clock_.monotonic();
    wake_all("three", runs);
    await_runs("three", runs);
    const double elapsed = seconds(clock_.monotonic() - began);
    const double steps = static_cast<double>(runs) * kSteps;
    fmt::print("{} runs of {} steps, {} engines: {:.1f} s, {:.0f} runs/s, {:.0f} steps/s\n", runs, kSteps,
               engines_.size(), elapsed, runs / elapsed, steps / elapsed);
    fmt::print("all of Redis, per step: {:.1f} commands (those inside scripts included), {:.0f} bytes received\n",
               (info("total_commands_processed") - calls) / steps, (info("total_net_input_bytes") - bytes) / steps);
    fmt::print("memory of an engine: {:.0f} MiB before, {:.0f} MiB after, {:.0f} MiB at most\n", mebibytes(empty),
               mebibytes(memory_of(engines_.front()->pid(), "VmRSS")),
               mebibytes(memory_of(engines_.front()->pid(), "VmHWM")));
    fmt::print("Redis holds {:.0f} KiB per run and its jobs\n", (info("used_memory") - held) / runs / 1024);
    fmt::print("round trips of the engines, per step, over {} runs:\n", kWatchedRuns);
    for (const auto& [command, each] : commands_of_engines("watched"))
        if (each >= 0.01) fmt::print("  {:<12}{:.2f}\n", command, each);
}

void Bench::many_items(int items) {
    json list = json::array();
    for (int n = 0; n < items; ++n) list.push_back(n);
    put("each", {{"all", {{"topic", "job.default"}, {"for_each", "input.list"}}}});
    store("each", 1, {{"list", list}});
    const double bytes = info("total_net_input_bytes");
    const auto began = clock_.monotonic();
    wake_all("each", 1);
    await_runs("each", 1);
    const double elapsed = seconds(clock_.monotonic() - began);
    fmt::print(
        "a step for each of {} items: {:.1f} s, {:.0f} items/s, document {:.0f} KiB, {:.0f} KiB received by "
        "Redis per item\n",
        items, elapsed, items / elapsed, engine::wire::json_text(document("each-0")).size() / 1024.0,
        (info("total_net_input_bytes") - bytes) / items / 1024);
}

/// A hundred a second begin: what is measured is how late a delay ends, and not how many end at once.
void Bench::delays(int runs, int delay_seconds) {
    const std::string workflow = fmt::format("wait{}", delay_seconds);
    put(workflow, {{"wait", {{"type", "delay"}, {"delay_sec", delay_seconds}}}});
    store(workflow, runs);
    for (int n = 0; n < runs; ++n) {
        wake(fmt::format("{}-{}", workflow, n));
        loop_.run_until([] { return false; }, 10ms);
    }
    await_runs(workflow, runs);
    std::vector<double> late;
    for (int n = 0; n < runs; ++n) {
        const json step = document(fmt::format("{}-{}", workflow, n))["steps"]["wait"];
        const auto at = [&](const char* name) { return engine::wire::parse_rfc3339(step.value(name, "")).value(); };
        late.push_back(1000 * (seconds(at("completed_at") - at("started_at")) - delay_seconds));
    }
    std::ranges::sort(late);
    const auto percentile = [&](double p) { return late[static_cast<std::size_t>(p * (late.size() - 1))]; };
    fmt::print("{} delays of {} s end late by: p50 {:.1f} ms, p99 {:.1f} ms, most {:.1f} ms, least {:.1f} ms\n", runs,
               delay_seconds, percentile(0.5), percentile(0.99), late.back(), late.front());
}

int run(int runs, int engines) {
    if (!Deployment::possible()) {
        fmt::print(stderr, "redis-server or nats-server is not installed\n");
        return 1;
    }
    Bench bench(engines);
    bench.many_runs(runs);
    bench.many_items(std::min(runs, kItemsMax));
    for (const int delay : {2, 12}) bench.delays(std::min(runs, kDelaysMax), delay);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const int runs = argc > 1 ? std::atoi(argv[1]) : 10'000;
    const int engines = argc > 2 ? std::atoi(argv[2]) : 1;
    if (runs < 1 || engines < 1) {
        fmt::print(stderr, "usage: workflow_bench [RUNS [ENGINES]], both at least 1\n");
        return 2;
    }
    try {
        return run(runs, engines);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
