#include "sim/oracles/delay_timer_kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sim/model/job_keys.h"
#include "sim/oracles/run_documents.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

constexpr std::string_view kTimers = "cordum:wf:delay:timers";
constexpr std::string_view kTimelinePrefix = "wf:run:timeline:";
/// A tick's calls, a visit and its commit.
constexpr Duration kCalls = std::chrono::seconds{5};
/// Milliseconds; times are written in microseconds, and read rounded down.
constexpr std::int64_t kRounding = 2;

std::int64_t millis_since_epoch(engine::WallTime at) { return engine::to_unix_micros(at) / 1000; }

}  // namespace

void DelayTimerKept::on_event(const fakes::Event& event, Time now) {
    if (event.kind == fakes::EventKind::fault && event.node == Topology::kRedis && event.name.starts_with("clock_"))
        clock_jumps_ = true;
    const bool given_back =
        event.kind == fakes::EventKind::lock_released || event.kind == fakes::EventKind::lock_expired;
    if (!given_back || !event.key.starts_with(kRunLockPrefix)) return;
    const auto run = runs_.find(event.key.substr(kRunLockPrefix.size()));
    if (run != runs_.end() && event.kind == fakes::EventKind::lock_expired) run->second.lock_free_since = now;
}

void DelayTimerKept::command(fakes::NodeId, std::span<const std::string_view> words, std::int64_t now_ms) {
    if (!words.empty()) redis_ms_ = now_ms;
}

void DelayTimerKept::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                                std::int64_t, std::int64_t) {
    if (definitions_.note(key, after)) return;
    const std::string_view run = run_of_document_key(key);
    if (!run.empty()) on_write(client, std::string(run), json::parse(after, nullptr, false));
}

bool DelayTimerKept::goes_on(const json& step) {
    const std::string status = step_status(step);
    return status == "succeeded" || (status == "running" && member_text(step, "next_attempt_at").empty());
}

void DelayTimerKept::on_write(fakes::NodeId client, const std::string& name, const json& after) {
    Run& run = runs_[name];
    const bool is_judged = !by_user(client);
    for (auto wait = run.waits.begin(); wait != run.waits.end();) {
        const auto step = steps_of(after).find(wait->first);
        const bool waits_on = step != steps_of(after).end() && !member_text(*step, "next_attempt_at").empty() &&
                              !is_step_over(step_status(*step));
        if (waits_on) {
            ++wait;
            continue;
        }
        if (is_judged && step != steps_of(after).end() && goes_on(*step))
            judge_going_on(client, name, wait->first, wait->second);
        wait = run.waits.erase(wait);
    }
    if (!is_judged) {
        run.rewritten_ms = redis_ms_;
        std::erase_if(run.completed, [&](const std::string& delay) {
            const auto step = steps_of(after).find(delay);
            return step == steps_of(after).end() || !is_step_over(step_status(*step));
        });
    }
    if (is_run_over(member_text(after, "status"))) return run.waits.clear();
    note_waits(name, run, after, !is_judged);
}

void DelayTimerKept::note_waits(const std::string& name, Run& run, const json& after, bool by_others) {
    for (const auto& [key, step] : steps_of(after).items()) {
        const auto due = time_of(step, "next_attempt_at");
        if (!due || is_step_over(step_status(step))) continue;
        const std::int64_t due_ms = millis_since_epoch(*due);
        const auto [wait, is_new] = run.waits.try_emplace(key);
        if (by_others) wait->second.durable = false;
        if (!is_new && wait->second.due_ms == due_ms) continue;
        const bool durable = !by_others && due_ms - redis_ms_ >= engine::to_millis(tunables_.delay_persist_min);
        wait->second = {.due_ms = due_ms, .durable = durable, .since = upcoming()};
        if (!by_others) judge_length(name, after, key, due_ms);
        run.put_off_to_ms = 0;
    }
    for (auto& [key, wait] : run.waits) {
        const bool has_no_place = waits_for_a_place(definitions_.of(name, after), after, key);
        if (wait.has_no_place && !has_no_place) wait.place_since_ms = redis_ms_;
        wait.has_no_place = has_no_place;
    }
}

