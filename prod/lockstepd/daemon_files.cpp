// What the daemon reads from files: at its start, and again whenever SIGHUP asks for it.
#include <fmt/core.h>

#include "prod/lockstepd/daemon.h"
#include "prod/tls/certificate_times.h"

namespace lockstep::prod {

using engine::LogLevel;

namespace {

/// Between two looks at the certificates: they are warned of days ahead.
constexpr auto kCertificateInterval = std::chrono::minutes(1);

struct NamedCertificate {
    std::string variable;
    std::string file;
    Expiry which;
};

std::vector<NamedCertificate> certificates_of(const Settings& settings) {
    std::vector<NamedCertificate> all;
    const auto add = [&](const std::string& prefix, const std::string& authorities, const std::string& own) {
        if (!authorities.empty()) all.push_back({prefix + "CA", authorities, Expiry::last});
        if (!own.empty()) all.push_back({prefix + "CERT", own, Expiry::first});
    };
    add("NATS_TLS_", settings.nats.tls_ca, settings.nats.tls_certificate);
    if (const auto& tls = settings.redis.tls) add("REDIS_TLS_", tls->ca_file, tls->certificate_file);
    if (const auto& tls = settings.kernel.tls) add("SAFETY_KERNEL_TLS_", tls->ca_file, tls->certificate_file);
    return all;
}

}  // namespace

engine::Task<void> Daemon::watch_certificates() {
    while (true) {
        for (const NamedCertificate& certificate : certificates_of(settings_)) {
            // One that cannot be read any more keeps its time: whoever connects says what is wrong with it.
            if (const auto expiry = certificate_expiry(certificate.file, certificate.which))
                metrics_.set(DaemonMetric::certificate_not_after,
                             static_cast<double>(expiry->time_since_epoch().count()), {certificate.variable});
        }
        co_await clock_.sleep(kCertificateInterval);
    }
}

tl::expected<Files, std::string> read_files(const Settings& settings) {
    Files files;
    if (settings.roles.scheduler) {
        auto jobs = read_job_files(settings, TimeoutsFile::optional);
        if (!jobs) return tl::make_unexpected(jobs.error());
        files.jobs = std::move(*jobs);
    }

    // What the library does not take now, keys and certificates above all, it will not take later either.
    if (const auto usable = library_options(settings.nats); !usable)
        return tl::make_unexpected(fmt::format("the NATS settings: {}", usable.error()));

    for (const auto& [of, tls] :
         {std::pair{"REDIS_TLS_", &settings.redis.tls}, std::pair{"SAFETY_KERNEL_TLS_", &settings.kernel.tls}}) {
        const std::string why = *tls ? mistake_in(**tls) : "";
        if (!why.empty()) return tl::make_unexpected(fmt::format("the {} settings: {}", of, why));
    }
    return files;
}

engine::Task<void> Daemon::follow_files() {
    while (true) {
        co_await asked_to_read_.wait();
        asked_to_read_.reset();
        if (!draining_) co_await read_files_again();
    }
}

engine::Task<void> Daemon::read_files_again() {
    engine::Log& log = log_;
    const auto refused = [this](bool are) {
        static_cast<engine::Metrics&>(metrics_).set(engine::Metric::settings_refused, are ? 1 : 0, {"files"});
    };
    refused(true);
    auto files = read_job_files(settings_, files_.jobs.timeouts ? TimeoutsFile::required : TimeoutsFile::optional);
    if (!files) {
        log_.always(
            LogLevel::error, "SIGHUP: files refused, those read before stay in force",
            {{"error", files.error()}, {"way_out", "mend the file, try it with lockstepd --check, send SIGHUP again"}});
        co_return;
    }
    refused(false);
    warn_of_configuration(files->warnings);
    engine::FileSettings settings{files->pools.json, files->timeouts, files->tunables.dispatch_timeout,
                                  files->tunables.running_timeout};
    const auto adopted = co_await scheduler_->adopt(std::move(settings));
    if (!adopted) {
        log_.always(LogLevel::error, "SIGHUP: files not adopted, those read before stay in force",
                    {{"error", adopted.error()}, {"way_out", "send SIGHUP again once Redis answers"}});
        co_return;
    }
    if (files->tunables.reconciler_interval != files_.jobs.tunables.reconciler_interval)
        warn_of_configuration(
            {fmt::format("{}: scan_interval_seconds changes with a restart only", settings_.timeouts_file)});
    const engine::Duration interval = files_.jobs.tunables.reconciler_interval;
    files_.jobs = std::move(*files);
    files_.jobs.tunables.reconciler_interval = interval;
    log.event(LogLevel::info, "SIGHUP: files read again",
              {{"pools", settings_.pools_file}, {"timeouts", files_.jobs.timeouts ? settings_.timeouts_file : "none"}});
}

}  // namespace lockstep::prod
