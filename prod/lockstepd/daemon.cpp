#include "prod/lockstepd/daemon.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "engine/scheduler/scheduler.h"
#include "engine/wire/subjects.h"
#include "prod/config/timeouts.h"
#include "prod/config/yaml.h"
#include "prod/lockstepd/eviction_check.h"
#include "prod/lockstepd/other_engines.h"
#include "prod/lockstepd/service_notify.h"
#include "prod/lockstepd/status_report.h"

namespace lockstep::prod {

using engine::LogLevel;

namespace {

/// How long a server may take to appear while we start. Long enough for servers that are started together with us, short
/// enough that a wrong address is noticed.
constexpr auto kStartPatience = std::chrono::seconds(30);
/// A Redis that reads its data back says LOADING for as long as that takes, and is no wrong address.
constexpr auto kLoadingPatience = std::chrono::minutes(10);
constexpr auto kRetryPause = std::chrono::milliseconds(500);
/// A cluster of servers that start together has no leader at first.
constexpr auto kPrepareTimeout = std::chrono::seconds(30);
/// Between two looks at this process: no scrape comes more often.
constexpr auto kFiguresInterval = std::chrono::seconds(1);

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown";
}

const char* log_name(const Roles& roles) { return roles.scheduler ? "SCHEDULER" : "WORKFLOW-ENGINE"; }

}  // namespace

Daemon::Daemon(Settings settings, Files files, std::string version)
    : settings_(std::move(settings)),
      files_(std::move(files)),
      version_(std::move(version)),
      log_(log_name(settings_.roles), settings_.log),
      metrics_(settings_.pod),
      health_(loop_, settings_.readiness_grace),
      loop_watch_(settings_.loop_stall_limit),
      instance_(fmt::format("{}-{}", host_name(), entropy_.uuid().substr(0, 8))),
      scope_(loop_) {}

Daemon::~Daemon() {
    scope_.cancel();
    workflow_.reset();
    scheduler_.reset();
    health_.stop();
    workflow_http_.reset();
    admin_.reset();
}

int Daemon::run() {
    engine::Log& log = log_;
    loop_.on_unhandled([&](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::exception& e) {
            log.event(LogLevel::error, "broken invariant: aborting", {{"error", e.what()}});
        }
        log_.flush();
        std::abort();
    });
    log.event(LogLevel::info, "starting", {{"version", version_}, {"production", settings_.production}});
    warn_of_configuration(settings_.warnings);
    warn_of_configuration(files_.jobs.warnings);

    const SignalWatch signals(loop_, {SIGTERM, SIGINT}, [this](int number) { on_signal(number); });
    const SignalWatch hang_up(loop_, {SIGHUP}, [this](int) { on_hang_up(); });
    const SignalWatch question(loop_, {SIGUSR1}, [this](int) { asked_to_tell_.set(); });
    metrics_.watch(loop_);
    scope_.spawn(tell_on_request());
    scope_.spawn(LoopWatch::keep_beating(loop_watch_, clock_));
    if (const auto limit = watchdog_limit()) scope_.spawn(feed_watchdog(clock_, *limit));
    const SignalWatch talk(loop_, {SIGUSR2}, [this](int) { change_log_level(); });
    scope_.spawn(main());
    scope_.spawn(tell_left_out_lines(log_, clock_));
    log_.trace_by(traces_);
    metrics_.set(DaemonMetric::build_info, 1, {version_, __VERSION__});
    if (settings_.roles.scheduler)
        static_cast<engine::Metrics&>(metrics_).set(engine::Metric::settings_refused, 0, {"files"});
    metrics_.set(DaemonMetric::replicas_expected, static_cast<double>(settings_.replicas));
    scope_.spawn(keep_figures());
    scope_.spawn(watch_certificates());
    loop_.run();
    return exit_code_.value_or(kExitUnreachable);
}

engine::Task<void> Daemon::main() {
    exit_code_ = co_await serve();
    loop_.stop();
}

