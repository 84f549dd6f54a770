#include "engine/scheduler/scheduler.h"

#include <fmt/core.h>

#include <string>

#include "engine/announce/dead_letters.h"
#include "engine/output/content_scanner.h"
#include "engine/reconcile/pending_replayer.h"
#include "engine/reconcile/reconciler.h"
#include "engine/rollback/rollbacks.h"
#include "engine/runtime/scope.h"
#include "engine/scheduler/capacity.h"
#include "engine/scheduler/dispatch.h"
#include "engine/scheduler/intake.h"
#include "engine/scheduler/request_handler.h"
#include "engine/scheduler/result_handler.h"
#include "engine/snapshot/snapshot_writer.h"
#include "engine/snapshot/warm_start.h"
#include "engine/store/deployment_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

constexpr Duration kSetupTimeout = std::chrono::seconds{10};
/// As often as the reference says it.
constexpr Duration kWorkersReportInterval = std::chrono::seconds{60};

}  // namespace

/// Everything of a running scheduler, in the order in which it must be taken down again: the tasks go first.
class Scheduler::Parts final {
public:
    Parts(const Ports& ports, SchedulerConfig config)
        : replica_(ports, config.tunables, config.pools, config.mechanisms, config.timeouts.value_or(Timeouts{}),
                   std::move(config.room)),
          settings_(replica_, documents_of(config.pools_document, config.timeouts), config.pinned, config.on_pools),
          version_(std::move(config.version)),
          deployment_(replica_.ports, replica_.tunables),
          dead_letters_(replica_, replica_.letters),
          dispatcher_(replica_, dead_letters_),
          requests_(replica_, dead_letters_, dispatcher_),
          rollbacks_(replica_, replica_.sagas, replica_.leases, replica_.policy, dead_letters_),
          scanner_(replica_, replica_.store, replica_.leases, replica_.output, dead_letters_),
          results_(replica_, dead_letters_, rollbacks_, scanner_),
          reconciler_(replica_, replica_.timeouts, replica_.leases, replica_.sweeps, dead_letters_, intake_),
          replayer_(replica_, replica_.store, replica_.sweeps, replica_.leases, dead_letters_, requests_),
          capacity_(replica_),
          snapshots_(replica_, replica_.scripts, replica_.leases, replica_.registry, replica_.routing,
                     std::move(config.instance_id)),
          intake_(replica_, dead_letters_, requests_, results_, replayer_),
          background_(ports.executor) {
        if (config.on_pools) config.on_pools(config.pools);
        settings_.set_listener(
            [this](const std::string& document) { requests_.note_settings(std::string(kSystemDocument), document); });
    }
    /// Nothing more arrives while the tasks go.
    ~Parts() {
        intake_.take_no_more();
        intake_.stop_listening();
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    Task<tl::expected<void, std::string>> start();
    Task<tl::expected<void, std::string>> adopt(FileSettings files) { return settings_.adopt(std::move(files)); }
    Task<void> drain();

    [[nodiscard]] std::size_t in_flight() const {
        return intake_.in_flight() + rollbacks_.in_progress() + replayer_.in_progress();
    }
    [[nodiscard]] const Registry& workers() const { return replica_.registry; }

private:
    Task<void> announce_self();
    Task<void> sweep_registry();
    Task<void> report_workers();

    Replica replica_;
    ConfigWatcher settings_;
    std::string version_;
    DeploymentId deployment_;
    DeadLetters dead_letters_;
    Dispatcher dispatcher_;
    RequestHandler requests_;
    Rollbacks rollbacks_;
    ContentScanner scanner_;
    ResultHandler results_;
    Reconciler reconciler_;
    PendingReplayer replayer_;
    Capacity capacity_;
    SnapshotWriter snapshots_;
    Intake intake_;
    Scope background_;
};

Task<tl::expected<void, std::string>> Scheduler::Parts::start() {
    const auto last = co_await replica_.jobs_stream.end(replica_.ports.clock.in(kSetupTimeout));
    if (!last.applied())
        co_return tl::make_unexpected(fmt::format("stream {}: {}", wire::kStreamJobs, last.failure().detail));
    auto settings = co_await settings_.start();
    if (!settings) co_return settings;

    const auto deployment = co_await deployment_.at_start();
    if (!deployment) co_return tl::make_unexpected(deployment.error());

    // Of a start that failed half-way.
    intake_.stop_listening();
    intake_.take_no_more();
    // Workers first, so that the first job already finds some.
    if (replica_.mechanisms.on(Mechanism::warm_start)) co_await warm_start(replica_, replica_.registry);
    intake_.listen();
    for (Intake::Stream& stream : intake_.streams()) {
        auto bound = co_await intake_.bind(stream, *deployment);
        if (!bound) co_return bound;
    }

    background_.spawn(reconciler_.run());
    background_.spawn(replayer_.run());
    background_.spawn(capacity_.run());
    background_.spawn(rollbacks_.run());
    background_.spawn(rollbacks_.keep_recorded());
    background_.spawn(scanner_.run());
    for (Intake::Stream& stream : intake_.streams()) background_.spawn(stream.pump.keep_alive());
    background_.spawn(sweep_registry());
    background_.spawn(report_workers());
    background_.spawn(snapshots_.run());
    background_.spawn(settings_.run());
    background_.spawn(deployment_.keep());
    co_await announce_self();
    co_return tl::expected<void, std::string>{};
}

Task<void> Scheduler::Parts::announce_self() {
    cap::Handshake handshake;
    handshake.set_component_id("scheduler");
    handshake.set_role(cap::COMPONENT_ROLE_SCHEDULER);
    handshake.add_supported_versions(wire::kProtocolVersion);
    auto& capabilities = *handshake.mutable_capabilities();
    for (const char* name : {"safety_check", "routing", "compensation"}) capabilities[name] = true;
    handshake.set_sdk_version(version_);
    const auto packet =
        wire::make_packet(std::move(handshake), replica_.ports.entropy.uuid(), "scheduler", replica_.ports.clock.now());
    const auto sent =
        co_await replica_.ports.bus.publish_core(std::string(wire::kSubjectHandshake), wire::serialise(packet));
    if (!sent.applied())
        replica_.ports.log.event(LogLevel::warn, "handshake not published", {{"error", sent.failure().detail}});
}

Task<void> Scheduler::Parts::sweep_registry() {
    while (true) {
        co_await replica_.ports.clock.sleep(replica_.tunables.worker_ttl / 2);
        replica_.registry.sweep(replica_.ports.clock.monotonic());
    }
}

Task<void> Scheduler::Parts::report_workers() {
    while (true) {
        co_await replica_.ports.clock.sleep(kWorkersReportInterval);
        const RegistryStatistics known = replica_.registry.statistics(replica_.ports.clock.monotonic());
        std::string pools;
        for (const auto& [pool, workers] : known.by_pool)
            pools += fmt::format("{}{}={}", pools.empty() ? "" : " ", pool, workers);
        replica_.ports.log.event(LogLevel::info, "workers", {{"workers", known.workers}, {"pools", pools}});
    }
}

Task<void> Scheduler::Parts::drain() {
    replica_.stopping = true;
    intake_.take_no_more();
    for (Intake::Stream& stream : intake_.streams()) stream.pump.wake();
    const MonoTime deadline = replica_.ports.clock.in(replica_.tunables.shutdown_grace);
    for (Intake::Stream& stream : intake_.streams()) co_await stream.pump.drain(deadline);
    capacity_.stop();
    co_await replayer_.drain(deadline);
    co_await rollbacks_.drain(deadline);
    co_await scanner_.drain(deadline);
    intake_.stop_listening();
    settings_.stop();
    intake_.drop_cancels();
    background_.cancel();
    // Taken over from those who were at it, together with what stopped handlers have left. All at once: with the store away,
    // one after the other would take four seconds each.
    replica_.leases.cancel_releases();
    Scope releases(replica_.ports.executor);
    for (const auto& [token, lock] : replica_.leases.book().held())
        releases.spawn(release_lock(replica_.leases.ports(), lock, replica_.tunables.store_op_timeout, deadline));
    co_await releases.join();
}

Scheduler::Scheduler(const Ports& ports, SchedulerConfig config)
    : parts_(std::make_unique<Parts>(ports, std::move(config))) {}
Scheduler::~Scheduler() = default;

Task<tl::expected<void, std::string>> Scheduler::start() { return parts_->start(); }
Task<tl::expected<void, std::string>> Scheduler::adopt(FileSettings files) { return parts_->adopt(std::move(files)); }
Task<void> Scheduler::drain() { return parts_->drain(); }
std::size_t Scheduler::in_flight() const { return parts_->in_flight(); }
const Registry& Scheduler::workers() const { return parts_->workers(); }

}  // namespace lockstep::engine
