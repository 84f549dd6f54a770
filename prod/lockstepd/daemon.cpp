#include "prod/lockstepd/daemon.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "engine/scheduler/scheduler.h"
#include "prod/config/timeouts.h"
#include "prod/config/yaml.h"
#include "prod/lockstepd/instance_record.h"
#include "prod/lockstepd/service_notify.h"

namespace lockstep::prod {

using engine::LogLevel;

namespace {

/// How long a server may take to appear while we start. Long enough for servers that are started together with us, short
/// enough that a wrong address is noticed.
constexpr auto kStartPatience = std::chrono::seconds(10);
constexpr auto kRetryPause = std::chrono::milliseconds(500);
constexpr auto kPrepareTimeout = std::chrono::seconds(10);

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown";
}

}  // namespace

tl::expected<Files, std::string> read_files(Settings& settings) {
    Files files;
    const auto pools_text = read_file(settings.pools_file);
    if (!pools_text)
        return tl::make_unexpected(fmt::format(
            "{}. POOL_CONFIG_PATH names the file that says which pools serve which topics", pools_text.error()));
    auto pools = parse_pools_file(*pools_text, settings.pools_file);
    if (!pools) return tl::make_unexpected(pools.error());
    files.pools = std::move(*pools);

    const bool strict = settings.production && settings.timeouts_file_given;
    const auto timeouts_text = read_file(settings.timeouts_file);
    auto timeouts = timeouts_text
                        ? parse_timeouts_file(*timeouts_text, settings.timeouts_file)
                        : tl::expected<engine::Timeouts, std::string>(tl::make_unexpected(timeouts_text.error()));
    if (timeouts) {
        engine::apply_limits(*timeouts, settings.tunables);
        files.timeouts = std::move(*timeouts);
    } else if (strict) {
        return tl::make_unexpected(fmt::format(
            "{}\nTIMEOUT_CONFIG_PATH is set, so production mode does not start without it", timeouts.error()));
    } else {
        files.warnings.push_back(timeouts.error() + "; built-in timeouts are used");
    }

    const engine::Timeouts* limits = files.timeouts ? &*files.timeouts : nullptr;
    if (auto late = late_result_warning(settings.tunables, limits); !late.empty())
        files.warnings.push_back(std::move(late));

    // What the library does not take now, keys and certificates above all, it will not take later either.
    if (const auto usable = library_options(settings.nats); !usable)
        return tl::make_unexpected(fmt::format("the NATS settings: {}", usable.error()));

    if (!settings.kernel.tls_ca_file.empty()) {
        auto ca = read_file(settings.kernel.tls_ca_file);
        if (!ca) return tl::make_unexpected(fmt::format("SAFETY_KERNEL_TLS_CA: {}", ca.error()));
        if (ca->find("-----BEGIN CERTIFICATE-----") == std::string::npos)
            return tl::make_unexpected(
                fmt::format("SAFETY_KERNEL_TLS_CA: {} holds no PEM certificate", settings.kernel.tls_ca_file));
        files.kernel_ca = std::move(*ca);
    }
    return files;
}

Daemon::Daemon(Settings settings, Files files, std::string version)
    : settings_(std::move(settings)),
      files_(std::move(files)),
      version_(std::move(version)),
      log_("SCHEDULER", settings_.log),
      metrics_(settings_.pod),
      health_(loop_),
      scope_(loop_) {}

Daemon::~Daemon() {
    scope_.cancel();
    health_.stop();
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
        std::abort();
    });
    log.event(LogLevel::info, "starting", {{"version", version_}, {"production", settings_.production}});
    for (const auto& warning : settings_.warnings) log.event(LogLevel::warn, "configuration", {{"warning", warning}});
    for (const auto& warning : files_.warnings) log.event(LogLevel::warn, "configuration", {{"warning", warning}});

    const SignalWatch signals(loop_, {SIGTERM, SIGINT}, [this](int number) { on_signal(number); });
    scope_.spawn(main());
    scope_.spawn(tell_left_out_lines(log_, clock_));
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

void Daemon::start_admin() {
    auto admin = AdminHttp::start(settings_.metrics_address, {.metrics = [this] { return metrics_.text(); },
                                                              .health = [this] { return health_.ask(); }});
    if (!admin) {
        error("no admin listener", admin.error());
        return;
    }
    admin_ = std::move(*admin);
    static_cast<engine::Log&>(log_).event(LogLevel::info, "admin listener", {{"port", admin_->port()}});
}

engine::Task<bool> Daemon::reach_redis() {
    engine::Log& log = log_;
    redis_ = std::make_unique<HiredisClient>(loop_, settings_.redis);
    redis_->on_state([&log](bool connected, const std::string& why) {
        if (connected)
            log.event(LogLevel::info, "connected to Redis");
        else
            log.event(LogLevel::warn, "no connection to Redis", {{"error", why}});
    });
    const engine::MonoTime limit = clock_.in(kStartPatience);
    while (!redis_->connected() && clock_.monotonic() < limit && !asked_to_stop_.is_set())
        co_await clock_.sleep(kRetryPause / 10);
    if (!redis_->connected())
        error("Redis cannot be reached; check REDIS_URL", redis_->last_error());
    else
        health_.watch(redis_.get());
    co_return redis_->connected();
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
    bus_->on_event([&log](bool connected, const std::string& what) {
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
    const auto prepared = co_await bus_->prepare(clock_.in(kPrepareTimeout));
    if (!prepared) error("JetStream cannot be used", prepared.error());
    co_return prepared.has_value();
}

engine::Task<int> Daemon::serve() {
    engine::Log& log = log_;
    start_admin();
    const bool redis = co_await reach_redis();
    if (!redis) co_return kExitUnreachable;
    const bool nats = co_await reach_nats();
    if (!nats) co_return kExitUnreachable;
    kernel_ = std::make_unique<GrpcKernel>(loop_, KernelOptions{settings_.kernel.address, files_.kernel_ca});
    health_.kernel_configured();

    const std::string instance = fmt::format("{}-{}", host_name(), entropy_.uuid().substr(0, 8));
    const engine::Ports ports{loop_, clock_, entropy_, *redis_, *bus_, *kernel_, metrics_, log_};
    engine::SchedulerConfig config;
    config.tunables = settings_.tunables;
    config.pools = std::move(files_.pools.table);
    config.pools_document = std::move(files_.pools.json);
    config.timeouts = std::move(files_.timeouts);
    config.pinned = settings_.pinned;
    config.instance_id = instance;
    config.version = version_;
    engine::Scheduler scheduler(ports, std::move(config));
    const auto started = co_await scheduler.start();
    if (!started) {
        error("the scheduler cannot start", started.error());
        co_return kExitUnreachable;
    }
    InstanceRecord record(*redis_, clock_, instance, version_);
    engine::Scope background(loop_);
    background.spawn(record.keep());
    log.event(LogLevel::info, "ready", {{"instance", instance}});
    notify_service_manager("READY=1");

    co_await asked_to_stop_.wait();

    notify_service_manager("STOPPING=1");
    draining_ = true;
    log.event(LogLevel::info, "draining", {{"in_flight", scheduler.in_flight()}});
    co_await scheduler.drain();
    background.cancel();
    co_await record.remove();
    health_.stop();
    bus_->close();
    log.event(LogLevel::info, "stopped");
    co_return given_up_ ? kExitUnreachable : kExitOk;
}

}  // namespace lockstep::prod
