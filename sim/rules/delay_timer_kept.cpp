// A step that waits for a time, be it a delay or the next try after a failure, goes on when that has come by the clock of Redis: not
// before, once, and soon. And that time is the one that its definition says; the timer of a run is that of the earliest. So does a run
// whose time is over: it ends then.
//
// Soon means: where the wait is long enough to be durable (`delay_persist_min`), within one interval of the poller and two more for
// its lock, and a shorter one within the same of the reconciler; counted from when it was due, from the last disturbance, from when
// the run's lock last ran out, from when a poller that has died had set the timer to, from when its parent let it begin
// (`max_parallel`), from when the run was tried again, or from when a gateway or an operator wrote it, whichever comes last. Those set no
// timers: what they have written is the reconciler's, and a delay that they take back is over once more.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "sim/model/run_document.h"
#include "sim/rules/rules.h"
#include "sim/spec/run_rules.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using nlohmann::json;

/// Milliseconds; times are written in microseconds, and read rounded down.
constexpr std::int64_t kRounding = 2;

struct Wait {
    std::int64_t due_ms = 0;  // by Redis' clock, rounded down, and so below
    bool durable = false;
    EventNumber since = 0;
    bool has_no_place = false;  // it is due, perhaps, and as many of its siblings are at work as may be
    std::int64_t place_since_ms = 0;
};

struct Waits {
    std::map<std::string, Wait> by_step;
    std::set<std::string> over;  // delays, as the timeline says
    std::int64_t timer_moved_to_ms = 0;
    std::int64_t rewritten_ms = 0;  // by a gateway or an operator
    EventNumber restored = 0;       // as of the run
    EventNumber written = 0;        // the document, last
};

std::int64_t millis_since_epoch(engine::WallTime at) { return engine::to_unix_micros(at) / 1000; }

bool waits_on(const json& step) {
    return !member_text(step, "next_attempt_at").empty() && !is_step_over(step_status(step));
}

/// A step that waited.
bool has_gone_on(const json& steps, const std::string& key) {
    const auto step = steps.find(key);
    if (step == steps.end() || waits_on(*step)) return false;
    const std::string status = step_status(*step);
    return status == "running" || status == "succeeded";
}

/// What a change of a run has to do with the time limit of the run.
struct TimeLimit {
    std::optional<Wait> due;  // it ends by it, or goes on beyond it
    bool ends = false;        // by a time limit
    std::string what;
};

TimeLimit time_limit_of(const RunWritten& written) {
    TimeLimit limit;
    if (written.by_user || written.before == nullptr || written.definition == nullptr || written.run->lost != 0)
        return limit;
    const auto at = end_of_time(*written.definition, *written.after);
    limit.ends = ends_by_its_limit(*written.before, *written.after);
    limit.what = fmt::format("the run {} {}", written.run->name, limit.ends ? "ends" : "goes on");
    const bool is_open = !is_run_over(member_text(*written.after, "status"));
    if (at && (limit.ends || (is_open && written.redis_ms >= millis_since_epoch(*at))))
        limit.due = Wait{.due_ms = millis_since_epoch(*at), .since = written.last_written};
    return limit;
}

class DelayTimers {
public:
    explicit DelayTimers(const engine::Tunables& tunables) : tunables_(tunables) {}

    void on_written(const RunWritten& written, Verdict& verdict);
    /// To be asked before that.
    void are_soon(const RunWritten& written, const Model& model, Verdict& verdict);
    void on_over(const DelayOver& over, Verdict& verdict);
    void on_timer(const TimerSet& set, const Model& model, Verdict& verdict);

private:
    Waits& waits_of(const WorkflowRun& run) { return runs_[&run]; }
    Waits& waits_before(const RunWritten& written);
    void begin_anew(Waits& waits, const RunWritten& written);
    void note_waits(Waits& waits, const RunWritten& written, const json& document, bool by_engine, Verdict* verdict);
    /// `what` goes on, or ends.
    void is_not_early(const std::string& what, const Wait& wait, const RunWritten& written, Verdict& verdict) const;
    void is_soon(const Waits& waits, const std::string& what, const Wait& wait, const RunWritten& written,
                 const Model& model, Verdict& verdict) const;

