// What becomes of a run (workflow.md 5, 6, 9): which steps begin, what the end of a job means, when a run is over. Pure decisions
// over the run's document: what they ask of the world is put into `effects`, and nothing has happened until that is committed.
//
// 1. A step begins once: its attempts are counted in the document that is committed together with its job.
// 2. What has ended stays as it is, but for a step that is tried again before it counts as ended, and what has not succeeded where
//    a person has the whole run tried again.
// 3. The same document, definition, instant and facts give the same decisions: whoever comes next decides the same.
// 4. Its work is linear in the steps, their names of each other and the records that there are, in whatever order they stand: a step is
//    looked at again only when something that it waits for has ended.
// 5. A pass begins at least one step that can begin, and at most `RunLimits::steps_at_once`. It begins no other once the inputs that it
//    has put together come to `RunLimits::bytes_at_once`. What it has left, the next one begins.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/expression/expression.h"
#include "engine/runs/definition.h"
#include "engine/runs/effects.h"
#include "engine/runs/run_document.h"

namespace lockstep::engine {

struct RunLimits {
    std::size_t foreach_items = 1000;
    ExpressionLimits expressions;
    /// Steps and children that one pass begins.
    std::size_t steps_at_once = 500;
    /// Bytes of inputs that one pass puts together before it begins no more. They are copied, written and sent to Redis in one command,
    /// together with a document of `wf_run_max_bytes` at most: some 10 ms of the loop's time.
    std::size_t bytes_at_once = 2'097'152;
    /// Asked now and then between two of them: no more are begun when it says yes. Empty: there is always time.
    std::function<bool()> is_time_up{};
    /// Bytes of a message that the servers take; 0: not known.
    std::uint64_t packet_bytes = 0;
    /// Ids under which other jobs than the run's are recorded: no step begins with one.
    std::set<std::string> taken_jobs{};
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
    struct ById {
        bool operator()(const StepDefinition* a, const StepDefinition* b) const { return a->id < b->id; }
    };
    /// What a child of a parallel step counts as.
    enum class Fate : std::uint8_t { none, open, at_work, succeeded, over, left_out };
    /// Children of a parallel step that goes on, counted as they end.
    struct Fan {
        std::vector<Fate> fates;  // in the order of `parallel_steps`
        std::map<std::string, std::vector<std::size_t>> places;
        std::set<std::size_t> fresh;  // to be looked at
        std::set<std::size_t> queue;  // may begin once there is a place
        std::int64_t at_work = 0, succeeded = 0, over = 0, left_out = 0;
    };
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
    /// False: this pass begins no more. The caller goes on to begin something.
    [[nodiscard]] bool may_begin_another();
    /// False: the step has been dealt with.
    [[nodiscard]] bool condition_holds(const StepDefinition& step, StepRun& record);
    void begin(const StepDefinition& step, StepRun& record);
    /// A step that waits is beyond its time: it has been dealt with.
    bool time_out_step(const StepDefinition& step, StepRun& record);
    void activate_error_handlers();
    void skip_what_cannot_begin();
    [[nodiscard]] bool is_hopeless(const std::string& dependency);
    [[nodiscard]] bool is_never_called(const StepDefinition& handler);
    void settle_status();

    // Which steps are looked at, and when (plan.cpp).
    void plan_all();
    /// The step is looked at: in this round, if its turn is still to come, else in the next one.
    void look_at(const StepDefinition& step);
    /// A step, an item or a round has come to an end: what may go on by that is looked at.
    void ended(const std::string& key);
    /// It holds now, or never will: steps that wait for it are looked at.
    void release(const StepDefinition& dependency);
    void set_run_status(RunStatus status);
    [[nodiscard]] nlohmann::json output_of_run();

    // What a failed step means for the run.
    enum class Recovery : std::uint8_t { none_needed, open, recovered, unrecovered };
    [[nodiscard]] Recovery recovery_of(const StepDefinition& step);
    /// The step whose failure has called the handler; empty: none has, or it does not say which.
    [[nodiscard]] static std::string caller_of(const StepRun& handler);
    [[nodiscard]] bool satisfied(const std::string& dependency);

