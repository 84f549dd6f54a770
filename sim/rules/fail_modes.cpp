// Where policy gives no answer, fail-open lets pass and marks, fail-closed withholds; of inputs and of outputs, by the mode that the
// replica had read (settings.md 5 and 6; C-08, C-16, C-19).
//
// 1. A mode that the operator has set at start stays; another one is what the settings say that the replica has read last, or else
//    the built-in one. Where the replica may have gone by one or the other, either is right; what was on its way when it went down
//    goes by what it had read until then.
// 2. Inputs: a job about which policy has not answered (`safety_decision` is UNAVAILABLE) goes on only with the mode open, then carries
//    the labels that say so and why; it is delayed for it only with the mode closed. A gate is never let through. A job whose input
//    policy has not seen (`ls_input_unread`) goes on only with the mode open.
// 3. Outputs: a scan that is over without a verdict leaves the job as it is with the mode open. An output about which policy has not
//    said that it is to be withheld or redacted is withheld with the mode closed only, or where its pointer may not be followed (D-30).
//    The mode decides about a scan once the replica that has claimed it has tried for as long as is promised, and about the rest of an
//    output of which policy has seen a part. Policy is not asked about a job at work: who withholds its output has read the mode since
//    it acquired the job's lock.
// 4. A success about whose output policy has been asked, and which policy has not withheld or redacted, is still to be scanned;
//    also where the question got no answer. What lies elsewhere than in Redis is not.
// 5. Messages: with `bus_guard_on_error` as `nak` no scheduler acknowledges a message of which no mark says in Redis that it has been
//    processed (wire.md 4).
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/text.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using namespace std::chrono_literals;

/// Which modes a replica may have gone by since then.
struct Modes {
    bool open = false;
    bool closed = false;
};

Modes modes_of(bool is_pinned, bool opens, fakes::NodeId replica, Time from, const Model& model,
               std::optional<bool> (*said_by)(const SettingsText&, bool opens)) {
    if (is_pinned) return {opens, !opens};
    Modes modes;
    const auto part = [&](const SettingsText& settings) { return said_by(settings, opens); };
    for (const std::optional<bool>& open : model.settings().possible(replica, from, model.now(), part))
        (open.value_or(opens) ? modes.open : modes.closed) = true;
    return modes;
}

/// Since it acquired the job's lock.
Modes input_modes(const Observed& fact, const Model& model, const engine::Tunables& tunables) {
    return modes_of(model.tunables().input_mode_pinned(), tunables.policy_check_fail_mode == "open", fact.node,
                    fact.job->lock.taken_by(fact.node).at, model, [](const SettingsText& settings, bool opens) {
                        return std::optional(settings.opens_input_policy.value_or(opens));
                    });
}

Modes output_modes(fakes::NodeId replica, Time from, const Model& model, const engine::Tunables& tunables) {
    return modes_of(model.tunables().output_mode_pinned(), tunables.output_policy_fail_mode != "closed", replica, from,
                    model, [](const SettingsText& settings, bool opens) {
                        // A word that is no mode leaves the one before.
                        return settings.says_output_mode ? settings.opens_output_policy : std::optional(opens);
                    });
}

void input_goes_on(const JobWritten& written, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const RecordChange& change = *written.change;
    const std::string_view state = change.field("state");
    const bool is_sent = state == "SCHEDULED" || state == "DISPATCHED";
    if (change.field("safety_decision") == "UNAVAILABLE") {
        const bool goes_on = is_sent || change.has("attempts");
        if (!goes_on && !change.has("ls_next_attempt_at")) return;
        verdict.exercised();
        const Modes modes = input_modes(written, model, tunables);
        const bool is_gate = written.job->is_gate;
        verdict.require(!goes_on || !is_gate, 0, "it is a gate, and passes though policy has given no answer");
        verdict.require(!goes_on || is_gate || modes.open, 0,
                        "policy has given no answer, the mode is closed, and the job goes on");
        const bool may_wait =
            modes.closed || is_gate ||
            model.policy_calls().is_slow_alone(written.node, written.job->number,
                                               written.job->lock.taken_by(written.node).at, tunables.safety_timeout);
        verdict.require(goes_on || may_wait, 0, "policy has given no answer, the mode is open, and the job is delayed");
    } else if (change.field("ls_input_unread") == "1") {
        const bool is_turned_away = change.has("attempts") && state.empty();  // by its workers
        if (!is_turned_away && !is_sent) return;
        verdict.exercised();
        verdict.cite("engine/delivery-semantics.md#whose-word-counts");
        verdict.require(input_modes(written, model, tunables).open, 0,
                        "policy has not seen its input, the mode is closed, and the job goes on");
    }
}