    const engine::Tunables& tunables_;
    std::map<const WorkflowRun*, Waits> runs_;
};

void judge_length(const RunWritten& written, const std::string& key, std::int64_t due_ms, Verdict& verdict) {
    const json& step = steps_of(*written.after).at(key);
    if (written.definition == nullptr) return;
    const auto pause = pause_of(*written.definition, *written.after, key);
    const auto from =
        step_status(step) == "running" ? time_of(step, "started_at") : time_of(*written.after, "updated_at");
    if (!pause || !from) return;
    const std::int64_t length = due_ms - millis_since_epoch(*from);
    verdict.require(std::abs(length - engine::to_millis(*pause)) <= kRounding, 0,
                    "the step {} of the run {} is to wait for {} ms, and its definition says {}", key,
                    written.run->name, length, engine::to_millis(*pause));
}

/// What waits in what came back began earlier, and its timer may be lost.
void DelayTimers::begin_anew(Waits& waits, const RunWritten& written) {
    waits = {.restored = written.run->restored};
    if (written.before != nullptr && !is_run_over(member_text(*written.before, "status")))
        note_waits(waits, written, *written.before, false, nullptr);
}

Waits& DelayTimers::waits_before(const RunWritten& written) {
    Waits& waits = waits_of(*written.run);
    if (waits.restored != written.run->restored) begin_anew(waits, written);
    return waits;
}

void DelayTimers::are_soon(const RunWritten& written, const Model& model, Verdict& verdict) {
    const Waits& waits = waits_before(written);
    if (written.by_user || model.weather().has_fault() || model.redis_clock_set()) return;
    for (const auto& [key, wait] : waits.by_step)
        if (has_gone_on(steps_of(*written.after), key))
            is_soon(waits, fmt::format("the step {} of the run {} goes on", key, written.run->name), wait, written,
                    model, verdict);
    // One that goes on beyond its limit is late as well.
    if (const TimeLimit limit = time_limit_of(written); limit.due)
        is_soon(waits, limit.what, *limit.due, written, model, verdict);
}

void DelayTimers::on_written(const RunWritten& written, Verdict& verdict) {
    Waits& waits = waits_before(written);
    waits.written = written.event;
    const json& steps = steps_of(*written.after);
    std::erase_if(waits.by_step, [&](const auto& entry) {
        const auto& [key, wait] = entry;
        if (const auto step = steps.find(key); step != steps.end() && waits_on(*step)) return false;
        if (written.by_user || !has_gone_on(steps, key)) return true;
        is_not_early(fmt::format("the step {} of the run {} goes on", key, written.run->name), wait, written, verdict);
        return true;
    });
    const TimeLimit limit = time_limit_of(written);
    verdict.require(limit.due || !limit.ends, 0, "the run {} ends by a time limit, and has none", written.run->name);
    if (limit.due && limit.ends) is_not_early(limit.what, *limit.due, written, verdict);
    if (written.by_user) {
        waits.rewritten_ms = written.redis_ms;
        std::erase_if(waits.over, [&steps](const std::string& delay) {
            const auto step = steps.find(delay);
            return step == steps.end() || !is_step_over(step_status(*step));
        });
    }
    if (is_run_over(member_text(*written.after, "status"))) return waits.by_step.clear();
    note_waits(waits, written, *written.after, !written.by_user, &verdict);
}

void DelayTimers::note_waits(Waits& waits, const RunWritten& written, const json& document, bool by_engine,
                             Verdict* verdict) {
    for (const auto& [key, step] : steps_of(document).items()) {
        const auto due = time_of(step, "next_attempt_at");
        if (!due || is_step_over(step_status(step))) continue;
        const std::int64_t due_ms = millis_since_epoch(*due);
        const auto [wait, is_new] = waits.by_step.try_emplace(key);
        if (!by_engine) wait->second.durable = false;
        if (!is_new && wait->second.due_ms == due_ms) continue;
        const bool durable = by_engine && due_ms - written.redis_ms >= engine::to_millis(tunables_.delay_persist_min);
        wait->second = {.due_ms = due_ms, .durable = durable, .since = written.event};
        // One that stood there when the run ended is that of the try that failed then.
        const json was = written.before == nullptr ? json() : member_of(steps_of(*written.before), key);
        const bool has_stood = member_text(was, "next_attempt_at") == member_text(step, "next_attempt_at");
        if (has_stood) wait->second.place_since_ms = written.redis_ms;
        if (by_engine && !has_stood) judge_length(written, key, due_ms, *verdict);
        waits.timer_moved_to_ms = 0;
    }
    for (auto& [key, wait] : waits.by_step) {
        const bool has_no_place =
            written.definition != nullptr && waits_for_a_place(*written.definition, document, key);
        if (wait.has_no_place && !has_no_place) wait.place_since_ms = written.redis_ms;
        wait.has_no_place = has_no_place;
    }
}