    // What a retry makes of a run (retry.cpp).
    [[nodiscard]] bool is_undone(const StepDefinition& step);
    void reopen(const StepDefinition& step);
    void await_jobs_again();

    // Kinds of steps (step_kinds.cpp, step_children.cpp).
    void begin_job(const StepDefinition& step, StepRun& record);
    void begin_gate(const StepDefinition& step, StepRun& record);
    /// False: the step has failed, since no scheduler would take its job, or another job is recorded under the id.
    bool submit(const StepDefinition& step, StepRun& record, tl::expected<Submission, std::string> job,
                std::string_view event);
    void delay(const StepDefinition& step, StepRun& record);
    void decide(const StepDefinition& step, StepRun& record);
    void notify(const StepDefinition& step, StepRun& record);
    void choose(const StepDefinition& step, StepRun& record);
    [[nodiscard]] Evaluated fits_case(const nlohmann::json& one, const nlohmann::json& value);
    void transform(const StepDefinition& step, StepRun& record);
    void storage(const StepDefinition& step, StepRun& record);
    void subworkflow(const StepDefinition& step, StepRun& record);
    void begin_child_run(const StepDefinition& step, StepRun& record);
    void for_each(const StepDefinition& step);
    void begin_children_over(const StepDefinition& step, const std::vector<std::string>& keys,
                             const nlohmann::json& items);
    void aggregate_items(const StepDefinition& step, const std::vector<std::string>& keys);
    void parallel(const StepDefinition& step);
    /// Looks at the children that are to be looked at, as many at work as `at_a_time` allows; 0: all.
    void visit_children(const StepDefinition& step, Fan& fan, std::int64_t at_a_time);
    void count_child(const StepDefinition& step, Fan& fan, std::size_t n);
    [[nodiscard]] Fate fate_of(const std::string& child);
    /// A child is to be looked at by the parallel steps that have it.
    void freshen(const StepDefinition& child);
    /// The keys of a loop's rounds so far.
    [[nodiscard]] std::vector<std::string> rounds_of(const StepDefinition& step);
    void cancel_child_run(const StepRun& record);
    /// A count of the step's, evaluated once; nothing: the step has failed for it.
    [[nodiscard]] std::optional<std::int64_t> count_of(const StepDefinition& step, StepRun& record,
                                                       const std::string& name, const StepCount& count,
                                                       std::int64_t least, std::int64_t most);
    [[nodiscard]] nlohmann::json outputs_of(const std::vector<std::string>& keys);
    void loop(const StepDefinition& step);
    void go_round(const StepDefinition& step, const StepDefinition& body, std::vector<std::string>& keys,
                  std::int64_t rounds_max);
    void begin_child_job(const StepDefinition& step, const std::string& key, std::int64_t index,
                         const nlohmann::json& item);
    void cancel_children(const std::vector<std::string>& keys, const std::string& reason);

    // Ends of steps (step_ends.cpp).
    void succeed(const StepDefinition& step, StepRun& record, nlohmann::json output,
                 const std::string& result_ptr = {});
    void fail(const StepDefinition& step, StepRun& record, StepStatus status, const std::string& message,
              std::string_view code = {});
    /// Tries it again after its pause, or fails.
    void fail_or_retry(const StepDefinition& step, StepRun& record, StepStatus status, const std::string& message);
    void cancel_step(StepRun& record, StepStatus status, const std::string& reason);
    /// A branch that its choice has not taken.
    void leave_out(const std::string& step);
    /// Those of a choice that was not taken itself, or whose failure was made good: nothing chooses among them any more.
    void leave_out_branches(const StepDefinition& choice);