void Daemon::on_signal(int number) {
    engine::Log& log = log_;
    if (!asked_to_stop_.is_set()) {
        log.event(LogLevel::info, "signal: stopping", {{"signal", number}});
        asked_to_stop_.set();
        return;
    }
    log.event(LogLevel::warn, "second signal: ending at once", {{"signal", number}, {"draining", draining_}});
    exit_code_ = 128 + number;
    loop_.stop();
}

void Daemon::change_log_level() {
    const LogLevel configured = level_named(settings_.log.level);
    const LogLevel wanted = log_.level() == configured ? LogLevel::debug : configured;
    // The line is seen at the more talkative of both levels.
    log_.set_level(std::min(wanted, log_.level()));
    log_.always(std::max(LogLevel::info, log_.level()), "signal: log level", {{"to", name_of(wanted)}});
    log_.set_level(wanted);
}

void Daemon::on_hang_up() {
    if (settings_.roles.scheduler)
        asked_to_read_.set();
    else
        log_.always(LogLevel::info, "SIGHUP: a workflow engine alone reads no files", {});
}

void Daemon::warn_of_configuration(const std::vector<std::string>& warnings) {
    for (const auto& warning : warnings) log_.always(LogLevel::warn, "configuration", {{"warning", warning}});
}

void Daemon::starting(std::string_view why) {
    health_.not_ready(fmt::format("starting: {}", why));
    notify_service_manager(fmt::format("STATUS=starting: {}", why));
}

bool Daemon::start_listeners() {
    if (settings_.roles.scheduler && !start_admin()) return false;
    return !settings_.roles.workflow || start_workflow_http();
}

bool Daemon::start_workflow_http() {
    auto http =
        AdminHttp::start(settings_.workflow.http_address, {.metrics = [this] { return metrics_.text(); },
                                                           .health = [this] { return health_.ask(); },
                                                           .plain_health = true,
                                                           .stall = [this] { return loop_watch_.why_stalled(); }});
    if (!http) {
        error(
            "no word on the workflow engine's health without an address of its own; set WORKFLOW_ENGINE_HTTP_ADDR to "
            "one "
            "that is free, or to port 0 for any",
            http.error());
        return false;
    }
    workflow_http_ = std::move(*http);
    static_cast<engine::Log&>(log_).event(LogLevel::info, "workflow listener", {{"port", workflow_http_->port()}});
    return true;
}

bool Daemon::start_admin() {
    auto admin = AdminHttp::start(settings_.metrics_address, {.metrics = [this] { return metrics_.text(); },
                                                              .health = [this] { return health_.ask(); },
                                                              .stall = [this] { return loop_watch_.why_stalled(); }});
    if (!admin) {
        error(
            "no metrics without an address of their own; set SCHEDULER_METRICS_ADDR to one that is free, or to port 0 "
            "for any",
            admin.error());
        return false;
    }
    admin_ = std::move(*admin);
    static_cast<engine::Log&>(log_).event(LogLevel::info, "admin listener", {{"port", admin_->port()}});
    return true;
}

engine::Task<bool> Daemon::reach_redis() {
    engine::Log& log = log_;
    redis_ = std::make_unique<HiredisClient>(
        loop_, settings_.redis,
        engine::with_replicas(settings_.tunables.redis_replicas, settings_.tunables.redis_replicas_patience));
    redis_->on_state([this, &log](bool connected, const std::string& why) {
        health_.redis_state(connected, why);
        if (connected)
            log.event(LogLevel::info, "connected to Redis");
        else
            log.event(LogLevel::warn, "no connection to Redis", {{"error", why}});
    });
    watch_redis();
    const engine::MonoTime limit = clock_.in(kStartPatience);
    const engine::MonoTime loaded_by = clock_.in(kLoadingPatience);
    while (!redis_->connected() && !asked_to_stop_.is_set()) {
        const bool loading = redis_->last_error().find("LOADING") != std::string::npos;
        if (loading) starting("Redis is still loading its data");
        if (clock_.monotonic() >= (loading ? loaded_by : limit)) break;
        co_await clock_.sleep(kRetryPause / 10);
    }
    if (!redis_->connected())
        error("Redis cannot be reached; check REDIS_URL", redis_->last_error());
    else
        health_.watch(redis_.get());
    co_return redis_->connected();
}

