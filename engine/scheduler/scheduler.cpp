#include "engine/scheduler/scheduler.h"

#include <fmt/core.h>

#include <vector>

#include "engine/announce/dead_letters.h"
#include "engine/bus/byte_window.h"
#include "engine/bus/message_pump.h"
#include "engine/output/content_scanner.h"
#include "engine/reconcile/pending_replayer.h"
#include "engine/reconcile/reconciler.h"
#include "engine/rollback/rollbacks.h"
#include "engine/runtime/scope.h"
#include "engine/scheduler/cancel.h"
#include "engine/scheduler/dispatch.h"
#include "engine/scheduler/log_limit.h"
#include "engine/scheduler/request_handler.h"
#include "engine/scheduler/result_handler.h"
#include "engine/snapshot/snapshot_writer.h"
#include "engine/snapshot/warm_start.h"
#include "engine/wire/heartbeat_bounds.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/packet_kinds.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

constexpr Duration kSetupTimeout = std::chrono::seconds{10};
/// As often as the reference says it.
constexpr Duration kWorkersReportInterval = std::chrono::seconds{60};

std::string durable_of(std::string_view subject) { return wire::durable_name(wire::kQueueScheduler, subject); }

}  // namespace

/// Everything of a running scheduler, in the order in which it must be taken down again: the tasks go first.
class Scheduler::Parts final : public PacketHandler, public MessageSink {
public:
    Parts(const Ports& ports, SchedulerConfig config)
        : replica_(ports, config.tunables, config.pools, config.mechanisms, config.timeouts.value_or(Timeouts{})),
          settings_(replica_, documents_of(config.pools_document, config.timeouts), config.pinned, config.on_pools),
          version_(std::move(config.version)),
          dead_letters_(replica_, replica_.store),
          dispatcher_(replica_, dead_letters_),
          requests_(replica_, dead_letters_, dispatcher_),
          rollbacks_(replica_, replica_.sagas, replica_.policy, dead_letters_),
          scanner_(replica_, replica_.store, replica_.leases, replica_.output, dead_letters_),
          results_(replica_, dead_letters_, rollbacks_, scanner_),
          reconciler_(replica_, replica_.timeouts, replica_.scripts, replica_.store, dead_letters_),
          replayer_(replica_, replica_.scripts, replica_.store, replica_.leases, dead_letters_, requests_),
          snapshots_(replica_, replica_.scripts, replica_.registry, replica_.routing, std::move(config.instance_id)),
          window_(replica_),
          cancels_(replica_),
          submits_pump_(replica_, replica_.scripts, replica_.store, dead_letters_, *this,
                        durable_of(wire::kSubjectSubmit), &replayer_, &window_),
          results_pump_(replica_, replica_.scripts, replica_.store, dead_letters_, *this,
                        durable_of(wire::kSubjectResult), nullptr, &window_),
          background_(ports.executor) {
        if (config.on_pools) config.on_pools(config.pools);
        settings_.set_listener(
            [this](const std::string& document) { requests_.note_settings(std::string(kSystemDocument), document); });
    }
    /// Nobody asks for more because what was in hand goes.
    ~Parts() override { window_.close(); }

    Task<tl::expected<void, std::string>> start();
    Task<tl::expected<void, std::string>> adopt(FileSettings files) { return settings_.adopt(std::move(files)); }
    Task<void> drain();

    [[nodiscard]] std::size_t in_flight() const {
        return submits_pump_.in_flight() + results_pump_.in_flight() + rollbacks_.in_progress() +
               replayer_.in_progress();
    }
    [[nodiscard]] const Registry& workers() const { return replica_.registry; }

private:
    /// Stream messages.
    Task<Verdict> handle(cap::BusPacket packet, Origin origin) override;
    /// Core messages.
    void on_message(std::string_view subject, std::string_view payload) override;