    [[nodiscard]] Evaluated evaluate(const std::string& expression, const nlohmann::json& more = {});
    /// The step's input with its templates filled in; where the step has none, the run's input, and for one of many items nothing.
    [[nodiscard]] Evaluated payload_of(const StepDefinition& step, const StepRun& record,
                                       const nlohmann::json& more = {});
    /// Calls `use` with what expressions see: the run's scope, and `more` beside it.
    template <class Use>
    [[nodiscard]] auto with_scope(const nlohmann::json& more, Use use);
    [[nodiscard]] bool write_context(const std::string& path, const nlohmann::json& value);
    void erase_context(const std::string& path);
    void keep_output(const std::string& step, nlohmann::json kept);

    void tell(std::string_view type, const StepRun* step, std::string_view message = {}, nlohmann::json data = {},
              std::string_view result_ptr = {});

    const WorkflowDefinition& workflow_;
    RunDocument& run_;
    const WallTime at_;
    const RunLimits& limits_;
    const ChildRunStates& child_runs_;
    RunEffects& effects_;
    nlohmann::json scope_;  // what expressions see, kept as the context is written; null: to be made anew

    // A round looks at steps in the order of their ids, as if it went over all of them.
    std::set<const StepDefinition*, ById> round_, next_round_;
    const StepDefinition* turn_ = nullptr;  // whose it is; null: between two rounds
    bool planning_ = false;
    bool is_time_up_ = false;
    std::map<std::string, std::size_t> held_;  // of a step's dependencies and choices those that are known to hold
    std::map<std::string, std::vector<const StepDefinition*>> waiting_for_;
    std::set<std::string> failures_;           // steps that have failed, and name a handler
    std::vector<std::string> maybe_hopeless_;  // dependencies
    std::map<std::string, std::size_t> callers_over_;

    std::map<std::string, Fan> fans_;  // of the parallel steps that this pass has looked at
    std::map<std::string, std::vector<std::string>>
        families_;  // parents that this pass has looked at, with their children
};

struct DueTime {
    WallTime at{};
    Duration pause{};  // how long the wait is in all; zero for a run's time limit
};
/// When something of the run is due by itself: delays and next tries by their steps, the run's own time limit under an empty name.
[[nodiscard]] std::map<std::string, DueTime> due_times(const WorkflowDefinition& workflow, RunDocument& run);

/// Steps that wait for the end of a run that they have begun, with that run's id.
[[nodiscard]] std::map<std::string, std::string> child_runs_of(const WorkflowDefinition& workflow, RunDocument& run);

/// What is known of a run that a step has begun, from its document; empty: there is none.
[[nodiscard]] ChildRunState child_run_state(std::string_view document, std::string_view id, std::string_view parent,
                                            std::string_view step);

/// Cancelled since its choice has taken another branch: it counts as done.
[[nodiscard]] bool was_not_taken(const StepRun& record);

/// How long the step may wait before it ends `timed_out`; nothing: no limit, or that of its jobs.
[[nodiscard]] std::optional<Duration> time_limit_of(const StepDefinition& step);

/// The pause before the try after `attempts` of them.
[[nodiscard]] Duration retry_pause(const StepRetry& retry, std::int64_t attempts);

/// The step that a record of a run belongs to; null: the definition has none.
[[nodiscard]] const StepDefinition* find_step_of(const WorkflowDefinition& workflow, const std::string& key);
/// `<step>[<index>]`
[[nodiscard]] std::string child_key(std::string_view step, std::int64_t index);
/// The id of the run that a step begins: the same one for whoever begins it.
[[nodiscard]] std::string child_run_id(std::string_view run, std::string_view step, std::int64_t attempt);
/// The steps that a case of a choice names: one, or a list of them.
[[nodiscard]] std::vector<std::string> targets_of(const nlohmann::json& target);

/// Why a step was not run: another case of its choice was taken. It counts as done.
inline constexpr std::string_view kNotTaken = "switch_branch_not_taken";
/// `error.code` of a step that has failed fatally: its run is undone.
inline constexpr std::string_view kFatal = "failed_fatal";
/// `error.code` of a step under whose job's id another job is recorded (D-29).
inline constexpr std::string_view kJobIdTaken = "job_id_taken";
/// `error.code` of a step whose handler another one's failure has used (D-22).
inline constexpr std::string_view kHandlerUsed = "handler_used";

}  // namespace lockstep::engine
