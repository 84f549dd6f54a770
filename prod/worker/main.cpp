// lockstep-worker: the reference worker.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>

#include <cstdio>
#include <memory>

#include "engine/config/tunables.h"
#include "engine/wire/heartbeat_bounds.h"
#include "prod/config/settings.h"
#include "prod/loop/loop_watch.h"
#include "prod/loop/signals.h"
#include "prod/loop/system_clock.h"
#include "prod/nats/nats_bus.h"
#include "prod/observe/admin_http.h"
#include "prod/observe/prometheus_metrics.h"
#include "prod/observe/spdlog_log.h"
#include "prod/redis/hiredis_client.h"
#include "prod/tls/openssl_exit.h"
#include "prod/version/build.h"
#include "prod/worker/worker.h"
#include "reports/usage/command.h"
#include "reports/usage/standard_streams.h"

namespace lockstep::prod {
namespace {

constexpr auto kStartPatience = std::chrono::seconds(10);

constexpr auto kHealthInterval = std::chrono::milliseconds(500);

struct Arguments {
    WorkerOptions worker;
    std::string listen;
    std::string nats;
    std::string redis;
    std::string service_time;
    std::string heartbeat = "5s";
    std::string drain = "30s";
    std::vector<std::string> labels;
    bool echo = false;
};

engine::Task<void> keep_health(HealthBoard& board, const HiredisClient& redis, NatsBus& bus,
                               const std::string& not_ready, const engine::Clock& clock) {
    while (true) {
        board.write({.redis_error = redis.connected() ? "" : redis.last_error(),
                     .nats_error = bus.connection().connected ? "" : "disconnected",
                     .safety_warning = "",
                     .not_ready = not_ready});
        co_await clock.sleep(kHealthInterval);
    }
}

engine::Task<void> serve(UvLoop& loop, Worker& worker, engine::Event& stop, engine::Log& log, std::string& not_ready,
                         int& exit_code) {
    const auto started = co_await worker.start();
    if (!started) {
        log.event(engine::LogLevel::error, "cannot start", {{"error", started.error()}});
        exit_code = 2;
    } else {
        log.event(engine::LogLevel::info, "ready");
        not_ready.clear();
        co_await stop.wait();
        not_ready = "draining";
        log.event(engine::LogLevel::info, "draining", {{"active", worker.active()}});
        co_await worker.drain();
        log.event(engine::LogLevel::info, "stopped", {{"executions", worker.started()}});
    }
    loop.stop();
}

int run(const Settings& settings, WorkerOptions options, const std::string& listen) {
    UvLoop loop;
    PrometheusMetrics metrics(options.id, PrometheusMetrics::Of::any_loop);
    metrics.watch(loop);
    LoopWatch loop_watch(settings.loop_stall_limit);
    HealthBoard board;
    SystemClock clock;
    SpdlogLog log("WORKER", settings.log);
    for (const auto& warning : settings.warnings)
        log.always(engine::LogLevel::warn, "configuration", {{"warning", warning}});
    engine::Event stop;
    const SignalWatch signals(loop, {SIGTERM, SIGINT}, [&](int) {
        if (stop.is_set()) loop.stop();
        stop.set();
    });
    // From here on, or a slow start would look like a loop that stands still.
    engine::Scope background(loop);
    background.spawn(LoopWatch::keep_beating(loop_watch, clock));
    background.spawn(tell_left_out_lines(log, clock));
    std::unique_ptr<AdminHttp> admin;
    if (!listen.empty()) {
        auto started = AdminHttp::start(listen, {.metrics = [&] { return metrics.text(); },
                                                 .health = [&] { return board.read(); },
                                                 .plain_health = true,
                                                 .stall = [&] { return loop_watch.why_stalled(); }});
        if (!started) {
            fmt::print(stderr, "lockstep-worker: {} (--listen)\n", started.error());
            return 2;
        }
        admin = std::move(*started);
        static_cast<engine::Log&>(log).event(engine::LogLevel::info, "listener", {{"port", admin->port()}});
    }
    HiredisClient redis(loop, settings.redis);
    if (!loop.run_until([&] { return redis.connected(); }, kStartPatience)) {
        fmt::print(stderr, "lockstep-worker: Redis cannot be reached (--redis): {}\n", redis.last_error());
        return 1;
    }
    auto bus = NatsBus::connect(loop, settings.nats);
    if (!bus) {
        fmt::print(stderr, "lockstep-worker: {} (--nats)\n", bus.error());
        return 1;
    }
    int exit_code = 0;
    Worker worker({loop, clock, redis, **bus, log}, std::move(options));
    engine::Scope scope(loop);
    std::string not_ready = "starting";
    scope.spawn(keep_health(board, redis, **bus, not_ready, clock));
    scope.spawn(serve(loop, worker, stop, log, not_ready, exit_code));
    loop.run();
    scope.cancel();
    (*bus)->close();
    return exit_code;
}

/// The last mistake, or nothing.
std::string complete(Arguments& arguments) {
    WorkerOptions& worker = arguments.worker;
    const auto duration = [](const char* option, const std::string& text, engine::Duration& target) -> std::string {
        const auto parsed = engine::parse_duration(text);
        if (!parsed) return fmt::format("{}: {}", option, parsed.error());
        target = *parsed;
        return {};
    };
    for (const std::string& label : arguments.labels) {
        const auto equals = label.find('=');
        if (equals == std::string::npos || equals == 0)
            return fmt::format("--label: expected key=value, got \"{}\"", label);
        std::string key = label.substr(0, equals);
        if (const std::string mistake = usage::identifier_mistake(key); !mistake.empty())
            return fmt::format("--label: {} before the =", mistake);
        worker.labels[key] = label.substr(equals + 1);
    }
    if (!engine::wire::addressable(worker.id))
        return fmt::format(
            "--id: expected one token of a subject, at most {} bytes without blanks, '.', '*' and '>', got \"{}\"",
            engine::wire::kWorkerIdMax, worker.id);
    if (!worker.command.empty())
        worker.mode = WorkerOptions::Mode::command;
    else if (!arguments.service_time.empty() && !arguments.echo)
        worker.mode = WorkerOptions::Mode::sleep;
    if (!arguments.service_time.empty())
        if (auto wrong = duration("--service-time", arguments.service_time, worker.service_time); !wrong.empty())
            return wrong;
    if (auto wrong = duration("--heartbeat", arguments.heartbeat, worker.heartbeat); !wrong.empty()) return wrong;
    if (worker.heartbeat <= engine::Duration::zero()) return "--heartbeat: must be longer than nothing";
    return duration("--drain", arguments.drain, worker.drain);
}

}  // namespace
}  // namespace lockstep::prod