engine::Task<bool> Daemon::redis_keeps_keys() {
    const auto policy = co_await find_evicting_policy(*redis_, clock_);
    // A user that may not ask is no mistake, and a server that has gone meanwhile is noticed by what comes next.
    if (!policy.applied() || policy.value().empty()) co_return true;
    const std::string what = fmt::format("maxmemory-policy {}", policy.value());
    if (!settings_.redis_may_evict)
        error(
            "Redis may throw away records, locks and marks of jobs without a word, and no promise holds then; set "
            "maxmemory-policy "
            "noeviction, or LOCKSTEP_REDIS_MAY_EVICT=true",
            what);
    else
        warn_of_configuration({fmt::format("Redis may throw keys away ({}): jobs can be lost and run twice", what)});
    co_return settings_.redis_may_evict;
}

engine::Task<bool> Daemon::reach_nats() {
    engine::Log& log = log_;
    const engine::MonoTime limit = clock_.in(kStartPatience);
    while (true) {
        auto bus = NatsBus::connect(loop_, settings_.nats);
        if (bus) {
            bus_ = std::move(*bus);
            break;
        }
        if (clock_.monotonic() >= limit || asked_to_stop_.is_set()) {
            error("NATS cannot be reached; check NATS_URL and its credentials", bus.error());
            co_return false;
        }
        log.event(LogLevel::warn, "no connection to NATS yet", {{"error", bus.error()}});
        co_await clock_.sleep(kRetryPause);
    }
    bus_->on_event([this, &log](bool connected, const std::string& what) {
        health_.nats_state(connected);
        log.event(connected ? LogLevel::info : LogLevel::warn,
                  connected ? "connected to NATS" : "no connection to NATS", {{"server", what}});
    });
    bus_->on_problem([&log](const std::string& what) { log.event(LogLevel::warn, "NATS", {{"problem", what}}); });
    bus_->on_given_up([this](const std::string& why) {
        error("NATS has refused this process for good, so it ends; check the credentials", why);
        given_up_ = true;
        asked_to_stop_.set();
    });
    log.event(LogLevel::info, "connected to NATS", {{"server", display_url(settings_.nats.url)}});
    health_.watch(bus_.get());
    watch_bus();
    watched_ = std::make_unique<WatchedBus>(*bus_, clock_);
    const auto prepared = co_await bus_->prepare(clock_.in(kPrepareTimeout));
    if (!prepared) error("JetStream cannot be used", prepared.error());
    co_return prepared.has_value();
}

engine::Task<std::optional<int>> Daemon::refused_among_engines() {
    if (!settings_.roles.workflow || settings_.workflow.beside_others) co_return std::nullopt;
    const auto others = co_await await_no_other_engines(*redis_, clock_, log_, asked_to_stop_);
    if (!others.applied()) {
        error("Redis does not say which workflow engines there are", others.failure().detail);
        co_return kExitUnreachable;
    }
    if (asked_to_stop_.is_set()) co_return kExitOk;
    if (others.value().empty()) co_return std::nullopt;
    error(
        "another implementation's workflow engine takes results from the same queue group, and each would lack those "
        "that "
        "the other takes; stop it, or set LOCKSTEP_WORKFLOW_BESIDE_OTHERS=true",
        others.value().front());
    co_return kExitConfiguration;
}

engine::Task<bool> Daemon::start_scheduler(engine::Ports ports) {
    engine::SchedulerConfig config;
    config.tunables = files_.jobs.tunables;
    config.pools = files_.jobs.pools.table;
    config.pools_document = files_.jobs.pools.json;
    config.timeouts = files_.jobs.timeouts;
    config.pinned = settings_.pinned;
    config.on_pools = [this](const engine::RoutingTable& pools) {
        for (const auto& topic : pools.topics) metrics_.know_topic(topic.first);
    };
    config.room = room_;
    config.instance_id = instance_;
    config.version = version_;
    scheduler_ = std::make_unique<engine::Scheduler>(ports, std::move(config));
    const auto started = co_await scheduler_->start();
    if (!started) error("the scheduler cannot start", started.error());
    co_return started.has_value();
}

