#include "sim/run/run_scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "sim/explain/explanation.h"
#include "sim/measure/run_measures.h"
#include "sim/rules/invariants.h"
#include "sim/run/call_ledger.h"
#include "sim/run/expectations.h"
#include "sim/run/expected_values.h"
#include "sim/run/job_tracker.h"
#include "sim/run/output_view.h"
#include "sim/run/outside_view.h"
#include "sim/run/run_tracker.h"
#include "sim/run/simulated_cluster.h"
#include "sim/run/world_dumper.h"
#include "sim/scenario/chaos.h"
#include "sim/simulation/simulation.h"
#include "sim/world/event_recorder.h"
#include "sim/world/trace_file.h"

namespace lockstep::sim {

namespace {

/// A broken INVARIANT of the engine is reported under this name.
constexpr std::string_view kEngineInvariant = "engine_invariant";
constexpr std::size_t kViolationsMax = 20;
/// For what a dead replica has left to be told or looked at: another one notices, takes over, and has its turn.
constexpr Duration kBacklogPatience = std::chrono::minutes{5};
/// For a message to be delivered and taken up after the ack wait is over.
constexpr Duration kRedeliverySlack = std::chrono::minutes{1};

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

/// When the last fault that is placed in time has ended.
Time end_of_faults(const Scenario& scenario) {
    Duration end{};
    for (const Fault& fault : scenario.faults) {
        if (!fault.on) end = std::max(end, fault.at + fault.duration.value_or(Duration{0}));
    }
    if (scenario.chaos && scenario.chaos->heal_at) end = std::max(end, *scenario.chaos->heal_at);
    return Time(end);
}

FaultPlan::Heal heal_of(const Chaos& chaos) {
    if (chaos.heal == "core") return FaultPlan::Heal::core;
    if (chaos.heal == "stay_down") return FaultPlan::Heal::stay_down;
    return FaultPlan::Heal::all;
}

/// One run, from the building of its world to its judgement.
class Run final : private Findings {
public:
    Run(const Scenario& scenario, std::uint64_t seed, const RunOptions& options)
        : scenario_(scenario),
          options_(options),
          simulation_(scenario, seed, {.interrupt = [this] { return is_stopped() || is_out_of_time(); }}),
          cluster_(simulation_, scenario),
          tunables_(scenario.cluster.config),
          judgement_(*this, options.from_outside ? Vantage::outside : Vantage::inside),
          expected_events_(scenario.expect, simulation_.topology()),
          expected_values_(scenario.expect) {
        add_tunables();
        if (options.judge) add_judgement();
        result_.file = scenario.file;
        result_.name = scenario.name;
        result_.seed = seed;
        if (!options.dump_at.empty())
            dumper_.emplace(options.dump_at, simulation_, cluster_.redis(), cluster_.nats(),
                            [this] { simulation_.stop("dumped"); });
        if (options.history) {
            history_.emplace(simulation_.topology(), simulation_.nodes());
            sweeps_.emplace();
            run_recorder_.emplace([this] { return simulation_.now(); });
            job_times_.emplace(simulation_.network().queue());
            job_times_->write_down(waits_);
        }
        if (options.trace != nullptr)
            trace_file_ = std::make_unique<TraceFile>(*options.trace, simulation_.topology(), options.trace_heading);
        if (options.record.hashes || options.record.event != 0) {
            recorder_.emplace(options.record, simulation_.topology());
            simulation_.trace().set_digest_observer(*recorder_);
        }
        if (options.calls) calls_.emplace(simulation_.topology());
        if (options.measure || !scenario.expect.measures.empty())
            measures_.emplace(simulation_.network().queue(), simulation_.topology());
        observe();
        note_unjudged();
        if (scenario.chaos) {
            for (Fault& fault : draw_chaos(scenario, simulation_.topology(), seed))
                simulation_.fault_plan().add(std::move(fault));
        }
    }

