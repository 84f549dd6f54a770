// A workflow run comes to its end, and by the rules (workflow.md 4 to 6), judged by its document as it is written:
//
// 1. When all is quiet it is over, or waits for a human. Where the scenario's duration ran out before, it may wait for a later time.
// 2. No step begins before what it depends on is satisfied, nor while as many of its siblings are at work as may be.
//    A parallel step is over as soon as its strategy is decided by its children, and not before.
//    Its max_retries and the end of its own job decide how it goes on.
// 3. What has ended stays as it is: no step that is over changes any more, no attempt is taken back, no step vanishes, and so no
//    result that was applied; nor does a run that is over change. A run that has failed and may be tried again goes on from what has failed.
// 4. Each attempt has one job, `<run>:<step>@<attempt>`, which is submitted only once a commit says so, and under one request: what
//    stands in `lockstep:wf:outbox:<run>` for it is always the same.
// 5. A run is set aside only after as many visits in a row have not come back as may (delivery-semantics.md, "Work that never comes back").
// 6. Lists of runs name it under the second of its last change, and those by status under its own alone (workflow.md 2).
//
// What gateways and operators write is where it goes on from, whatever it is, and requests may be made anew from there. Not judged
// is what Redis, or a NATS that lost its power, has lost, and a run whose keys were evicted; nor that a run waits for a job whose
// submission reached the stream as something else: NATS has acknowledged it, and takes another of that message id for the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/model/job_keys.h"
#include "sim/model/run_document.h"
#include "sim/rules/rules.h"
#include "sim/spec/own_ends.h"
#include "sim/spec/run_rules.h"
#include "sim/spec/run_steps.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim::rules {