void bypass_is_marked(const Sent& sent, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    if (!sent.says_bypassed) return;
    verdict.exercised();
    const auto& labels = sent.request->labels();
    const auto reason = labels.find("safety_bypass_reason");
    const bool says_why = reason != labels.end() && !reason->second.empty();
    verdict.require(says_why, 0, "policy was bypassed for it, and its labels do not say why");
    verdict.require(!says_why || input_modes(sent, model, tunables).open, 0,
                    "its labels say that policy was bypassed, and the mode is closed");
}

void success_is_scanned(const JobWritten& written, Verdict& verdict) {
    const RecordChange& change = *written.change;
    const bool was_at_work = change.from == State::dispatched || change.from == State::running;
    if (change.field("state") != "SUCCEEDED" || !was_at_work) return;
    const OutputHeard* heard = written.job->scans.heard_by(written.node);
    if (heard == nullptr || heard->is_down || heard->asked.at < written.job->lock.taken_by(written.node).at) return;
    verdict.exercised();
    verdict.cite("engine/delivery-semantics.md#to-a-submitter, 5");
    const bool lies_elsewhere = engine::wire::leads_elsewhere(change.field("result_ptr"));  // than in Redis (D-30)
    verdict.require(
        change.has("ls_scan_pending") || heard->redacts || lies_elsewhere, heard->answered,
        "it has succeeded, policy has neither withheld its output nor redacted it, and it is not to be scanned");
}

/// The replica has ended the scan without an answer of policy.
void is_tried_long_enough(const JobWritten& written, const Model& model, Verdict& verdict,
                          const engine::Tunables& tunables) {
    constexpr int kTriesOfScan = 3;
    constexpr Duration kPausesOfScan = 3s;
    const auto& scan = written.change->ended_scan;
    const OutputScan::Claim* claim = scan && scan->is_judged() ? scan->claim_of(written.node) : nullptr;
    if (claim == nullptr || claim->is_heard) return;
    const Duration passed = written.at - claim->since;
    const bool has_waited_for_circuit = passed >= spec::by_the_fastest_clock(2 * tunables.circuit_open_for);
    if (has_waited_for_circuit) return;
    const bool has_paused = passed >= spec::by_the_fastest_clock(kPausesOfScan);
    verdict.require(has_paused, 0,
                    "the scan of its output is given up {} ms after it was begun, and it is to be tried {} times",
                    engine::to_millis(passed), kTriesOfScan);
    // What cannot be read, or asked for want of the store, is a try as well.
    const bool is_excused = claim->tries >= kTriesOfScan || !model.weather().clear_for(written.node, claim->since);
    verdict.require(!has_paused || is_excused, 0,
                    "the scan of its output is given up after {} ms and {} questions without an answer, and nothing "
                    "has disturbed its replica or Redis: three are asked, or an open circuit is waited for",
                    engine::to_millis(passed), claim->tries);
}

/// A record of a scan that has seen a part of the output, and has nothing against it.
bool allows_in_part(std::string_view record) {
    if (record.find("\"partial\"") == std::string_view::npos) return false;
    const auto json = engine::wire::read_json(record);
    return json.is_object() && json.value("partial", false) && json.value("decision", "") == "ALLOW" &&
           json.value("phase", "") == "async";
}

/// Since when the replica may have read the mode by which it decides about the output.
Time mode_is_read_since(const JobWritten& written, const OutputHeard* heard) {
    const Job& job = *written.job;
    if (heard != nullptr) return heard->asked.at;
    // Where policy never answered it, at any time since there was something to scan.
    if (job.scans.scan.begun) return *job.scans.scan.begun;
    const State from = written.change->from.value_or(State::absent);
    return from == State::dispatched || from == State::running ? job.lock.taken_by(written.node).at : Time{};
}

void output_passes(const JobWritten& written, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const RecordChange& change = *written.change;
    const std::string_view state = change.field("state");
    const bool is_withheld = state == "OUTPUT_QUARANTINED";
    if (!change.ends_scan && !is_withheld) return;
    const OutputHeard* heard = written.job->scans.heard_by(written.node);
    const EventNumber because = heard == nullptr ? 0 : heard->answered;
    const bool is_refused_pointer = change.field("failure_reason").starts_with("result_ptr ");
    if (is_withheld && ((heard != nullptr && heard->is_against) || is_refused_pointer)) return;
    verdict.cite("engine/delivery-semantics.md#to-a-submitter, 5");
    const Modes modes = output_modes(written.node, mode_is_read_since(written, heard), model, tunables);
    const std::string_view record = change.field("output_safety");
    if (!is_withheld && !modes.open)
        verdict.require(
            !allows_in_part(record), because,
            "policy has allowed the part of its output that it has seen, the mode is closed, and the rest can be read");
    if (!is_withheld && (!record.empty() || !state.empty())) return;
    verdict.exercised();
    is_tried_long_enough(written, model, verdict, tunables);
    verdict.require(!is_withheld || modes.closed, because,
                    "its output is withheld, policy has not said that it is to be, and the mode is open");
    verdict.require(is_withheld || modes.open, because,
                    "the scan of its output is over without a verdict, the mode is closed, and it can be read");
}