    /// What still runs is cancelled with its node, and sets its gauges.
    ~Run() override { simulation_.metric_store().set_listener({}); }
    RunResult execute();

private:
    void add_tunables();
    void add_judgement();
    void observe();
    void note_unjudged();
    void tally_histories();
    Simulation::End play();
    bool is_quiet();
    void rest();
    void judge_rest(bool quiet);
    [[nodiscard]] bool all_submitted() const;
    [[nodiscard]] bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }
    [[nodiscard]] bool is_out_of_time() const {
        const auto limit = options_.time_limit;
        return limit.count() > 0 && std::chrono::steady_clock::now() - began_ >= limit;
    }
    void note_defect();
    void violated(Breach breach) override;
    [[nodiscard]] EventNumber present() override { return simulation_.trace().events(); }
    [[nodiscard]] const Time& told_at() const override { return simulation_.trace().told_at(); }
    [[nodiscard]] reports::Fact present_fact();
    [[nodiscard]] bool judged(std::string_view invariant) const;
    [[nodiscard]] bool found(std::string_view invariant) const;
    [[nodiscard]] bool verdict() const;

    const Scenario& scenario_;
    const RunOptions& options_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    Simulation simulation_;
    SimulatedCluster cluster_;
    TunablesInForce tunables_;
    Judgement judgement_;
    OutsideView outside_{judgement_.model()};
    JobTracker jobs_;
    RunTracker runs_;
    ExpectedEvents expected_events_;
    ExpectedValues expected_values_;
    std::optional<OutputView> view_;  // through which the judge sees the run, if it does not see it as it is
    std::optional<HistoryRecorder> history_;
    std::optional<SweepRecorder> sweeps_;  // beside the history
    std::optional<RunRecorder> run_recorder_;
    JobWaits waits_;
    std::optional<JobTimes> job_times_;  // which writes into the waits
    std::optional<WorldDumper> dumper_;
    std::optional<CallLedger> calls_;
    std::optional<RunMeasures> measures_;
    std::optional<EventRecorder> recorder_;
    std::unique_ptr<TraceFile> trace_file_;
    RunResult result_;
    std::optional<Time> settled_since_;
    bool healed_ = false;
    bool at_rest_ = false;
};

/// With those that schedulers restart with.
void Run::add_tunables() {
    for (const Fault& fault : scenario_.faults)
        if (const auto* with = fault.part<faults::Restarting>())
            for (const auto& [name, value] : with->config) tunables_.add(name, value);
}

void Run::add_judgement() {
    const auto& cluster = scenario_.cluster;
    judgement_.model().set_max_payload(cluster.nats_bandwidth == 0 ? cluster.nats_max_payload : 0);
    tunables_.pin_fail_modes(cluster.pinned.input_fail_mode, cluster.pinned.output_fail_mode);
    add_rules(judgement_, tunables_, cluster.documents.timeouts);
    for (const OwnInvariant& own : options_.rules) judgement_.add(own.name, "", own.make, cluster.config);
}

void Run::note_unjudged() {
    for (const auto& [invariant, tunable] : tunables_.unjudged()) {
        if (!contains(scenario_.expect.invariants, invariant) && !contains(scenario_.expect.violated, invariant))
            continue;
        result_.vacuous.push_back(fmt::format(
            "the invariant {} cannot be judged where a scheduler restarts with another {}", invariant, tunable));
    }
}

void Run::observe() {
    SimTrace& trace = simulation_.trace();
    if (trace_file_) trace.add_observer(*trace_file_);
    if (history_) trace.add_observer(*history_);
    if (sweeps_) {
        trace.add_observer(*sweeps_);
        cluster_.redis().add_observer(*sweeps_);
        cluster_.redis().add_observer(*run_recorder_);
        trace.add_observer(*job_times_, JobTimes::kWanted);
        cluster_.redis().add_observer(*job_times_);
    }
    if (dumper_) trace.add_observer(*dumper_);
    if (calls_) trace.add_observer(*calls_);
    if (measures_) measures_->observe(trace, cluster_.redis());
    trace.add_observer(jobs_, JobTracker::kWanted);
    cluster_.redis().add_observer(jobs_);
    cluster_.redis().add_observer(runs_);
    trace.add_observer(expected_events_);
    if (!options_.judge) return;
    if (options_.from_outside) {
        cluster_.redis().add_observer(judgement_.model());
        return trace.add_observer(outside_);
    }
    simulation_.metric_store().set_listener([this](MetricChange change) {
        if (view_ && !view_->shows(change)) return;
        judgement_.model().on_metric(change.node, change.metric.name, change.value, change.labels);
    });
    if (options_.outputs || options_.corruption != nullptr) {
        view_.emplace(simulation_.topology(), options_.corruption, judgement_.model(), Model::kWanted);
        view_->keys().add_observer(judgement_.model());
        trace.add_observer(*view_);
        cluster_.redis().add_observer(*view_);
    } else {
        trace.add_observer(judgement_.model(), Model::kWanted);
        cluster_.redis().add_observer(judgement_.model());
    }
    trace.add_observer(judgement_.model().weather(), Weather::kWanted);
}

bool Run::is_quiet() {
    const Time now = simulation_.now();
    if (scenario_.chaos && scenario_.chaos->heal_at && !healed_ && now >= Time(*scenario_.chaos->heal_at)) {
        healed_ = true;
        simulation_.fault_plan().heal(heal_of(*scenario_.chaos));
    }
    const bool settled = now >= end_of_faults(scenario_) && !simulation_.fault_plan().will_change() &&
                         cluster_.load_is_over() && jobs_.unfinished() == 0 && runs_.all_at_rest(jobs_) &&
                         !cluster_.has_run_backlog() && !judgement_.model().waits();
    if (!settled) settled_since_.reset();
    if (settled && !settled_since_) settled_since_ = now;
    if (!settled || jobs_.forgotten() == 0) return settled;
    // What Redis has lost may still be on the bus: a message that nobody has acknowledged comes again.
    return now - *settled_since_ > tunables_.most_of(&engine::Tunables::bus_ack_wait) + kRedeliverySlack;
}

RunResult Run::execute() {
    simulation_.start();
    const auto end = play();
    const bool quiet = end == Simulation::End::done;
    // What comes after the last job has ended is of no interest to a measure.
    if (measures_) result_.measured = std::make_shared<const MeasuredRun>(measures_->take(simulation_.now()));
    if (quiet) rest();
    result_.interrupted = simulation_.interrupted();
    result_.out_of_time = result_.interrupted && !is_stopped();
    if (end == Simulation::End::limit && !cluster_.load_is_over() && !all_submitted())
        result_.vacuous.emplace_back("the run was over before all of its load was submitted");
    if (simulation_.defect()) note_defect();
    const bool to_be_judged = options_.dump_at.empty() && result_.error.empty() && !result_.interrupted;
    if (to_be_judged && result_.violations.empty()) judge_rest(quiet);

    judge_runs(scenario_.expect, runs_, result_);
    judge_expectations(scenario_.expect, jobs_, simulation_.metric_store(), expected_events_, result_);
    judge_measures(scenario_.expect, result_);
    const auto asks_for = [this](fakes::EventKind kind) {
        return std::ranges::any_of(scenario_.expect.events,
                                   [kind](const EventExpectation& wanted) { return wanted.filter.event == kind; });
    };
    if (!asks_for(fakes::EventKind::approve) && !asks_for(fakes::EventKind::cancel))
        result_.in_vain = cluster_.in_vain();
    expected_values_.judge(cluster_.redis().keyspace(), simulation_.wall(Topology::kRedis), result_);
    for (const std::string& name : scenario_.expect.violated) {
        const bool broken = found(name);
        result_.expectations.push_back(
            {.expected = fmt::format("{} violated", name),
             .actual = broken ? "it violated" : "that it held",
             .held = broken,
             .pointer = scenario_.counterexample ? "/proves/violated" : scenario_.expect.pointer});
    }
    for (const Standing& standing : judgement_.standings())
        if (judged(standing.invariant)) result_.exercised.emplace(standing.invariant, standing.exercised);
    tally_histories();
    result_.unjudged = judgement_.unjudged();
    if (!result_.violations.empty()) {
        for (const Topology::Entry& node : simulation_.topology().nodes()) result_.nodes.push_back(node.name);
    }
    result_.states = jobs_.states();
    result_.runs = runs_.statuses();
    result_.metrics = simulation_.metric_store().summary();
    if (calls_) result_.calls = calls_->sites();
    if (dumper_) result_.dumps = dumper_->take();
    if (view_) result_.outputs = view_->seen();
    if (view_) result_.corrupted = view_->corrupted();
    if (history_) {
        History history = history_->take(simulation_.now());
        history.sweeps = sweeps_->take();
        history.workflow_runs = run_recorder_->take();
        job_times_->end_waits(simulation_.now());
        history.waits = std::move(waits_);
        result_.bad_ends = jobs_.bad_ends();
        result_.history = std::make_shared<const History>(std::move(history));
    }
    result_.faults = simulation_.fault_plan().counts();
    result_.reached.insert(simulation_.marks().begin(), simulation_.marks().end());
    result_.digest = simulation_.trace().digest();
    result_.events = simulation_.trace().events();
    result_.virtual_ms = engine::to_millis(simulation_.now().time_since_epoch());
    if (recorder_) result_.recorded = recorder_->take();
    result_.passed = verdict();
    simulation_.close();
    result_.wall_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_).count();
    return std::move(result_);
}

