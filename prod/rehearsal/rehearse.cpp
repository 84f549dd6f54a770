#include "prod/rehearsal/rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/runtime/scope.h"
#include "engine/store/keys.h"
#include "engine/workflow/run_keys.h"
#include "fakes/gateway/gateway.h"
#include "fakes/gateway/operator.h"
#include "prod/loop/system_clock.h"
#include "prod/nats/nats_bus.h"
#include "prod/redis/hiredis_client.h"
#include "prod/rehearsal/bus_tap.h"
#include "prod/rehearsal/feasible.h"
#include "prod/rehearsal/outside_world.h"
#include "prod/rehearsal/real_cluster.h"
#include "prod/rehearsal/record_order.h"
#include "prod/rehearsal/redis_tap.h"
#include "prod/rehearsal/run_desks.h"
#include "prod/rehearsal/witness.h"
#include "sim/faults/trigger_matcher.h"
#include "sim/judge/judgement.h"
#include "sim/rules/invariants.h"
#include "sim/run/expectations.h"
#include "sim/run/gateway_process.h"
#include "sim/run/job_tracker.h"
#include "sim/run/run_plan.h"
#include "sim/run/run_scenario.h"
#include "sim/run/run_tracker.h"
#include "sim/world/trace_file.h"

namespace lockstep::prod::rehearsal {

namespace {

using engine::Duration;
using engine::MonoTime;
using fakes::NodeId;
using sim::RunOptions;
using sim::RunResult;
using sim::Scenario;
using sim::Topology;

constexpr Duration kLook = std::chrono::milliseconds(20);
constexpr Duration kConnectPatience = std::chrono::seconds(10);
constexpr Duration kMarkerPatience = std::chrono::seconds(10);
/// For what a replica has left to be told or looked at; longer than the turn of another one.
constexpr Duration kBacklogPatience = std::chrono::seconds(60);
/// A line of MONITOR may be this late without the mirror having let something expire that it speaks of.
constexpr Duration kMonitorLag = std::chrono::milliseconds(500);
constexpr std::size_t kViolationsMax = 20;

engine::Task<void> prepare_into(NatsBus& bus, MonoTime deadline, std::optional<std::string>& trouble) {
    const auto prepared = co_await bus.prepare(deadline);
    trouble = prepared ? "" : prepared.error();
}

class Rehearsal final : private sim::Findings, private sim::EventObserver {
public:
    Rehearsal(const Scenario& scenario, std::uint64_t seed, const RunOptions& options,
              const std::filesystem::path& programs);
    RunResult execute();

private:
    struct Placed {
        const sim::Fault* fault;
        std::size_t number;
        sim::TriggerMatcher matcher;
    };

    void observe();
    void connect();
    void serve(Duration span);
    /// Tells of what was seen, but for the last moments: a tap may be late.
    void look() { look_until(wall_now() - kTapLag); }
    void look_until(engine::WallTime until);
    void run_story();
    void rest();
    void judge();
    /// Until both taps have shown what was there before this call.
    void catch_up();
    void compare_with_real();

    void plan_faults();
    void begin(std::size_t number, NodeId actor);
    [[nodiscard]] std::vector<NodeId> targets(const sim::Fault& fault, NodeId actor) const;
    void crash(NodeId node, std::size_t number, std::optional<Duration> lasts);
    void stop(NodeId node, std::size_t number, std::optional<Duration> lasts);
    void restart_once_ended(NodeId node, Duration lasts);
    void come_back(NodeId node);
    void later(Duration delay, std::function<void()> action) {
        steps_.emplace(monotonic_now() + delay, std::move(action));
    }

