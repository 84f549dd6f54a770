// A job that its workflow run needs no more is called off (workflow.md 5.2, 5.4 and 9). Where an engine writes that a step is over
// whose job has not ended, whether a person has decided it, enough of its siblings have succeeded, or its run has ended, a JobCancel
// about that job is published afterwards, however many engines die meanwhile: what is to be said stands in the commit.
//
// Judged when all is quiet. Not judged are runs that Redis has lost, or lost keys of, and jobs of which it has.
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/model/run_document.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

struct Owed {
    const WorkflowRun* run = nullptr;
    std::string step;
    EventNumber written = 0;
};
using OwedByJob = std::map<const Job*, Owed>;

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

}  // namespace

void run_cancel_told(Rules& rules, const engine::Tunables&) {
    const auto owed = std::make_shared<OwedByJob>();
    rules.add([owed](const RunWritten& written, const Model& model, Verdict& verdict) {
        note_who_is_owed(*owed, written, model, verdict);
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