void DelayTimerKept::judge_length(const std::string& name, const json& run, const std::string& key,
                                  std::int64_t due_ms) {
    const json& step = steps_of(run).at(key);
    const auto pause = pause_of(definitions_.of(name, run), run, key);
    const auto from = step_status(step) == "running" ? time_of(step, "started_at") : time_of(run, "updated_at");
    if (!pause || !from) return;
    const std::int64_t length = due_ms - millis_since_epoch(*from);
    if (std::abs(length - engine::to_millis(*pause)) <= kRounding) return;
    violated({}, {},
             fmt::format("the step {} of the run {} is to wait for {} ms, and its definition says {}", key, name,
                         length, engine::to_millis(*pause)));
}

void DelayTimerKept::judge_going_on(fakes::NodeId client, const std::string& name, const std::string& step,
                                    const Wait& wait) {
    exercise();
    if (redis_ms_ < wait.due_ms) {
        violated(
            client, {},
            fmt::format("the step {} of the run {} goes on {} ms before its time", step, name, wait.due_ms - redis_ms_),
            wait.since);
        return;
    }
    // It had none until the very change by which it goes on.
    if (weather_.has_fault() || clock_jumps_ || wait.has_no_place) return;
    const Run& run = runs_.at(name);
    const Duration interval = wait.durable ? tunables_.delay_poller_interval : tunables_.wf_scan_interval;
    const Duration bound = 3 * interval + 3 * interval / 8 + kCalls;  // clocks of a cluster may go a tenth slower
    const std::int64_t since = std::max({wait.due_ms, run.put_off_to_ms, wait.place_since_ms, run.rewritten_ms});
    const Duration late = std::chrono::milliseconds{redis_ms_ - since};
    const Duration calm_for = told_at() - std::max(weather_.settled_since(), run.lock_free_since);
    if (std::min(late, calm_for) <= bound) return;
    violated(client, {},
             fmt::format("the step {} of the run {} goes on {} ms after its time, and nothing has been amiss for {} ms",
                         step, name, engine::to_millis(late), engine::to_millis(calm_for)),
             wait.since);
}

void DelayTimerKept::list_inserted(fakes::NodeId client, std::string_view key, std::size_t, std::string_view value) {
    if (!key.starts_with(kTimelinePrefix) || value.find("step_delay_completed") == std::string_view::npos) return;
    const json event = json::parse(value, nullptr, false);
    if (member_text(event, "type") != "step_delay_completed") return;
    const std::string run(key.substr(kTimelinePrefix.size()));
    if (runs_[run].completed.insert(member_text(event, "step_id")).second) return;
    violated(client, {},
             fmt::format("the delay {} of the run {} is over for the second time", member_text(event, "step_id"), run));
}

/// Who polls puts what it takes off for a while, in case it does not get to it.
void DelayTimerKept::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*,
                              double after) {
    if (key != kTimers) return;
    const std::size_t colon = member.find(':');
    if (colon == std::string_view::npos) return;
    const auto run = runs_.find(member.substr(colon + 1));
    if (run == runs_.end()) return;
    const auto at_ms = static_cast<std::int64_t>(after * 1000);
    const bool put_off = std::ranges::any_of(
        run->second.waits, [&](const auto& wait) { return wait.second.due_ms <= redis_ms_ && at_ms > redis_ms_; });
    if (put_off) run->second.put_off_to_ms = at_ms;
}

/// What waits in what came back began earlier, and its timer may be lost.
void DelayTimerKept::restored(const fakes::redis::Keyspace& now) {
    runs_.clear();
    for (const std::string_view key : now.keys()) {
        const std::string name(run_of_document_key(key));
        const auto* text = name.empty() ? nullptr : std::get_if<std::string>(&now.find(key)->value);
        if (text == nullptr) continue;
        const json run = json::parse(*text, nullptr, false);
        if (!is_run_over(member_text(run, "status"))) note_waits(name, runs_[name], run, true);
    }
}

}  // namespace lockstep::sim