    /// Whether the packet is acted on; one that claims to be what its subject is not for is told of.
    [[nodiscard]] bool counts(const cap::BusPacket& packet, std::string_view subject);

    /// Of what a worker says of itself. No reason: there was none.
    void note_refusal(std::string_view reason, const std::string& worker);

    using Bound = tl::expected<std::unique_ptr<Consumption>, std::string>;
    Task<Bound> consume(std::string_view subject, MessagePump& pump);
    Task<void> announce_self();
    Task<void> sweep_registry();
    Task<void> report_workers();

    Replica replica_;
    ConfigWatcher settings_;
    std::string version_;
    DeadLetters dead_letters_;
    Dispatcher dispatcher_;
    RequestHandler requests_;
    Rollbacks rollbacks_;
    ContentScanner scanner_;
    ResultHandler results_;
    Reconciler reconciler_;
    PendingReplayer replayer_;
    SnapshotWriter snapshots_;
    LogLimit refusals_;
    ByteWindow window_;  // holds the binding of submissions
    CancelIntake cancels_;
    MessagePump submits_pump_;
    MessagePump results_pump_;
    Scope background_;
    std::unique_ptr<Consumption> results_binding_;
    std::vector<std::unique_ptr<Subscription>> listeners_;
};

Task<tl::expected<void, std::string>> Scheduler::Parts::start() {
    const auto last = co_await replica_.jobs_stream.end(replica_.ports.clock.in(kSetupTimeout));
    if (!last.applied())
        co_return tl::make_unexpected(fmt::format("stream {}: {}", wire::kStreamJobs, last.failure().detail));
    auto settings = co_await settings_.start();
    if (!settings) co_return settings;

    listeners_.clear();  // of a start that failed half-way
    window_.close();
    results_binding_.reset();
    // Workers first, so that the first job already finds some.
    if (replica_.mechanisms.on(Mechanism::warm_start)) co_await warm_start(replica_, replica_.registry);
    Bus& bus = replica_.ports.bus;
    const std::string group(wire::kQueueScheduler);
    listeners_.push_back(bus.subscribe(std::string(wire::kSubjectHeartbeat), "", *this));
    listeners_.push_back(bus.subscribe(std::string(wire::kSubjectHandshake), "", *this));
    listeners_.push_back(bus.subscribe(std::string(wire::kSubjectCancel), group, *this));
    auto submits = co_await consume(wire::kSubjectSubmit, submits_pump_);
    if (!submits) co_return tl::make_unexpected(std::move(submits.error()));
    window_.regulate(std::move(*submits));
    auto results = co_await consume(wire::kSubjectResult, results_pump_);
    if (!results) co_return tl::make_unexpected(std::move(results.error()));
    results_binding_ = std::move(*results);

    background_.spawn(reconciler_.run());
    background_.spawn(replayer_.run());
    background_.spawn(rollbacks_.run());
    background_.spawn(scanner_.run());
    background_.spawn(submits_pump_.keep_alive());
    background_.spawn(results_pump_.keep_alive());
    background_.spawn(sweep_registry());
    background_.spawn(report_workers());
    background_.spawn(snapshots_.run());
    background_.spawn(settings_.run());
    co_await announce_self();
    co_return tl::expected<void, std::string>{};
}