    void on_event(const fakes::Event& event, sim::Time now) override;
    void violated(sim::Breach breach) override;
    [[nodiscard]] sim::EventNumber present() override { return witness_.events(); }
    [[nodiscard]] const sim::Time& told_at() const override { return witness_.told_at(); }
    [[nodiscard]] bool judged(std::string_view invariant) const;
    [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
    [[nodiscard]] bool quiet() const;

    const Scenario& scenario_;
    const RunOptions& options_;
    const Topology topology_;
    RunResult result_;
    RealCluster cluster_;
    Recording recording_;
    RecordOrder order_;
    Witness witness_;
    sim::TunablesInForce tunables_;
    sim::Judgement judgement_{*this, sim::Vantage::outside};
    sim::JobTracker jobs_;
    sim::RunTracker runs_;
    std::unique_ptr<sim::TraceFile> trace_file_;
    std::unique_ptr<RedisTap> redis_tap_;
    std::unique_ptr<BusTap> bus_tap_;
    fakes::LoadPlan plan_;
    sim::RunPlan run_plan_;
    std::multimap<MonoTime, std::function<void()>> steps_;
    std::vector<Placed> placed_;
    std::vector<std::pair<std::size_t, NodeId>> hits_;

    UvLoop loop_;
    OutsideWorld world_;
    std::unique_ptr<HiredisClient> redis_;
    std::unique_ptr<NatsBus> bus_;
    std::unique_ptr<fakes::Gateway> gateway_;
    std::unique_ptr<fakes::Operator> operator_;
    std::unique_ptr<RunDesks> desks_;
};

Rehearsal::Rehearsal(const Scenario& scenario, std::uint64_t seed, const RunOptions& options,
                     const std::filesystem::path& programs)
    : scenario_(scenario),
      options_(options),
      topology_(scenario.cluster),
      cluster_(scenario, topology_, programs),
      witness_(
          topology_, [this](std::string_view address) { return cluster_.owner_of(address); }, wall_now()),
      tunables_(scenario.cluster.config),
      plan_(sim::load_plan_of(scenario)),
      run_plan_(scenario.load),
      world_(recording_, seed) {
    result_.file = scenario.file;
    result_.name = scenario.name;
    result_.seed = seed;
    sim::add_rules(judgement_, tunables_, scenario.cluster.documents.timeouts);
    observe();
}

void Rehearsal::observe() {
    if (options_.trace != nullptr) {
        trace_file_ = std::make_unique<sim::TraceFile>(*options_.trace, topology_, options_.trace_heading);
        witness_.add_observer(*trace_file_);
    }
    witness_.add_observer(judgement_.model(), sim::Model::kWanted);
    witness_.add_observer(judgement_.model(), fakes::redis::changes_heard_by<sim::Model>());
    witness_.add_observer(jobs_, sim::JobTracker::kWanted);
    witness_.add_observer(jobs_, fakes::redis::changes_heard_by<sim::JobTracker>());
    witness_.add_observer(runs_, fakes::redis::changes_heard_by<sim::RunTracker>());
    witness_.add_observer(judgement_.model().weather(), sim::Weather::kWanted);
    witness_.add_observer(static_cast<sim::EventObserver&>(*this));
}

RunResult Rehearsal::execute() {
    const MonoTime began = monotonic_now();
    redis_tap_ = std::make_unique<RedisTap>(cluster_.redis_port(), recording_);
    bus_tap_ = std::make_unique<BusTap>(cluster_.nats_url(), recording_);
    connect();
    cluster_.start_programs();
    plan_faults();
    run_story();
    if (!result_.interrupted) judge();
    result_.wall_ms = engine::to_millis(monotonic_now() - began);
    result_.virtual_ms = engine::to_millis(witness_.now().time_since_epoch());
    result_.events = witness_.events();
    result_.passed = result_.error.empty() && !result_.interrupted && result_.violations.empty() &&
                     std::ranges::all_of(result_.expectations, &sim::ExpectationOutcome::held);
    gateway_.reset();
    operator_.reset();
    desks_.reset();
    bus_->close();
    return std::move(result_);
}

void Rehearsal::connect() {
    redis_ = std::make_unique<HiredisClient>(loop_, RedisAddress{"127.0.0.1", cluster_.redis_port(), {}, {}, 0});
    NatsOptions options;
    options.url = cluster_.nats_url();
    options.name = "lockstep-rehearsal";
    auto bus = NatsBus::connect(loop_, options);
    if (!bus) throw std::runtime_error(bus.error());
    bus_ = std::move(*bus);
    std::optional<std::string> trouble;
    engine::Scope scope(loop_);
    scope.spawn(prepare_into(*bus_, monotonic_now() + kConnectPatience, trouble));
    loop_.run_until([&] { return trouble.has_value() && redis_->connected(); }, kConnectPatience);
    if (!trouble || !trouble->empty())
        throw std::runtime_error("the streams cannot be made: " + trouble.value_or("no answer"));
}

void Rehearsal::serve(Duration span) {
    loop_.run_until([this] { return stopped(); }, span);
    look();
    while (!steps_.empty() && steps_.begin()->first <= monotonic_now()) {
        const auto step = steps_.extract(steps_.begin());
        step.mapped()();
    }
    for (const auto& [number, actor] : std::exchange(hits_, {})) begin(number, actor);
}

void Rehearsal::look_until(engine::WallTime until) {
    order_.add(recording_.take());
    std::deque<Record> executions;
    for (std::string& line : cluster_.new_executions()) {
        const std::int64_t began = time_of_execution(line);
        executions.push_back(Execution{began, std::move(line)});
    }
    order_.add(std::move(executions));
    while (const auto record = order_.next(until)) witness_.see(*record, taken_at(*record));
    witness_.set_time(until);
    witness_.mirror().expire_due(until - kMonitorLag);
}

bool Rehearsal::quiet() const {
    return steps_.empty() && plan_.open() == 0 && run_plan_.open() == 0 && jobs_.unfinished() == 0 &&
           runs_.all_at_rest(jobs_);
}

void Rehearsal::run_story() {
    look();
    const MonoTime start = monotonic_now();
    fakes::GatewayConfig gateway;
    gateway.writes_redis = scenario_.cluster.gateway_writes_redis;
    gateway.load_begins = start;
    fakes::OperatorConfig operator_config;
    operator_config.load_begins = start;
    gateway_ = std::make_unique<fakes::Gateway>(world_, Topology::kGateway, loop_, *bus_, *redis_, plan_, gateway);
    operator_ = std::make_unique<fakes::Operator>(world_, Topology::kOperator, loop_, *bus_, *redis_, nullptr, plan_,
                                                  operator_config);
    if (!run_plan_.actions().empty()) desks_ = std::make_unique<RunDesks>(loop_, *redis_, *bus_, run_plan_, start);
    // What was asked last has been seen only after a while.
    MonoTime busy_at = start;
    // The first violation ends the run, as in the simulation.
    while (monotonic_now() - busy_at <= 2 * kTapLag && result_.violations.empty() &&
           monotonic_now() - start < scenario_.duration) {
        serve(kLook);
        if (!quiet()) busy_at = monotonic_now();
        if (stopped()) {
            result_.interrupted = true;
            return;
        }
    }
}

/// Until nobody holds a job's lock and nothing is left to be told: what is still held after this is kept alive by somebody.
void Rehearsal::rest() {
    const auto busy = [this] {
        const fakes::redis::Keyspace& keys = witness_.mirror().keyspace();
        return std::ranges::any_of(keys.keys(), [](std::string_view key) {
            return key.starts_with("cordum:scheduler:job:") || key == engine::keys::kOutbox ||
                   key == engine::keys::kScansPending || key == engine::keys::kRunsAsked ||
                   key == engine::keys::kRunsToSend;
        });
    };
    const Duration ttl = scenario_.cluster.config.job_lock_ttl;
    const MonoTime end = monotonic_now() + std::max(ttl + ttl / 2 + std::chrono::seconds(1), kBacklogPatience);
    while (busy() && monotonic_now() < end && !stopped()) serve(kLook);
}

void Rehearsal::judge() {
    const bool is_quiet = quiet() && result_.violations.empty();
    cluster_.thaw_all();
    // What is in Redis is asked for in any case.
    for (const NodeId node : {Topology::kRedis, Topology::kNats}) {
        if (!cluster_.running(node)) come_back(node);
    }
    if (is_quiet) rest();
    cluster_.while_all_hold_still([this] {
        catch_up();
        compare_with_real();
    });
    if (!result_.error.empty()) return;
    const bool judge_rest = result_.violations.empty();
    witness_.mirror().end_command();
    judgement_.model().flush();
    if (judge_rest) judgement_.model().at_rest(witness_.mirror().keyspace(), is_quiet);
    for (const sim::Standing& standing : judgement_.standings())
        if (judged(standing.invariant) && standing.rules > 0)
            result_.exercised.emplace(standing.invariant, standing.exercised);
    const sim::ExpectedEvents no_events(scenario_.expect, topology_);
    sim::judge_expectations(scenario_.expect, jobs_, sim::MetricStore(), no_events, result_);
    sim::judge_runs(scenario_.expect, runs_, result_);
    result_.states = jobs_.states();
    result_.runs = runs_.statuses();
    if (!scenario_.expect.invariants_given &&
        std::ranges::all_of(result_.exercised, [](const auto& one) { return one.second == 0; }))
        result_.vacuous.emplace_back("no invariant that is judged on real servers was put to the test");
}

void Rehearsal::catch_up() {
    RedisLine line(cluster_.redis_port());
    const int redis_seen = witness_.redis_markers();
    const int bus_seen = witness_.bus_markers();
    line.command({"ECHO", std::string(kMarkerSubject)});
    bus_tap_->publish(std::string(kMarkerSubject));
    const MonoTime end = monotonic_now() + kMarkerPatience;
    while (witness_.redis_markers() == redis_seen || witness_.bus_markers() == bus_seen) {
        if (monotonic_now() > end) {
            result_.error = "the recording of Redis or NATS has ended before its time";
            return;
        }
        loop_.run_until([] { return false; }, kLook);
        look();
    }
}

void Rehearsal::compare_with_real() {
    if (!result_.error.empty()) return;
    const auto real = RedisLine(cluster_.redis_port()).everything();
    look_until(wall_now());
    const auto differences = witness_.mirror().differences(real, wall_now());
    if (!differences.empty())
        result_.error =
            fmt::format("what was seen of Redis does not add up to what is in it: {}", fmt::join(differences, "; "));
}

void Rehearsal::plan_faults() {
    for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
        const sim::Fault& fault = scenario_.faults[i];
        result_.faults.push_back({std::string(fault.kind()), fault.pointer, 1, 0, 0});
        if (fault.on)
            placed_.push_back({&fault, i, sim::TriggerMatcher(*fault.on, topology_)});
        else
            later(fault.at, [this, i] { begin(i, {}); });
    }
}

void Rehearsal::on_event(const fakes::Event& event, sim::Time now) {
    for (Placed& placed : placed_) {
        if (placed.matcher.hit(event, now)) hits_.emplace_back(placed.number, event.node);
    }
}

std::vector<NodeId> Rehearsal::targets(const sim::Fault& fault, NodeId actor) const {
    const std::string& target = fault.part<sim::faults::Targeted>()->target;
    if (target == "actor") return actor.valid() ? std::vector<NodeId>{actor} : std::vector<NodeId>{};
    const auto members = topology_.members(target);
    return {members.begin(), members.end()};
}

void Rehearsal::begin(std::size_t number, NodeId actor) {
    const sim::Fault& fault = scenario_.faults[number];
    auto& count = result_.faults[number];
    ++count.fired;
    if (fault.kind() == "redis.script_flush") {
        RedisLine(cluster_.redis_port()).command({"SCRIPT", "FLUSH"});
        ++count.effective;
    } else if (fault.kind() == "redis.restart") {
        crash(Topology::kRedis, number, fault.duration.value_or(Duration{0}));
    } else if (fault.kind() == "nats.restart") {
        crash(Topology::kNats, number, fault.duration.value_or(Duration{0}));
    } else {
        for (const NodeId node : targets(fault, actor)) {
            if (fault.kind() == "crash") {
                crash(node, number, fault.duration);
            } else if (fault.kind() == "stop") {
                stop(node, number, fault.duration);
            } else if (cluster_.freeze(node)) {
                ++count.effective;
                if (fault.duration) later(*fault.duration, [this, node] { cluster_.thaw(node); });
            }
        }
    }
}

void Rehearsal::crash(NodeId node, std::size_t number, std::optional<Duration> lasts) {
    if (!cluster_.kill(node)) return;
    ++result_.faults[number].effective;
    if (lasts) later(*lasts, [this, node] { come_back(node); });
}

void Rehearsal::stop(NodeId node, std::size_t number, std::optional<Duration> lasts) {
    if (!cluster_.ask_to_end(node)) return;
    ++result_.faults[number].effective;
    if (lasts) restart_once_ended(node, *lasts);
}

void Rehearsal::restart_once_ended(NodeId node, Duration lasts) {
    later(kLook, [this, node, lasts] {
        if (cluster_.ended(node))
            later(lasts, [this, node] { come_back(node); });
        else
            restart_once_ended(node, lasts);
    });
}

void Rehearsal::come_back(NodeId node) {
    if (node != Topology::kRedis && node != Topology::kNats) return cluster_.start(node);
    cluster_.while_all_hold_still([&] {
        cluster_.start(node);
        if (node == Topology::kNats) {
            if (!bus_tap_->wait_until_back(kConnectPatience)) throw std::runtime_error("NATS does not come back");
            return;
        }
        // What Redis executed and lost, or could not tell before it died, the mirror learns now.
        RedisLine(cluster_.redis_port()).wait_until_loaded();
        redis_tap_ = std::make_unique<RedisTap>(cluster_.redis_port(), recording_);
        look_until(wall_now());
        auto real = RedisLine(cluster_.redis_port()).everything();
        if (!witness_.mirror().differences(real, wall_now()).empty()) witness_.mirror().replace(std::move(real));
    });
}

bool Rehearsal::judged(std::string_view invariant) const {
    return scenario_.expect.watches(invariant);
}

void Rehearsal::violated(sim::Breach breach) {
    if (!judged(breach.invariant) || result_.violations.size() >= kViolationsMax) return;
    sim::Violation violation;
    violation.invariant = breach.invariant;
    violation.at_ms = engine::to_millis(witness_.now().time_since_epoch());
    if (breach.node.valid()) violation.node = topology_.name(breach.node);
    violation.job = breach.job;
    violation.detail = std::move(breach.detail);
    violation.paragraph = breach.paragraph;
    violation.fact.event = breach.here != 0 ? breach.here : present();
    violation.fact.at_ns = witness_.now().time_since_epoch().count();
    if (breach.earlier != 0) violation.earlier.emplace().event = breach.earlier;
    result_.violations.push_back(std::move(violation));
}

}  // namespace

RunResult rehearse(const Scenario& scenario, std::uint64_t seed, const RunOptions& options,
                   const std::filesystem::path& programs) {
    try {
        return Rehearsal(scenario, seed, options, programs).execute();
    } catch (const std::exception& error) {
        return sim::broken_run(scenario, seed, error.what());
    }
}

}  // namespace lockstep::prod::rehearsal
