// Which steps a pass looks at, and when. It begins with all of them; from then on the end of one leads to those that may go on by it.
#include <utility>

#include "engine/runs/pass.h"

namespace lockstep::engine {

namespace {

bool has_failed(StepStatus status) {
    return status == StepStatus::failed || status == StepStatus::timed_out || status == StepStatus::denied;
}

}  // namespace

void RunPass::plan_all() {
    planning_ = true;
    for (const auto& [id, step] : workflow_.steps) {
        if (!step.is_child()) next_round_.insert(&step);
        const auto record = run_.find_step(id);
        if (!record || is_open(record->status())) continue;
        if (!step.on_error.empty() && has_failed(record->status())) failures_.insert(id);
        maybe_hopeless_.push_back(id);
        if (!step.on_error.empty()) maybe_hopeless_.push_back(step.on_error);
        leave_out_branches(step);
    }
    while (!next_round_.empty()) {
        round_ = std::exchange(next_round_, {});
        while (!round_.empty()) {
            turn_ = *round_.begin();
            round_.erase(round_.begin());
            visit(*turn_);
        }
        turn_ = nullptr;
        activate_error_handlers();
        skip_what_cannot_begin();
    }
}

void RunPass::look_at(const StepDefinition& step) {
    // A child begins in its parent's turn, which knows how many there may be at a time.
    const auto record = run_.find_step(step.id);
    const bool is_begun_by_others = step.is_child() && (!record || record->status() == StepStatus::pending);
    if (is_begun_by_others) return freshen(step);
    const bool is_to_come = turn_ != nullptr && turn_->id < step.id;
    (is_to_come ? round_ : next_round_).insert(&step);
}

void RunPass::ended(const std::string& key) {
    if (!planning_) return;  // all steps are still to be looked at
    const StepDefinition* step = workflow_.step(key);
    if (step == nullptr) {  // an item or a round: its parent goes on
        if (const StepDefinition* parent = workflow_.step(key.substr(0, key.rfind('[')))) look_at(*parent);
        return;
    }
    const auto record = run_.find_step(key);
    if (record && !step->on_error.empty() && has_failed(record->status())) failures_.insert(key);
    release(*step);
    if (!step->on_error.empty()) maybe_hopeless_.push_back(step->on_error);
    for (const std::string& caller : step->callers) release(workflow_.steps.at(caller));
}

void RunPass::release(const StepDefinition& dependency) {
    maybe_hopeless_.push_back(dependency.id);
    const auto waiting = waiting_for_.find(dependency.id);
    if (waiting != waiting_for_.end())
        for (const StepDefinition* step : std::exchange(waiting->second, {})) look_at(*step);
    freshen(dependency);
    leave_out_branches(dependency);
}

void RunPass::freshen(const StepDefinition& child) {
    for (const std::string& parent : child.started_by) {
        const auto fan = fans_.find(parent);
        if (fan == fans_.end()) continue;  // it looks at all of them once it begins
        for (const std::size_t place : fan->second.places[child.id]) fan->second.fresh.insert(place);
        look_at(workflow_.steps.at(parent));
    }
}

void RunPass::leave_out_branches(const StepDefinition& choice) {
    if (choice.targets.empty()) return;
    const auto record = run_.find_step(choice.id);
    if (!record || record->status() == StepStatus::succeeded) return;
    if (!was_not_taken(*record) && recovery_of(choice) != Recovery::recovered) return;
    for (const std::string& target : choice.targets) leave_out(target);
}

}  // namespace lockstep::engine
