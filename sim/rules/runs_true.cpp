// What the document of a workflow run says is what its definition and its steps make of it (workflow.md 4 to 6), judged as a whole
// whenever an engine has written it:
//
// 1. Conditions, switches, loops, lists to go over, counts, templates and storage are worth what their expressions are worth by the
//    run's input and context. Where a visit changes more than once what an expression names, it may be worth anything in between.
// 2. The run's status follows from those of its steps, and its output from their outputs.
// 3. The context has what steps have given, and what they have written there, and nothing else.
// 4. Times are those of the visit that set them. Members that a visit may not change stay as they are.
// 5. A step gives what its job has given.
// 6. Its timeline tells of what has happened by a visit, and of nothing else, in the words of the document.
// 7. The job of a step is given the input that its template says, a gate what is to be decided, and a run that a step begins the
//    workflow, the input and the names that it should have, and that run is to be visited.
// 8. Jobs that it waits for, and times at which its steps are due, are kept beside it (redis-schema.md 11), and no job whose end it has
//    taken into account.
//
// A visit goes on from what gateways and operators have written, whatever it is. Not judged are visits by which a run is tried again,
// since they change and go on in one, nor why a step has failed whose input or output has a schema.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/wire/pointer.h"
#include "sim/model/run_document.h"
#include "sim/rules/rules.h"
#include "sim/spec/run_documents.h"
#include "sim/spec/run_rules.h"
#include "sim/spec/run_steps.h"
#include "sim/spec/timeline_events.h"

namespace lockstep::sim::rules {

namespace {

using nlohmann::json;

/// Limits of workflow engines, of whichever replica.
struct Limits {
    ExpressionBounds expressions;
    std::int64_t items_most;

    [[nodiscard]] DocumentChange change(const json& definition, const json& before, const json& after) const {
        DocumentChange change(definition, before, after);
        change.bounds = expressions;
        change.items_most = items_most;
        return change;
    }
};

void as_it_was_written(const RunWritten& written, const Limits& limits, const Model& model, Verdict& verdict) {
    if (written.by_user || written.before == nullptr || !written.before->is_object()) return;
    if (written.definition == nullptr || !written.definition->is_object()) return;
    const json& before = *written.before;
    const json& after = *written.after;
    if (is_tried_again(before, after) || is_run_over(member_text(before, "status"))) return;
    verdict.exercised();
    verdict.cite("engine/workflow/workflow.md 4");
    const DocumentChange change = limits.change(*written.definition, before, after);
    const std::string wrong = wrong_document(change);
    verdict.require(wrong.empty(), written.last_written, "the run {} {}", written.run->name, wrong);
    const bool from_outside = is_ended_from_outside(before, after);
    for (const JsonDocument& event : written.run->told) {
        std::string untrue = wrong_event(change, *event);
        const std::string key = member_text(*event, "step_id");
        const auto* results = model.runs().results_at(engine::wire::key_of_pointer(member_text(*event, "result_ptr")));
        if (untrue.empty() && results != nullptr)
            untrue = wrong_result({change, key, member_of(steps_of(before), key), member_of(steps_of(after), key)},
                                  *results);
        verdict.require(untrue.empty(), written.last_written, "the run {}: {}", written.run->name, untrue);
    }
    for (const auto& [key, record] : steps_of(after).items()) {
        const json& was = member_of(steps_of(before), key);
        if (was == record) continue;
        const StepChange step{change, key, was, record};
        verdict.about(model.find(member_text(record, "job_id")));
        verdict.cite("engine/workflow/workflow.md 5");
        std::string why = wrong_record(step);
        if (why.empty() && !from_outside) why = forbids_to_go_on(step);
        if (why.empty() && written.run->kept.is_known && !is_run_over(member_text(after, "status")))
            why = wrongly_kept(step, written.run->kept, job_that_ended(step));
        if (why.empty() && !from_outside) why = untold(step, written.run->told);
        verdict.require(why.empty(), written.last_written, "the step {} of the run {} {}", key, written.run->name, why);
    }
}

/// Of a run that a step has begun, as it is first written.
void as_its_step_asks(const RunWritten& written, const Limits& limits, const Model& model, Verdict& verdict) {
    if (written.by_user || written.before != nullptr || written.last_written != 0) return;
    const json& metadata = member_of(*written.after, "metadata");
    const WorkflowRun* parent = model.runs().find(member_text(metadata, "parent_run_id"));
    const std::string key = member_text(metadata, "parent_step_id");
    const JsonDocument definition = parent == nullptr ? nullptr : model.runs().definition_of(*parent);
    if (definition == nullptr || parent->document == nullptr || parent->before == nullptr) return;
    verdict.exercised();
    verdict.cite("engine/workflow/workflow.md 5.4");
    const DocumentChange change = limits.change(*definition, *parent->before, *parent->document);
    const json& record = member_of(steps_of(*parent->document), key);
    const std::string wrong =
        wrongly_begun(*written.after, {change, key, member_of(steps_of(*parent->before), key), record});
    verdict.require(wrong.empty(), parent->written, "the run {}: {}", written.run->name, wrong);
    verdict.require(written.run->kept.is_asked, parent->written, "the run {} is begun, and is not to be visited",
                    written.run->name);
}

void as_its_job_is_given(const StepInputWritten& input, const Limits& limits, const Model& model, Verdict& verdict) {
    const WorkflowRun& run = *input.run;
    const JsonDocument definition = model.runs().definition_of(run);
    if (definition == nullptr || run.document == nullptr || run.before == nullptr) return;
    const std::string_view job = input.job->name;
    const std::string key(job.substr(run.name.size() + 1, job.rfind('@') - run.name.size() - 1));
    const DocumentChange change = limits.change(*definition, *run.before, *run.document);
    const StepChange step{change, key, member_of(steps_of(*run.before), key), member_of(steps_of(*run.document), key)};
    verdict.exercised();
    verdict.cite("engine/workflow/workflow.md 5.1");
    const std::string wrong = wrong_input(step, *parse_document(input.text));
    verdict.require(wrong.empty(), run.written, "it is given {}", wrong);
}

}  // namespace

void runs_true(Rules& rules, const engine::Tunables& tunables) {
    const Limits limits{{.bytes = static_cast<std::size_t>(tunables.wf_expr_max_length),
                         .items = static_cast<std::size_t>(tunables.wf_expr_max_result_items)},
                        tunables.wf_foreach_max_items};
    rules.add([limits](const RunWritten& written, const Model& model, Verdict& verdict) {
        as_it_was_written(written, limits, model, verdict);
        as_its_step_asks(written, limits, model, verdict);
    });
    rules.add([limits](const StepInputWritten& input, const Model& model, Verdict& verdict) {
        as_its_job_is_given(input, limits, model, verdict);
    });
}

}  // namespace lockstep::sim::rules