void scan_is_claimed(const OutputAsked& asked, const Model&, Verdict& verdict) {
    constexpr std::string_view kKeyOfOutput = "redis://res:";
    constexpr Duration kLookedFor = 500ms;
    const OutputScan& scan = asked.job->scans.scan;
    if (!scan.is_judged() || !scan.is_listed) return;
    verdict.cite("engine/delivery-semantics.md#to-a-submitter, 5");
    const OutputScan::Claim* claim = scan.claim_of(asked.node);
    verdict.require(claim != nullptr || asked.is_about_result, 0,
                    "its output is scanned by a replica that has not claimed that");
    const bool counts_as_none = asked.question->output_content().empty() && !asked.sizes &&
                                engine::wire::trim(asked.question->result_ptr()).starts_with(kKeyOfOutput);
    if (claim == nullptr || !counts_as_none) return;
    const Duration passed = asked.at - claim->since;
    verdict.require(passed >= spec::by_the_fastest_clock(kLookedFor), 0,
                    "its output counts as none {} ms after its scan was begun", engine::to_millis(passed));
}

/// Messages that were marked as processed: stream and sequence. A mark that has run out since long ago is forgotten.
class Marked {
public:
    void note(const KeysWritten& written);
    [[nodiscard]] bool contains(const std::string& message) const { return expires_.contains(message); }

private:
    std::map<std::string, std::int64_t> expires_;                // milliseconds by the clock of Redis, and so below
    std::deque<std::pair<std::int64_t, std::string>> in_order_;  // as they were written
};

void Marked::note(const KeysWritten& written) {
    constexpr std::string_view kProcessedMark = "cordum:bus:processed:";
    // A replica that has read it may be frozen before it acknowledges.
    constexpr std::int64_t kReadBefore = engine::to_millis(1h);
    for (const WrittenKey& entry : written.lives->written()) {
        std::string_view key = entry.key;
        if (!key.starts_with(kProcessedMark)) continue;
        key.remove_prefix(kProcessedMark.size());
        const std::string message(key.substr(0, key.find(':', key.find(':') + 1)));
        expires_[message] = entry.expires_at;
        in_order_.emplace_back(entry.expires_at, message);
    }
    while (!in_order_.empty() && in_order_.front().first < written.lives->now_ms() - kReadBefore) {
        const auto& [expired, message] = in_order_.front();
        if (const auto mark = expires_.find(message); mark != expires_.end() && mark->second == expired)
            expires_.erase(mark);
        in_order_.pop_front();
    }
}

void acknowledged_is_marked(const DeliveryAnswered& answered, const Marked& marked, Verdict& verdict) {
    if (!answered.is_ack || !answered.delivery || !answered.delivery->is_schedulers) return;
    verdict.exercised();
    verdict.cite("engine/wire/wire.md 4, step 5");
    const auto& [stream, sequence] = std::pair{answered.delivery->stream, answered.delivery->sequence};
    verdict.require(marked.contains(fmt::format("{}:{}", stream, sequence)), 0,
                    "message {} of {} is acknowledged, no mark says that it has been processed, and where Redis does "
                    "not answer the guard it is to be requeued",
                    sequence, stream);
}

}  // namespace

void fail_modes(Rules& rules, const engine::Tunables& tunables) {
    rules.add<PolicyAnswered>([&tunables](const JobWritten& written, const Model& model, Verdict& verdict) {
        input_goes_on(written, model, verdict, tunables);
        success_is_scanned(written, verdict);
        output_passes(written, model, verdict, tunables);
    });
    rules.add([&tunables](const Sent& sent, const Model& model, Verdict& verdict) {
        bypass_is_marked(sent, model, verdict, tunables);
    });
    rules.add(scan_is_claimed);
    if (tunables.bus_guard_on_error != "nak") return;
    const auto marked = std::make_shared<Marked>();
    rules.add<DeliveryAnswered>(
        [marked](const KeysWritten& written, const Model&, Verdict&) { marked->note(written); });
    rules.add([marked](const DeliveryAnswered& answered, const Model&, Verdict& verdict) {
        acknowledged_is_marked(answered, *marked, verdict);
    });
}

}  // namespace lockstep::sim::rules