/// Up to where all is quiet, but not before everything has been looked at that is to be looked at on the way.
Simulation::End Run::play() {
    const auto on = [this] {
        static_cast<void>(is_quiet());
        return false;
    };
    for (const Duration at : expected_values_.moments()) {
        if (simulation_.run(Time(at), on) == Simulation::End::stopped) return Simulation::End::stopped;
        expected_values_.look(at, cluster_.redis().keyspace(), simulation_.wall(Topology::kRedis));
    }
    if (simulation_.now() < Time(scenario_.at_least) &&
        simulation_.run(Time(scenario_.at_least), on) == Simulation::End::stopped)
        return Simulation::End::stopped;
    return simulation_.run(Time(scenario_.duration), [this] { return is_quiet(); });
}

/// Longer than any lock lives: what is still held afterwards is kept alive by somebody. A late result may come even now, and
/// is handled to its end.
void Run::rest() {
    simulation_.fault_plan().disarm();
    const Duration ttl = tunables_.most_of(&engine::Tunables::job_lock_ttl);
    simulation_.run_for(ttl + ttl / 2 + std::chrono::seconds{1});
    // A slow kernel may keep a handler longer than any lock lives that is not renewed. Where calls are slow, many messages about one
    // job take longer still, one after the other: a handler that is stuck takes none off its stream.
    std::uint64_t done = cluster_.messages_done();
    for (Duration waited{}; cluster_.handlers_in_flight() > 0 && waited < kBacklogPatience;
         waited += std::chrono::seconds{1}) {
        simulation_.run_for(std::chrono::seconds{1});
        const std::uint64_t before = std::exchange(done, cluster_.messages_done());
        if (done > before && simulation_.now() < Time(scenario_.duration)) waited = Duration{};
    }
    simulation_.run(simulation_.now() + kBacklogPatience, [this] { return !cluster_.has_backlog(); });
}

