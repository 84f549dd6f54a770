// What becomes of a run (workflow.md 5, 6, 9): which steps begin, what the end of a job means, when a run is over. Pure decisions
// over the run's document: what they ask of the world is put into `effects`, and nothing has happened until that is committed.
//
// 1. A step begins once: its attempts are counted in the document that is committed together with its job.
// 2. What has ended stays as it is, but for a step that is tried again before it counts as ended, and what has not succeeded where
//    a person has the whole run tried again.
// 3. The same document, definition, instant and facts give the same decisions: whoever comes next decides the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/runs/definition.h"
#include "engine/runs/effects.h"
#include "engine/runs/run_document.h"

namespace lockstep::engine {

struct RunLimits {
    std::size_t foreach_items = 1000;
    ExpressionLimits expressions;
};

class RunPass {
public:
    /// All arguments outlive the pass. `at` is Redis' time: a delay never ends early by it.
    RunPass(const WorkflowDefinition& workflow, RunDocument& run, WallTime at, const RunLimits& limits,
            const ChildRunStates& child_runs, RunEffects& effects);

    /// Begins all steps that can begin, and ends the run if nothing is left. Nothing for a run that is over.
    void advance();
    /// Takes the end of a job into account. One that is not, or not any more, the step's job changes nothing.
    void take_end(const JobEnd& end);
    /// A person's word on a step that waits for one; nothing for a step that does not wait.
    void approve(const std::string& step, bool approved, const std::string& by);
    /// Ends the run, and cancels its jobs.
    void cancel(const std::string& reason);
    /// A run that has failed goes on from what has failed; nothing where `obstacle_to_retry` names something.
    void retry(const std::string& by);
    /// A run that cannot go on: its definition is gone, or has mistakes.
    void give_up(const std::string& why);

private:
    struct Evaluated {
        nlohmann::json value;
        std::string error;  // empty: none
    };

    // Of the run as a whole (pass.cpp).
    bool time_out_if_due();
    void end_all(StepStatus steps, RunStatus run, const std::string& reason);
    void visit(const StepDefinition& step);
    [[nodiscard]] bool may_begin(const StepDefinition& step, StepRun& record);
    [[nodiscard]] bool dependencies_hold(const StepDefinition& step);
    [[nodiscard]] bool choice_is_made(const std::string& step);
    /// False: the step has been dealt with.
    [[nodiscard]] bool condition_holds(const StepDefinition& step, StepRun& record);
    void begin(const StepDefinition& step, StepRun& record);
    void activate_error_handlers();
    void skip_what_cannot_begin();
    [[nodiscard]] bool is_never_called(const std::string& handler);
    void settle_status();
    void set_run_status(RunStatus status);
    [[nodiscard]] nlohmann::json output_of_run();

    // What a failed step means for the run.
    enum class Recovery : std::uint8_t { none_needed, open, recovered, unrecovered };
    [[nodiscard]] Recovery recovery_of(const StepDefinition& step);
    [[nodiscard]] bool satisfied(const std::string& dependency);

    // What a retry makes of a run (retry.cpp).
    void reopen(const StepDefinition& step);
    void await_jobs_again();

    // Kinds of steps (step_kinds.cpp, step_children.cpp).
    void begin_job(const StepDefinition& step, StepRun& record);
    void begin_gate(const StepDefinition& step, StepRun& record);
    void delay(const StepDefinition& step, StepRun& record);
    void decide(const StepDefinition& step, StepRun& record);
    void notify(const StepDefinition& step, StepRun& record);
    void choose(const StepDefinition& step, StepRun& record);
    [[nodiscard]] Evaluated fits_case(const nlohmann::json& one, const nlohmann::json& value) const;
    void transform(const StepDefinition& step, StepRun& record);
    void storage(const StepDefinition& step, StepRun& record);
    void subworkflow(const StepDefinition& step, StepRun& record);
    void begin_child_run(const StepDefinition& step, StepRun& record);
    void for_each(const StepDefinition& step);
    void begin_children_over(const StepDefinition& step, const std::vector<std::string>& keys,
                             const nlohmann::json& items);
    void aggregate_items(const StepDefinition& step, const std::vector<std::string>& keys);
    void parallel(const StepDefinition& step);
    [[nodiscard]] nlohmann::json outputs_of(const std::vector<std::string>& keys);
    void loop(const StepDefinition& step);
    void go_round(const StepDefinition& step, const StepDefinition& body, std::vector<std::string>& keys);
    void begin_child_job(const StepDefinition& step, const std::string& key, std::int64_t index,
                         const nlohmann::json& item);
    void cancel_children(const std::vector<std::string>& keys, const std::string& reason);

    // Ends of steps (step_ends.cpp).
    void succeed(const StepDefinition& step, StepRun& record, nlohmann::json output,
                 const std::string& result_ptr = {});
    void fail(const StepDefinition& step, StepRun& record, StepStatus status, const std::string& message);
    /// Tries it again after its pause, or fails.
    void fail_or_retry(const StepDefinition& step, StepRun& record, StepStatus status, const std::string& message);
    void cancel_step(StepRun& record, StepStatus status, const std::string& reason);

    [[nodiscard]] Evaluated evaluate(const std::string& expression, const nlohmann::json& more = {}) const;
    /// The step's input with its templates filled in; the run's input where the step has none.
    [[nodiscard]] Evaluated payload_of(const StepDefinition& step, const StepRun& record,
                                       const nlohmann::json& more = {});
    [[nodiscard]] nlohmann::json scope_with(const nlohmann::json& more) const;

    void tell(std::string_view type, const StepRun* step, std::string_view message = {}, nlohmann::json data = {},
              std::string_view result_ptr = {});

    const WorkflowDefinition& workflow_;
    RunDocument& run_;
    const WallTime at_;
    const RunLimits& limits_;
    const ChildRunStates& child_runs_;
    RunEffects& effects_;
    bool step_has_ended_ = false;
};

struct DueTime {
    WallTime at{};
    Duration pause{};  // how long the wait is in all; zero for a run's time limit
};
/// When something of the run is due by itself: delays and next tries by their steps, the run's own time limit under an empty name.
[[nodiscard]] std::map<std::string, DueTime> due_times(const WorkflowDefinition& workflow, RunDocument& run);

/// Steps that wait for the end of a run that they have begun, with that run's id.
[[nodiscard]] std::map<std::string, std::string> child_runs_of(const WorkflowDefinition& workflow, RunDocument& run);

/// The pause before the try after `attempts` of them.
[[nodiscard]] Duration retry_pause(const StepRetry& retry, std::int64_t attempts);

/// The step that a record of a run belongs to; null: the definition has none.
[[nodiscard]] const StepDefinition* find_step_of(const WorkflowDefinition& workflow, const std::string& key);
/// `<step>[<index>]`
[[nodiscard]] std::string child_key(std::string_view step, std::int64_t index);
/// The id of the run that a step begins: the same one for whoever begins it.
[[nodiscard]] std::string child_run_id(std::string_view run, std::string_view step, std::int64_t attempt);
/// Whether `choice` may send a run on to `step`.
[[nodiscard]] bool names_target(const StepDefinition& choice, std::string_view step);
/// The steps that a case of a choice names: one, or a list of them.
[[nodiscard]] std::vector<std::string> targets_of(const nlohmann::json& target);

/// Why a step was not run: another case of its choice was taken. It counts as done.
inline constexpr std::string_view kNotTaken = "switch_branch_not_taken";
/// `error.code` of a step that has failed fatally: its run is undone.
inline constexpr std::string_view kFatal = "failed_fatal";

}  // namespace lockstep::engine