namespace {

int program(int argc, char** argv) {
    // A corrupt packet is an event of ours to report; protobuf would print its own line about each.
    google::protobuf::SetLogHandler(nullptr);
    using namespace lockstep::prod;
    keep_openssl_until_the_end();
    Arguments arguments;
    WorkerOptions& worker = arguments.worker;
    const lockstep::usage::Program app(
        "Works on jobs: sleeps, echoes their input, or runs a command for each. Stops gracefully on SIGTERM.",
        "lockstep-worker");
    add_version_flag(app);
    app.option("--id", &worker.id, "worker id; jobs come on worker.<id>.jobs").identifier().required();
    app.option("--pool", &worker.pool, "pool that it belongs to").identifier().show_default();
    app.option("--max-parallel", &worker.max_parallel, "jobs at once").range(1, 100'000).show_default();
    app.option("--service-time", &arguments.service_time, "time that each job takes, such as 50ms");
    const auto exec =
        app.option("--exec", &worker.command,
                   "shell command per job: input on stdin, output on stdout, CORDUM_JOB_ID and CORDUM_JOB_TOPIC set; "
                   "exit status 75 fails the job for now, 65 for good, any other but 0 fails it")
            .bytes();
    app.flag("--echo", &arguments.echo, "the output is the input (the default)").excludes(exec);
    app.option("--capability", &worker.capabilities, "capability to advertise (repeatable)").identifier();
    app.option("--label", &arguments.labels, "placement label key=value (repeatable)");
    app.option("--region", &worker.region, "region to advertise");
    app.option("--heartbeat", &arguments.heartbeat, "pause between heartbeats").show_default();
    app.option("--drain", &arguments.drain,
               "time to finish jobs after SIGTERM; those that are left then are reported as FAILED_RETRYABLE, "
               "worker_stopped")
        .show_default();
    app.option("--record", &worker.record_file, "append a line \"job time worker\" per started execution").bytes();
    app.flag("--report-cpu", &worker.report_cpu, "tell the machine's load; a loaded machine then gets fewer jobs");
    app.option("--nats", &arguments.nats, "NATS address (environment: NATS_URL)");
    app.option("--redis", &arguments.redis, "Redis address (environment: REDIS_URL)");
    app.option("--listen", &arguments.listen,
               "host:port of /metrics, /livez and /readyz; port 0 takes a free one (default: none)");
    app.footer(
        "Exit codes: 0 stopped, 1 a server cannot be reached at start, 2 wrong use, the listener's address is "
        "taken, or standard output cannot be written.");
    if (const auto ended = app.parse(argc, argv)) return *ended == 0 ? 0 : 2;
    const auto fail = [](const std::string& why) {
        fmt::print(stderr, "lockstep-worker: {}\n", why);
        return 2;
    };
    if (const std::string wrong = complete(arguments); !wrong.empty()) return fail(wrong);
    Environment::Values values = Environment::of_process().all();
    if (!arguments.nats.empty()) overrule(values, "NATS_URL", arguments.nats);
    if (!arguments.redis.empty()) overrule(values, "REDIS_URL", arguments.redis);
    auto settings = read_settings(Environment(std::move(values)), kClientRole);
    if (!settings) return fail(settings.error());
    settings->nats.name = "lockstep-worker-" + worker.id;
    return run(*settings, std::move(worker), arguments.listen);
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstep-worker", argc, argv, program); }