void Run::judge_rest(bool quiet) {
    at_rest_ = true;
    const auto& keys = view_ ? view_->keys() : cluster_.redis().keyspace();
    judgement_.model().at_rest(keys, quiet, cluster_.handlers_in_flight());
}

/// A job that the gateway has recorded counts, even if it has died before it could say so on the bus.
bool Run::all_submitted() const {
    return std::ranges::none_of(job_ids(scenario_.load),
                                [this](const std::string& job) { return jobs_.state_of(job).empty(); });
}

void Run::tally_histories() {
    constexpr std::string_view kJudge = "job_history";
    const auto& standings = judgement_.standings();
    if (std::ranges::find(standings, kJudge, &Standing::invariant) == standings.end()) return;
    for (const Job& job : judgement_.model().jobs()) {
        if (!job.causes.is_named && job.in_hash == State::absent) continue;
        const bool violated = std::ranges::any_of(
            result_.violations, [&](const Violation& one) { return one.invariant == kJudge && one.job == job.name; });
        const bool undecided = job.causes.is_open() || job.lost.any();
        ++(violated ? result_.histories.violated : undecided ? result_.histories.undecided : result_.histories.held);
    }
}

void Run::note_defect() {
    const Defect& defect = *simulation_.defect();
    if (!defect.invariant) {
        result_.error = defect.what;
        return;
    }
    result_.violations.push_back({std::string(kEngineInvariant),
                                  engine::to_millis(defect.at.time_since_epoch()),
                                  std::string(simulation_.topology().name(defect.node)),
                                  {},
                                  defect.what,
                                  {},
                                  present_fact()});
}