engine::Task<bool> Daemon::start_workflow(engine::Ports ports) {
    engine::WorkflowConfig config;
    config.room = room_;
    config.tunables = settings_.tunables;
    config.version = version_;
    workflow_ = std::make_unique<engine::WorkflowEngine>(ports, std::move(config));
    const auto started = co_await workflow_->start();
    if (!started) error("the workflow engine cannot start", started.error());
    co_return started.has_value();
}

engine::Task<bool> Daemon::start_engines() {
    if (settings_.roles.scheduler)
        kernel_ = std::make_unique<GrpcKernel>(loop_, KernelOptions{settings_.kernel.address, settings_.kernel.tls});
    if (kernel_) health_.kernel_configured();
    engine::Kernel& kernel = kernel_ ? static_cast<engine::Kernel&>(*kernel_) : no_kernel_;
    const engine::Ports ports{loop_, clock_, entropy_, *redis_, *watched_, kernel, metrics_, log_};
    if (settings_.roles.scheduler) {
        const bool started = co_await start_scheduler(ports);
        if (!started) co_return false;
    }
    if (!settings_.roles.workflow) co_return true;
    const bool started = co_await start_workflow(ports);
    if (!started && scheduler_) co_await scheduler_->drain();
    co_return started;
}

void Daemon::register_instances(engine::Scope& background) {
    const auto add = [&](InstanceRecord::Content content) {
        records_.push_back(std::make_unique<InstanceRecord>(*redis_, clock_, content));
        background.spawn(records_.back()->keep());
    };
    if (scheduler_)
        add({.service = kSchedulerService,
             .id = instance_,
             .version = version_,
             .implementation = {},
             .limits = limits_of_variables(settings_)});
    // Without a given id the host's name alone would not tell two replicas of one host apart.
    const std::string& id = settings_.instance_id.empty() ? instance_ : settings_.instance_id;
    if (workflow_) add({.service = kWorkflowService, .id = id, .version = version_, .implementation = kImplementation});
}

engine::Task<void> Daemon::keep_figures() {
    while (true) {
        set_figures();
        co_await clock_.sleep(kFiguresInterval);
    }
}

void Daemon::set_figures() {
    const bool redis = redis_ && redis_->connected();
    const bool nats = bus_ && bus_->connection().connected;
    metrics_.set(DaemonMetric::connected, redis ? 1 : 0, {"redis"});
    metrics_.set(DaemonMetric::connected, nats ? 1 : 0, {"nats"});
    metrics_.set(DaemonMetric::ready, health_.takes_jobs() ? 1 : 0);
    if (drain_began_) {
        const std::chrono::duration<double> draining = clock_.monotonic() - *drain_began_;
        metrics_.set(DaemonMetric::drain, draining.count());
    }
    const std::uint64_t lost = log_.lines_lost();
    metrics_.add(DaemonMetric::log_lines_lost, {},
                 static_cast<double>(lost - std::exchange(log_lines_lost_told_, lost)));
    process_figures_.look();
}

void Daemon::watch_redis() {
    redis_->on_exchange([this](engine::Duration took, engine::OutcomeKind kind) {
        metrics_.observe(DaemonMetric::redis_exchange, std::chrono::duration<double>(took).count());
        if (kind != engine::OutcomeKind::applied) metrics_.add(DaemonMetric::redis_failures, {to_string(kind)});
    });
    redis_->on_renewal(renewal_, [this](engine::Duration left, engine::Duration life) {
        metrics_.observe(DaemonMetric::lease_margin, std::chrono::duration<double>(left) / life);
    });
}

void Daemon::watch_bus() {
    queue_watch_ = std::make_unique<QueueWatch>(*redis_, *bus_, clock_, metrics_);
    bus_->on_watch({.bound = [this](const engine::ConsumerSpec& spec) { queue_watch_->know(spec); },
                    .delivered = [this](std::string_view payload) { traces_.learn(payload); },
                    .acknowledged =
                        [this](std::string_view subject, engine::WallTime stored_at) {
                            if (subject != engine::wire::kSubjectSubmit) return;
                            const std::chrono::duration<double> age = clock_.now() - stored_at;
                            metrics_.observe(DaemonMetric::submit_to_answer, age.count());
                        },
                    .stored =
                        [this](std::string_view subject) {
                            if (subject == engine::wire::kSubjectDlq) metrics_.add(DaemonMetric::dead_letters);
                        }});
}