void DelayTimers::is_not_early(const std::string& what, const Wait& wait, const RunWritten& written,
                               Verdict& verdict) const {
    verdict.exercised();
    verdict.require(written.redis_ms >= wait.due_ms, wait.since, "{} {} ms before its time", what,
                    wait.due_ms - written.redis_ms);
}

void DelayTimers::is_soon(const Waits& waits, const std::string& what, const Wait& wait, const RunWritten& written,
                          const Model& model, Verdict& verdict) const {
    // It had no place until the very change by which it goes on.
    if (wait.has_no_place) return;
    const Duration bound = until_looked_at(wait.durable ? tunables_.delay_poller_interval : tunables_.wf_scan_interval);
    const std::int64_t since =
        std::max({wait.due_ms, waits.timer_moved_to_ms, wait.place_since_ms, waits.rewritten_ms});
    const Duration late = std::chrono::milliseconds{written.redis_ms - since};
    const Duration undisturbed = written.at - std::max(model.weather().settled_since(), written.run->lock_expired);
    verdict.require(std::min(late, undisturbed) <= bound, wait.since,
                    "{} {} ms after its time, and nothing has been disturbed for {} ms", what, engine::to_millis(late),
                    engine::to_millis(undisturbed));
}

void DelayTimers::on_over(const DelayOver& over, Verdict& verdict) {
    Waits& waits = waits_of(*over.run);
    if (waits.restored != over.run->restored) waits.over.clear();
    verdict.require(waits.over.insert(over.step).second, 0, "the delay {} of the run {} is over for the second time",
                    over.step, over.run->name);
}

/// A poller sets what it takes to a later time, in case it does not get to it. What is set with the document is the earliest of the run.
void DelayTimers::on_timer(const TimerSet& set, const Model& model, Verdict& verdict) {
    Waits& waits = waits_of(*set.run);
    if (waits.restored != set.run->restored) {
        RunWritten restored{set, set.run, set.run->document, {}, model.runs().definition_of(*set.run)};
        restored.redis_ms = set.redis_ms;
        begin_anew(waits, restored);
    }
    const bool is_moved = std::ranges::any_of(waits.by_step, [&set](const auto& wait) {
        return wait.second.due_ms <= set.redis_ms && set.at_ms > set.redis_ms;
    });
    if (is_moved) waits.timer_moved_to_ms = set.at_ms;
    if (set.event != waits.written) return;
    verdict.cite("engine/workflow/workflow.md 7");
    for (const auto& [key, wait] : waits.by_step)
        verdict.require(!wait.durable || wait.due_ms <= set.redis_ms || set.at_ms <= wait.due_ms + 1000, wait.since,
                        "the timer of the run {} is set to {} ms, and its step {} is due at {} ms", set.run->name,
                        set.at_ms, key, wait.due_ms);
}

}  // namespace

void delay_timer_kept(Rules& rules, const engine::Tunables& tunables) {
    const auto timers = std::make_shared<DelayTimers>(tunables);
    rules.add<NodeChanged>([timers](const RunWritten& written, const Model& model, Verdict& verdict) {
        timers->are_soon(written, model, verdict);
    });
    rules.add(
        [timers](const RunWritten& written, const Model&, Verdict& verdict) { timers->on_written(written, verdict); });
    rules.add([timers](const DelayOver& over, const Model&, Verdict& verdict) { timers->on_over(over, verdict); });
    rules.add(
        [timers](const TimerSet& set, const Model& model, Verdict& verdict) { timers->on_timer(set, model, verdict); });
}

}  // namespace lockstep::sim::rules