bool Run::judged(std::string_view invariant) const {
    const Expectations& expect = scenario_.expect;
    return expect.watches(invariant) || contains(expect.violated, invariant) ||
           std::ranges::find(options_.rules, invariant, &OwnInvariant::name) != options_.rules.end();
}

bool Run::found(std::string_view invariant) const {
    return std::ranges::find(result_.violations, invariant, &Violation::invariant) != result_.violations.end();
}

/// What the run knows without its history.
reports::Fact Run::present_fact() {
    return {.event = present(), .at_ns = simulation_.now().time_since_epoch().count(), .node = {}, .what = {}};
}

void Run::violated(Breach breach) {
    if (!judged(breach.invariant) || result_.violations.size() >= kViolationsMax) return;
    Violation& violation = result_.violations.emplace_back();
    violation.invariant = breach.invariant;
    violation.at_ms = engine::to_millis(simulation_.now().time_since_epoch());
    if (breach.node.valid()) violation.node = simulation_.topology().name(breach.node);
    violation.job = breach.job;
    violation.detail = std::move(breach.detail);
    violation.paragraph = breach.paragraph;
    violation.fact = present_fact();
    violation.at_rest = at_rest_;
    if (breach.here != 0) violation.fact.event = breach.here;
    if (breach.earlier != 0) violation.earlier.emplace().event = breach.earlier;
    const bool all_found =
        std::ranges::all_of(scenario_.expect.violated, [this](const std::string& name) { return found(name); });
    if (all_found) simulation_.stop("a violation");
}

bool Run::verdict() const {
    if (!result_.error.empty() || result_.interrupted) return false;
    const bool no_other = std::ranges::all_of(
        result_.violations, [this](const Violation& v) { return contains(scenario_.expect.violated, v.invariant); });
    return no_other && std::ranges::all_of(result_.expectations, &ExpectationOutcome::held);
}

/// Makes the same run once more and writes it down, unless it was the first time: keeping all that happens would cost each
/// run that has nothing to tell.
void explain(RunResult& result, const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
    auto history = result.history;
    if (!history) {
        RunOptions again;
        again.stop = options.stop;
        again.history = true;
        again.rules = options.rules;
        const RunResult second = Run(scenario, seed, again).execute();
        if (second.interrupted) return;
        if (second.digest != result.digest) {
            result.error = "the same seed gave another run the second time: determinism is broken";
            return;
        }
        history = second.history;
    }
    explain_violation(result.violations.front(), *history, Causality(*history));
}

}  // namespace

RunResult run_scenario(const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
    try {
        RunResult result = Run(scenario, seed, options).execute();
        const bool to_be_told = options.explain && options.dump_at.empty() && !result.interrupted;
        if (to_be_told && !result.violations.empty()) explain(result, scenario, seed, options);
        return result;
    } catch (const std::exception& error) {
        return broken_run(scenario, seed, error.what());
    }
}

RunResult broken_run(const Scenario& scenario, std::uint64_t seed, std::string what) {
    RunResult result;
    result.file = scenario.file;
    result.name = scenario.name;
    result.seed = seed;
    result.error = std::move(what);
    return result;
}

}  // namespace lockstep::sim