void Daemon::announce_ready() {
    set_figures();
    engine::Log& log = log_;
    if (settings_.roles == kSchedulerRole)
        log.event(LogLevel::info, "ready", {{"instance", instance_}});
    else
        log.event(LogLevel::info, "ready", {{"instance", instance_}, {"role", to_string(settings_.roles)}});
    notify_service_manager("READY=1\nSTATUS=taking jobs");
}

engine::Task<void> Daemon::drain_engines() {
    engine::Log& log = log_;
    const std::size_t of_scheduler = scheduler_ ? scheduler_->in_flight() : 0;
    const std::size_t of_workflow = workflow_ ? workflow_->in_flight() : 0;
    drain_began_ = clock_.monotonic();
    log.event(LogLevel::info, "draining", {{"in_flight", of_scheduler + of_workflow}});
    notify_service_manager(fmt::format("STOPPING=1\nSTATUS=draining, {} in flight", of_scheduler + of_workflow));
    engine::Scope extension(loop_);
    extension.spawn(extend_stop(clock_));
    // Each has the whole grace, and takes all of it only when it leaves something unfinished.
    const engine::Duration grace = settings_.tunables.shutdown_grace;
    if (workflow_) {
        const engine::MonoTime begin = clock_.monotonic();
        co_await workflow_->drain();
        overran_ |= of_workflow > 0 && clock_.monotonic() - begin >= grace;
    }
    if (scheduler_) {
        const engine::MonoTime begin = clock_.monotonic();
        co_await scheduler_->drain();
        overran_ |= of_scheduler > 0 && clock_.monotonic() - begin >= grace;
    }
    if (overran_)
        log.event(LogLevel::warn, "the drain overran: what was in hand is delivered again",
                  {{"grace", engine::format_duration(grace)}, {"way_out", "raise LOCKSTEP_SHUTDOWN_GRACE"}});
}

engine::Task<void> Daemon::tell_on_request() {
    while (true) {
        co_await asked_to_tell_.wait();
        asked_to_tell_.reset();
        tell_what_runs(log_, clock_,
                       {.not_ready = health_.why_not_ready(),
                        .scheduler_handlers = scheduler_ ? scheduler_->in_flight() : 0,
                        .workflow_handlers = workflow_ ? workflow_->in_flight() : 0,
                        .workers = scheduler_ ? scheduler_->workers().size() : 0,
                        .redis = redis_.get(),
                        .bus = watched_.get(),
                        .kernel = kernel_ ? settings_.kernel.address : std::string()});
        if (watched_) co_await tell_queues(log_, clock_, *watched_);
    }
}

engine::Task<int> Daemon::serve() {
    if (!start_listeners()) co_return kExitConfiguration;
    starting("no connection to Redis yet");
    const bool redis = co_await reach_redis();
    if (!redis) co_return kExitUnreachable;
    const bool kept = co_await redis_keeps_keys();
    if (!kept) co_return kExitConfiguration;
    starting("no connection to NATS, or its streams are not there yet");
    const bool nats = co_await reach_nats();
    if (!nats) co_return kExitUnreachable;
    starting("settings and durable consumers are not there yet");
    const auto refused = co_await refused_among_engines();
    if (refused) co_return *refused;
    const bool started = co_await start_engines();
    if (!started) co_return kExitUnreachable;
    engine::Scope background(loop_);
    register_instances(background);
    if (scheduler_) background.spawn(follow_files());
    background.spawn(queue_watch_->keep_looking());
    health_.not_ready({});
    announce_ready();

    co_await asked_to_stop_.wait();

    draining_ = true;
    health_.not_ready("draining");
    co_await drain_engines();
    background.cancel();
    for (const auto& record : records_) co_await record->remove();
    health_.stop();
    bus_->close();
    static_cast<engine::Log&>(log_).event(LogLevel::info, "stopped");
    if (given_up_) co_return kExitUnreachable;
    co_return overran_ ? kExitOverran : kExitOk;
}

}  // namespace lockstep::prod
