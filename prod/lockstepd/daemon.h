// lockstepd from start to end. `serve` reads as what happens:
//   listeners → Redis → NATS and its streams → kernel → engines → wait for a signal → drain → release
//
// What is served is said by the roles: the scheduler, the workflow engine, or both on the same connections. Each has settings,
// timers and a place in its queue group of its own.
//
// SIGTERM and SIGINT drain; a second one while it drains ends the process at once, and what was in flight is delivered again.
// SIGHUP reads the pools and timeouts files again. SIGUSR1 has the log say what runs. SIGUSR2 has it tell everything, and at the next
// one what its setting says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "engine/scheduler/scheduler.h"
#include "engine/store/scripts.h"
#include "engine/workflow/workflow_engine.h"
#include "prod/config/job_files.h"
#include "prod/config/settings.h"
#include "prod/kernel/grpc_kernel.h"
#include "prod/lockstepd/health_probe.h"
#include "prod/lockstepd/instance_record.h"
#include "prod/lockstepd/no_kernel.h"
#include "prod/lockstepd/watched_bus.h"
#include "prod/loop/loop_watch.h"
#include "prod/loop/signals.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/system_entropy.h"
#include "prod/nats/nats_bus.h"
#include "prod/observe/admin_http.h"
#include "prod/observe/process_figures.h"
#include "prod/observe/prometheus_metrics.h"
#include "prod/observe/queue_watch.h"
#include "prod/observe/spdlog_log.h"
#include "prod/redis/hiredis_client.h"

namespace lockstep::prod {

/// What the daemon reads from files.
struct Files {
    JobFiles jobs;
};

/// Reads what the roles need of pools and timeouts, and tries what the settings say of NATS and of TLS. The error
/// says what to mend.
[[nodiscard]] tl::expected<Files, std::string> read_files(const Settings& settings);

class Daemon {
public:
    static constexpr int kExitOk = 0;
    static constexpr int kExitUnreachable = 1;
    static constexpr int kExitConfiguration = 2;
    static constexpr int kExitOverran = 3;

    Daemon(Settings settings, Files files, std::string version);
    ~Daemon();

    /// Runs until a signal or a failed start; the exit code.
    int run();

private:
    [[nodiscard]] engine::Task<void> main();
    [[nodiscard]] engine::Task<int> serve();
    [[nodiscard]] engine::Task<bool> reach_redis();
    [[nodiscard]] engine::Task<bool> reach_nats();
    /// False, with the reason in the log, when Redis may throw keys away.
    [[nodiscard]] engine::Task<bool> redis_keeps_keys();
    /// False, with the reason in the log, when an address cannot be had.
    [[nodiscard]] bool start_listeners();
    [[nodiscard]] bool start_admin();
    [[nodiscard]] bool start_workflow_http();
    /// What the process ends with unless this replica may join the workflow engines; nothing: it may.
    [[nodiscard]] engine::Task<std::optional<int>> refused_among_engines();
    /// False, with the reason in the log, when one does not start; nothing runs then.
    [[nodiscard]] engine::Task<bool> start_engines();
    [[nodiscard]] engine::Task<bool> start_scheduler(engine::Ports ports);
    [[nodiscard]] engine::Task<bool> start_workflow(engine::Ports ports);
    /// The workflow engine first: what it submits on its way out still finds a scheduler.
    [[nodiscard]] engine::Task<void> drain_engines();
    /// Until cancelled: says what runs whenever SIGUSR1 asks for it.
    [[nodiscard]] engine::Task<void> tell_on_request();
    void register_instances(engine::Scope& background);
    /// What is being waited for, to probes and to the service manager.
    void starting(std::string_view why);
    void announce_ready();
    /// Until cancelled: keeps the gauges about this process and its connections as they are.
    [[nodiscard]] engine::Task<void> keep_figures();
    void set_figures();
    /// Until cancelled: shows when the certificates expire that the settings name, read anew, since they are renewed in place.
    [[nodiscard]] engine::Task<void> watch_certificates();
    /// What the bindings tell while they work goes into the metrics.
    void watch_redis();
    void watch_bus();
    void on_signal(int number);
    void on_hang_up();
    /// To everything, or back to what the setting says.
    void change_log_level();
    /// Until cancelled: reads the files again whenever SIGHUP asks for it.
    [[nodiscard]] engine::Task<void> follow_files();
    [[nodiscard]] engine::Task<void> read_files_again();
    void warn_of_configuration(const std::vector<std::string>& warnings);
    void error(const char* message, const std::string& why) {
        static_cast<engine::Log&>(log_).event(engine::LogLevel::error, message, {{"error", why}});
    }

    Settings settings_;
    Files files_;
    std::string version_;
    UvLoop loop_;
    const std::shared_ptr<engine::Room> room_ = std::make_shared<engine::Room>();
    SystemClock clock_;
    SystemEntropy entropy_;
    TraceNames traces_;
    SpdlogLog log_;
    PrometheusMetrics metrics_;
    ProcessFigures process_figures_{metrics_};
    const engine::RedisScript renewal_{engine::StoreScripts().renew_lock};
    HealthProbe health_;
    LoopWatch loop_watch_;
    std::unique_ptr<AdminHttp> admin_;
    std::unique_ptr<AdminHttp> workflow_http_;
    std::unique_ptr<HiredisClient> redis_;
    std::unique_ptr<NatsBus> bus_;
    std::unique_ptr<WatchedBus> watched_;
    std::unique_ptr<QueueWatch> queue_watch_;
    std::unique_ptr<GrpcKernel> kernel_;
    NoKernel no_kernel_;
    const std::string instance_;
    std::unique_ptr<engine::Scheduler> scheduler_;
    std::unique_ptr<engine::WorkflowEngine> workflow_;
    std::vector<std::unique_ptr<InstanceRecord>> records_;
    engine::Event asked_to_stop_;
    engine::Event asked_to_read_;
    engine::Event asked_to_tell_;
    bool draining_ = false;
    bool overran_ = false;  // what was in hand at the end of a grace was given up
    std::optional<engine::MonoTime> drain_began_;
    bool given_up_ = false;  // NATS will not have us any more
    std::uint64_t log_lines_lost_told_ = 0;
    std::optional<int> exit_code_;
    engine::Scope scope_;
};

}  // namespace lockstep::prod
