#include "engine/workflow/workflow_engine.h"

#include <fmt/core.h>

#include <utility>

#include "engine/announce/dead_letters.h"
#include "engine/bus/message_pump.h"
#include "engine/runs/job_request.h"
#include "engine/runtime/scope.h"
#include "engine/store/dead_letter_store.h"
#include "engine/store/deployment_id.h"
#include "engine/store/store_news.h"
#include "engine/store/sweep_store.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/workflow/delay_timers.h"
#include "engine/workflow/result_intake.h"
#include "engine/workflow/run_reconciler.h"
#include "engine/workflow/run_store.h"
#include "engine/workflow/run_visits.h"

namespace lockstep::engine {

namespace {

constexpr Duration kSetupTimeout = std::chrono::seconds{10};
/// Longer than any run id is.
constexpr std::size_t kWakeMax = 1'024;

std::string durable() { return wire::durable_name(wire::kQueueWorkflowEngine, wire::kSubjectResult); }

}  // namespace

/// Everything of a running workflow engine, in the order in which it must be taken down again: the tasks go first.
class WorkflowEngine::Parts final : private MessageSink {
public:
    Parts(const Ports& ports, WorkflowConfig config)
        : context_(ports, std::move(config.tunables), config.mechanisms, std::move(config.room)),
          version_(std::move(config.version)),
          deployment_(context_.ports, context_.tunables),
          news_(ports.clock),
          sweeps_(ports.redis, ports.clock, context_.tunables, scripts_, news_),
          letters_(ports.redis, ports.clock, context_.tunables, scripts_),
          dead_letters_(context_, letters_),
          leases_(context_, scripts_),
          store_(context_),
          visits_(context_, store_, leases_, letters_, dead_letters_),
          timers_(context_, store_, visits_, sweeps_, leases_),
          reconciler_(context_, store_, visits_, sweeps_, leases_),
          results_(context_, store_, visits_),
          pump_(context_, scripts_, letters_, dead_letters_, results_, durable()),
          background_(ports.executor) {
        news_.report_to(ports.log, ports.metrics);
        visits_.set_due_listener(timers_);
    }
    /// Nothing more arrives while the tasks go.
    ~Parts() override {
        listener_.reset();
        binding_.reset();
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    Task<tl::expected<void, std::string>> start();
    Task<void> drain();
    [[nodiscard]] std::size_t in_flight() const { return pump_.in_flight() + visits_.in_progress(); }

private:
    void on_message(std::string_view subject, std::string_view payload) override;
    Task<void> announce_self();

    Context context_;
    std::string version_;
    DeploymentId deployment_;
    const StoreScripts& scripts_ = StoreScripts::shared();
    StoreNews news_;
    SweepStore sweeps_;
    DeadLetterStore letters_;
    DeadLetters dead_letters_;
    Leases leases_;
    RunStore store_;
    RunVisits visits_;
    DelayTimers timers_;
    RunReconciler reconciler_;
    ResultIntake results_;
    MessagePump pump_;
    std::unique_ptr<Subscription> listener_;
    std::unique_ptr<Consumption> binding_;
    Scope background_;
};

Task<tl::expected<void, std::string>> WorkflowEngine::Parts::start() {
    listener_.reset();
    binding_.reset();
    co_await announce_self();
    co_await timers_.recover();
    auto deployment = co_await deployment_.at_start();
    if (!deployment) co_return tl::make_unexpected(deployment.error());
    ConsumerSpec spec;
    spec.stream = wire::kStreamSys;
    spec.subject = wire::kSubjectResult;
    spec.queue = wire::kQueueWorkflowEngine;
    spec.durable = durable();
    spec.ack_wait = context_.tunables.bus_ack_wait;
    spec.max_deliver = static_cast<int>(context_.tunables.bus_max_deliver);
    spec.max_ack_pending = static_cast<int>(context_.tunables.bus_max_ack_pending);
    spec.rate_limit_bps = context_.tunables.bus_rate_limit;
    spec.deployment = std::move(*deployment);
    auto bound = co_await context_.ports.bus.consume(std::move(spec), pump_, context_.ports.clock.in(kSetupTimeout));
    if (!bound.applied())
        co_return tl::make_unexpected(fmt::format("consumer of {}: {}", wire::kSubjectResult, bound.failure().detail));
    binding_ = std::move(bound.value());
    listener_ = context_.ports.bus.subscribe(kSubjectRunWake, std::string(wire::kQueueWorkflowEngine), *this);
    background_.spawn(pump_.keep_alive());
    background_.spawn(timers_.poll());
    background_.spawn(reconciler_.run());
    background_.spawn(deployment_.keep());
    co_return tl::expected<void, std::string>{};
}

void WorkflowEngine::Parts::on_message(std::string_view, std::string_view payload) {
    if (!payload.empty() && payload.size() <= kWakeMax) visits_.visit_later(std::string(payload));
}

Task<void> WorkflowEngine::Parts::announce_self() {
    cap::Handshake handshake;
    handshake.set_component_id(kWorkflowSender);
    handshake.set_role(cap::COMPONENT_ROLE_ORCHESTRATOR);
    handshake.add_supported_versions(wire::kProtocolVersion);
    auto& capabilities = *handshake.mutable_capabilities();
    for (const char* name : {"workflows", "approvals"}) capabilities[name] = true;
    handshake.set_sdk_version(version_);
    const auto packet = wire::make_packet(std::move(handshake), context_.ports.entropy.uuid(), kWorkflowSender,
                                          context_.ports.clock.now());
    const auto sent =
        co_await context_.ports.bus.publish_core(std::string(wire::kSubjectHandshake), wire::serialise(packet));
    if (!sent.applied())
        context_.ports.log.event(LogLevel::warn, "handshake not published", {{"error", sent.failure().detail}});
}

Task<void> WorkflowEngine::Parts::drain() {
    context_.stopping = true;
    binding_.reset();
    listener_.reset();
    pump_.wake();
    const MonoTime deadline = context_.ports.clock.in(context_.tunables.shutdown_grace);
    co_await pump_.drain(deadline);
    background_.cancel();
    timers_.stop();
    visits_.stop();
    leases_.cancel_releases();
    Scope releases(context_.ports.executor);
    for (const auto& [token, lock] : leases_.book().held())
        releases.spawn(release_lock(leases_.ports(), lock, context_.tunables.store_op_timeout, deadline));
    co_await releases.join();
}

WorkflowEngine::WorkflowEngine(const Ports& ports, WorkflowConfig config)
    : parts_(std::make_unique<Parts>(ports, std::move(config))) {}
WorkflowEngine::~WorkflowEngine() = default;

Task<tl::expected<void, std::string>> WorkflowEngine::start() { return parts_->start(); }
Task<void> WorkflowEngine::drain() { return parts_->drain(); }
std::size_t WorkflowEngine::in_flight() const { return parts_->in_flight(); }

}  // namespace lockstep::engine