Task<Scheduler::Parts::Bound> Scheduler::Parts::consume(std::string_view subject, MessagePump& pump) {
    ConsumerSpec spec;
    spec.stream = wire::kStreamSys;
    spec.subject = subject;
    spec.queue = wire::kQueueScheduler;
    spec.durable = durable_of(subject);
    spec.ack_wait = replica_.tunables.bus_ack_wait;
    spec.max_deliver = static_cast<int>(replica_.tunables.bus_max_deliver);
    spec.max_ack_pending = static_cast<int>(replica_.tunables.bus_max_ack_pending);
    spec.rate_limit_bps = replica_.tunables.bus_rate_limit;
    auto bound = co_await replica_.ports.bus.consume(std::move(spec), pump, replica_.ports.clock.in(kSetupTimeout));
    if (!bound.applied())
        co_return tl::make_unexpected(fmt::format("consumer of {}: {}", subject, bound.failure().detail));
    co_return std::move(bound.value());
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

Task<Verdict> Scheduler::Parts::handle(cap::BusPacket packet, Origin origin) {
    if (!counts(packet, origin.subject)) co_return Verdict::done();
    if (packet.has_job_request())
        co_return co_await requests_.handle(std::move(*packet.mutable_job_request()), packet.trace_id());
    co_return co_await results_.handle(std::move(*packet.mutable_job_result()), origin.sequence);
}

void Scheduler::Parts::on_message(std::string_view subject, std::string_view payload) {
    const auto packet = wire::decode(payload);
    if (!packet) {
        replica_.ports.log.event(LogLevel::error, "message not decodable", {{"subject", subject}});
        return;
    }
    if (!counts(*packet, subject)) return;
    const MonoTime now = replica_.ports.clock.monotonic();
    switch (packet->payload_case()) {
        case cap::BusPacket::kHeartbeat:
            note_refusal(replica_.registry.on_heartbeat(packet->heartbeat(), now), packet->heartbeat().worker_id());
            break;
        case cap::BusPacket::kHandshake:
            note_refusal(replica_.registry.on_handshake(packet->handshake(), now), packet->handshake().component_id());
            break;
        case cap::BusPacket::kJobCancel:
            if (!replica_.stopping) cancels_.take(packet->job_cancel().job_id());
            break;
        default: break;
    }
}

void Scheduler::Parts::note_refusal(std::string_view reason, const std::string& worker) {
    if (reason.empty()) return;
    replica_.ports.metrics.add(Metric::heartbeats_refused, {reason});
    replica_.ports.log.reached("heartbeat_refused");
    const auto held_back = refusals_.admit(reason, replica_.ports.clock.monotonic());
    if (!held_back) return;
    replica_.ports.log.event(LogLevel::warn, "heartbeat ignored: it is outside sense",
                             {{"worker_id", std::string_view(worker).substr(0, wire::kWorkerIdMax)},
                              {"reason", reason},
                              {"more_since_the_last", *held_back}});
}

bool Scheduler::Parts::counts(const cap::BusPacket& packet, std::string_view subject) {
    if (wire::counts_on(packet.payload_case(), subject)) return true;
    // Without a payload, or with one of a later protocol version, it is nobody's mistake.
    if (packet.payload_case() == cap::BusPacket::PAYLOAD_NOT_SET) return false;
    replica_.ports.metrics.add(Metric::validation_rejections);
    replica_.ports.log.event(LogLevel::warn, "packet ignored: its kind does not belong on its subject",
                             {{"subject", subject}, {"sender_id", packet.sender_id()}});
    return false;
}

Task<void> Scheduler::Parts::drain() {
    replica_.stopping = true;
    window_.close();
    results_binding_.reset();
    submits_pump_.wake();
    results_pump_.wake();
    const MonoTime deadline = replica_.ports.clock.in(replica_.tunables.shutdown_grace);
    co_await submits_pump_.drain(deadline);
    co_await results_pump_.drain(deadline);
    co_await replayer_.drain(deadline);
    co_await rollbacks_.drain(deadline);
    co_await scanner_.drain(deadline);
    listeners_.clear();
    settings_.stop();
    cancels_.stop();
    background_.cancel();
    // Taken over from those who were at it, together with what stopped handlers have left. All at once: with the store away,
    // one after the other would take four seconds each.
    replica_.leases.cancel_releases();
    Scope releases(replica_.ports.executor);
    for (const auto& [token, job] : replica_.leases.book().held())
        releases.spawn(release_lock(replica_.leases.ports(), job, token, deadline));
    releases.spawn(snapshots_.release());
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