namespace {

using nlohmann::json;

bool is_incomplete(const WorkflowRun& run) { return run.lost != 0 || run.cut_off != 0; }

const json& definition_in(const RunWritten& written) {
    static const json kNothing;
    return written.definition == nullptr ? kNothing : *written.definition;
}

bool begins(std::string_view status) {
    return status == "running" || status == "waiting" || status == "succeeded" || status == "failed";
}

/// The first member in which two records of one ended step differ that must not; empty: none does.
std::string_view changed_member(const json& was, const json& now) {
    for (const char* name : {"status", "output", "job_id", "attempts", "completed_at"}) {
        const auto before = was.find(name);
        const auto after = now.find(name);
        const bool same = (before == was.end()) == (after == now.end()) && (before == was.end() || *before == *after);
        if (!same) return name;
    }
    return {};
}

void attempts_in_order(const RunWritten& written, const StepChange& step, Verdict& verdict) {
    verdict.cite("engine/workflow/workflow.md 5.1");
    const std::int64_t before = attempts_of(step.was);
    const std::int64_t after = attempts_of(step.is);
    verdict.require(after == before || after == before + 1, written.last_written,
                    "the step {} of the run {} had {} attempts, and has {} now", step.key, written.run->name, before,
                    after);
    const std::string job = member_text(step.is, "job_id");
    if (job.empty() || job == member_text(step.was, "job_id")) return;
    const std::string wanted = fmt::format("{}:{}@{}", written.run->name, step.key, after);
    verdict.require(job == wanted, written.last_written, "the job of the step {} should be {}", step.key, wanted);
}

/// Why a step may not go on as it does; empty: it may.
std::string forbids_change(const StepChange& step, const Model& model) {
    if (std::string why = tried_too_often(step); !why.empty()) return why;
    const bool has_begun =
        step_status(step.was) == "pending" && attempts_of(step.was) == 0 && begins(step_status(step.is));
    if (has_begun)
        if (const std::string why = forbids_to_begin(step.run.definition, step.run.after, step.key); !why.empty())
            return fmt::format("has begun, and {}", why);
    const std::string ended = job_that_ended(step);
    const Job* job = ended.empty() ? nullptr : model.find(ended);
    if (job == nullptr || job->lost.any()) return {};
    // A record that is not there says nothing of the job.
    const State state = job->state();
    if (state == State::absent || is_final(state)) return {};
    return fmt::format("is {}, and its job {} is {}", step_status(step.is), ended, to_string(state));
}

/// `again`: the run is.
void step_goes_on(const RunWritten& written, const StepChange& step, bool again, const Model& model, Verdict& verdict) {
    const std::string earlier = step_status(step.was);
    verdict.about(model.find(member_text(member_text(step.is, "job_id").empty() ? step.was : step.is, "job_id")));
    const EventNumber since = written.last_written;
    if (is_step_over(earlier) && (!again || earlier == "succeeded")) {
        const std::string_view member = changed_member(step.was, step.is);
        verdict.require(member.empty(), since,
                        "the step {} of the run {} had ended {}, and its {} is another one now: {} attempts, {}",
                        step.key, written.run->name, earlier, member, attempts_of(step.is), step_status(step.is));
        return;
    }
    attempts_in_order(written, step, verdict);
    if (!step.run.definition.is_object()) return;
    verdict.cite("engine/workflow/workflow.md 5");
    const std::string why = forbids_change(step, model);
    verdict.require(why.empty(), since, "the step {} of the run {} {}", step.key, written.run->name, why);
}

void by_the_rules(const RunWritten& written, const Model& model, Verdict& verdict) {
    if (written.by_user || is_incomplete(*written.run) || written.before == nullptr || !written.before->is_object())
        return;
    verdict.exercised();
    const json& before = *written.before;
    const json& after = *written.after;
    const json& definition = definition_in(written);
    const EventNumber since = written.last_written;
    const std::string was = member_text(before, "status");
    const std::string is = member_text(after, "status");
    const bool again = is_tried_again(before, after);
    const std::string forbids = again ? forbids_to_try_again(before) : "";
    verdict.require(forbids.empty(), since, "the run {} is tried again, and {}", written.run->name, forbids);
    verdict.require(again || !is_run_over(was) || was == is, since, "the run {} had ended {}, and is {} now",
                    written.run->name, was, is);
    for (const auto& [key, step] : steps_of(before).items())
        verdict.require(steps_of(after).contains(key), since,
                        "the step {} of the run {} is not in its document any more", key, written.run->name);
    const std::string crowded = has_too_many_at_work(definition, after);
    verdict.cite("engine/workflow/workflow.md 5.4");
    verdict.require(crowded.empty() || !has_too_many_at_work(definition, before).empty(), since,
                    "more of the step {} of the run {} are at work than max_parallel allows", crowded,
                    written.run->name);
    const std::string undecided = is_run_over(is) ? "" : wrongly_decided(definition, after);
    verdict.require(undecided.empty() || !wrongly_decided(definition, before).empty(), since, "{}", undecided);
    const DocumentChange change(definition, before, after);
    for (const auto& [key, step] : steps_of(after).items())
        step_goes_on(written, {change, key, member_of(steps_of(before), key), step}, again, model, verdict);
}

/// As the whole command leaves it.
void is_listed(const RunWritten& written, Verdict& verdict) {
    if (written.by_user || is_incomplete(*written.run)) return;
    const auto& listed = written.run->listed;
    const std::string status = member_text(*written.after, "status");
    verdict.cite("engine/workflow/workflow.md 2");
    for (const std::string& list :
         {std::string("all"), member_text(*written.after, "workflow_id"), "status:" + status}) {
        const auto at = listed.find(list);
        verdict.require(list.empty() || (at != listed.end() && std::abs(at->second - written.redis_ms / 1000) <= 2), 0,
                        "the run {} is changed, and wf:runs:{} does not list it under this second", written.run->name,
                        list);
    }
    const std::string was = written.before == nullptr ? status : member_text(*written.before, "status");
    verdict.require(was == status || !listed.contains("status:" + was), 0,
                    "the run {} is {}, and is still listed as {}", written.run->name, status, was);
}

/// By its dead letter.
void was_set_aside_late(const RunAtRest& rest, const Model& model, Verdict& verdict) {
    const WorkflowRun& run = *rest.run;
    const Job* about = model.find("run:" + run.name);
    if (about == nullptr || about->letter.first_code != "handling_lost") return;
    if (is_incomplete(run) || model.taken_back()) return;
    const int lost = run.handling.longest - 1;
    verdict.require(lost >= spec::kLostBeforeAside, run.written,
                    "the run {} was set aside, and at most {} in a row who took it have not come back, of {}", run.name,
                    lost, spec::kLostBeforeAside);
}

/// Of a run whose step waits for a time or a job.
void is_waited_for(const RunAtRest& rest, const std::string& key, const Model& model, Verdict& verdict) {
    const json& document = *rest.run->document;
    const json& step = member_of(steps_of(document), key);
    const std::string name = member_text(step, "job_id");
    const std::string due = member_text(step, "next_attempt_at");
    if (name.empty()) {
        const auto at = time_of(step, "next_attempt_at");
        const bool is_to_come = !rest.quiet && at && *at > perfect_wall(rest.at);
        verdict.require(is_to_come, rest.run->written, "at the end the run {} is {}: its step {} is {}, due {}",
                        rest.run->name, member_text(document, "status"), key, step_status(step), due);
        return;
    }
    const Job* job = model.find(name);
    verdict.about(job);
    const std::string state = job_state(*rest.redis, name);
    const bool is_excused = job != nullptr && (job->lost.any() || (state.empty() && job->step.is_garbled));
    verdict.require(is_excused, rest.run->written, "at the end the run {} is {}: its step {} is {}, and its job {}",
                    rest.run->name, member_text(document, "status"), key, step_status(step),
                    state.empty() ? "is not known to Redis" : "is " + state);
}

void comes_to_its_end(const RunAtRest& rest, const Model& model, Verdict& verdict) {
    const WorkflowRun& run = *rest.run;
    if (is_incomplete(run) || rest.redis->find("wf:run:" + run.name) == nullptr) return;
    const RunWaits waits =
        run_waits(*run.document, [&rest](std::string_view job) { return job_state(*rest.redis, job); });
    if (waits.over) return;
    if (!waits.otherwise.empty()) return is_waited_for(rest, waits.otherwise, model, verdict);
    verdict.require(waits.for_a_human || model.runs().has_begun_another(run.name), run.written,
                    "at the end the run {} is {}, and none of its steps waits for anything", run.name,
                    member_text(*run.document, "status"));
}

}  // namespace

void run_progress(Rules& rules, const engine::Tunables&) {
    rules.add(by_the_rules);
    rules.add([](const RunWritten& written, const Model&, Verdict& verdict) { is_listed(written, verdict); });
    rules.add(comes_to_its_end);
    rules.add(was_set_aside_late);
    rules.add([](const StepSubmitted& submitted, const Model&, Verdict& verdict) {
        verdict.cite("engine/delivery-semantics.md#workflow-runs, 2");
        verdict.require(is_incomplete(*submitted.run) || submitted.job->step.is_named, submitted.run->written,
                        "it is submitted, and no document of its run has named it");
    });
    rules.add([](const StepAskedForAnew& asked, const Model&, Verdict& verdict) {
        verdict.cite("engine/delivery-semantics.md#workflow-runs, 2");
        verdict.require(is_incomplete(*asked.run), asked.run->written,
                        "it is to be submitted a second time, and as another request");
    });
}

}  // namespace lockstep::sim::rules
