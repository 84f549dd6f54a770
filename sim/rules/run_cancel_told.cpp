// A job that its workflow run needs no more is called off (workflow.md 5.2, 5.4 and 9). Where an engine writes that a step is over
// whose job has not ended, whether a person has decided it, enough of its siblings have succeeded, or its run was cancelled, timed out
// or given up, a JobCancel about that job is published afterwards, however many engines die meanwhile: what is to be said stands in the
// commit. The run that such a step has begun is cancelled within a look at all runs: it does not go on by itself. Jobs that run on in a
// run that has failed by itself are not called off (workflow.md 6): their steps stay open.
//
// Of jobs this is judged when all is quiet. Not judged are runs that Redis has lost, or lost keys of, and jobs of which it has; nor, of
// the last sentence, runs that a gateway has written after they were begun, with what it had read before.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sim/model/run_document.h"
#include "sim/rules/rules.h"
#include "sim/spec/run_rules.h"

namespace lockstep::sim::rules {

namespace {

struct Owed {
    const WorkflowRun* run = nullptr;
    std::string step;
    EventNumber written = 0;
};
using OwedByJob = std::map<const Job*, Owed>;

/// A run whose step is over.
struct Needless {
    Owed by;
    Time since{};
};
struct NeedlessRuns {
    std::map<const WorkflowRun*, Needless> by_run;
    std::set<const WorkflowRun*> of_users;  // which no step has begun
};

void note_needless(NeedlessRuns& needless, const RunWritten& written, const Model& model) {
    if (written.by_user || written.before == nullptr || written.definition == nullptr) return;
    for (const auto& [key, step] : member_of(*written.definition, "steps").items()) {
        if (member_text(step, "type") != "subworkflow") continue;
        const nlohmann::json& was = member_of(steps_of(*written.before), key);
        const auto is_at_work = [](const std::string& status) { return status == "running" || status == "waiting"; };
        if (!is_at_work(step_status(was)) || is_at_work(step_status(member_of(steps_of(*written.after), key))))
            continue;
        const WorkflowRun* begun = model.runs().find(fmt::format("{}.{}.{}", written.run->name, key, attempts_of(was)));
        if (begun == nullptr || begun->document == nullptr || needless.of_users.contains(begun)) continue;
        if (is_run_over(member_text(*begun->document, "status"))) continue;
        needless.by_run[begun] = {{written.run, key, written.event}, written.at};
    }
}

void may_still_go_on(const Needless& needless, const WorkflowRun& run, const Observed& now, const Model& model,
                     Verdict& verdict, const engine::Tunables& tunables) {
    const auto& [by, since] = needless;
    if (by.run->lost >= by.written || run.lost >= by.written || run.document == nullptr) return;
    const std::string status = member_text(*run.document, "status");
    verdict.exercised();
    if (status == "cancelled" || model.weather().has_fault()) return;
    const Time settled = std::max({since, model.weather().settled_since(), run.lock_expired, by.run->lock_expired});
    verdict.require(now.at - settled <= until_looked_at(tunables.wf_scan_interval), by.written,
                    "the step {} of the run {} is over, and the run {} that it has begun is {}, and nothing has been "
                    "disturbed for {} ms",
                    by.step, by.run->name, run.name, status, engine::to_millis(now.at - settled));
}

void note_who_is_owed(OwedByJob& owed, const RunWritten& written, const Model& model, Verdict& verdict) {
    if (written.by_user || written.before == nullptr) return;
    const nlohmann::json& now = steps_of(*written.after);
    for (const auto& [key, was] : steps_of(*written.before).items()) {
        const std::string status = step_status(was);
        const std::string named = member_text(was, "job_id");
        const auto is = now.find(key);
        if ((status != "running" && status != "waiting") || named.empty()) continue;
        if (is == now.end() || !is_step_over(step_status(*is))) continue;
        verdict.exercised();
        const Job* job = model.find(named);
        if (job != nullptr && !is_final(job->state())) owed[job] = {written.run, key, written.event};
    }
}

/// Nothing is said of a run whose document an engine has not written alone.
using RunsOfOthers = std::set<const WorkflowRun*>;

void is_not_at_work_in_a_failed_run(const StepCalledOff& told, const Model& model, const RunsOfOthers& others,
                                    Verdict& verdict) {
    const WorkflowRun* run = model.runs().find(run_of_job(told.job->name));
    if (run == nullptr || run->document == nullptr || run->lost != 0 || others.contains(run)) return;
    const bool has_failed = member_text(*run->document, "status") == "failed";
    for (const auto& [key, step] : steps_of(*run->document).items()) {
        if (member_text(step, "job_id") != told.job->name) continue;
        const std::string status = step_status(step);
        verdict.exercised(has_failed);
        verdict.require(!has_failed || (status != "running" && status != "waiting"), run->written,
                        "it is called off, and its step {} is open in the run {}, which has failed: its jobs run on",
                        key, run->name);
    }
}

}  // namespace

void run_cancel_told(Rules& rules, const engine::Tunables& tunables) {
    const auto needless = std::make_shared<NeedlessRuns>();
    rules.add<NodeChanged>([needless, &tunables](const RunWritten& written, const Model& model, Verdict& verdict) {
        if (written.by_user && written.before == nullptr) needless->of_users.insert(written.run);
        note_needless(*needless, written, model);
        const auto found = needless->by_run.find(written.run);
        if (found == needless->by_run.end()) return;
        if (!written.by_user) may_still_go_on(found->second, *written.run, written, model, verdict, tunables);
        if (written.by_user || is_run_over(member_text(*written.after, "status"))) needless->by_run.erase(found);
    });
    rules.add<NodeChanged>([needless, &tunables](const RunAtRest& rest, const Model& model, Verdict& verdict) {
        if (const auto found = needless->by_run.find(rest.run); found != needless->by_run.end())
            may_still_go_on(found->second, *rest.run, rest, model, verdict, tunables);
    });
    const auto owed = std::make_shared<OwedByJob>();
    rules.add([owed](const RunWritten& written, const Model& model, Verdict& verdict) {
        note_who_is_owed(*owed, written, model, verdict);
    });
    const auto others = std::make_shared<RunsOfOthers>();
    rules.add([others](const RunWritten& written, const Model&, Verdict&) {
        if (written.by_user && written.before != nullptr) others->insert(written.run);
    });
    rules.add([others](const StepCalledOff& told, const Model& model, Verdict& verdict) {
        is_not_at_work_in_a_failed_run(told, model, *others, verdict);
    });
    rules.add([owed](const AtRest& rest, const Model&, Verdict& verdict) {
        const auto found = owed->find(rest.job);
        if (!rest.quiet || found == owed->end()) return;
        const auto& [run, step, written] = found->second;
        const bool is_lost = rest.job->lost.any() || run->lost >= written || run->document == nullptr ||
                             rest.redis->find("wf:run:" + run->name) == nullptr;
        verdict.require(is_lost || rest.job->cancel_said > written, written,
                        "the step {} of the run {} is over and its job was not, and it was not called off", step,
                        run->name);
    });
}

}  // namespace lockstep::sim::rules
