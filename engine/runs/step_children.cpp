// Steps that run others: one for each item, side by side, or again and again (workflow.md 5.4).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/runs/job_request.h"
#include "engine/runs/pass.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

constexpr std::int64_t kLoopIterations = 100;

bool is_bad_end(StepStatus status) { return is_final(status) && status != StepStatus::succeeded; }

}  // namespace

void RunPass::for_each(const StepDefinition& step) {
    StepRun record = run_.step(step.id);
    if (record.status() == StepStatus::pending) {
        Evaluated items = evaluate(step.for_each);
        if (items.error.empty() && items.value.is_null()) items.value = json::array();  // as the reference has it
        if (!items.error.empty()) return fail(step, record, StepStatus::failed, "for_each: " + items.error);
        if (!items.value.is_array())
            return fail(step, record, StepStatus::failed,
                        fmt::format("for_each: expected a list, got {}", items.value.type_name()));
        if (items.value.size() > limits_.foreach_items)
            return fail(step, record, StepStatus::failed,
                        fmt::format("for_each: {} items, of at most {}", items.value.size(), limits_.foreach_items));
        record.begin(StepStatus::running, at_);
        record.set("resolved_items", items.value);
        for (std::size_t n = 0; n < items.value.size(); ++n)
            run_.step(child_key(step.id, static_cast<std::int64_t>(n))).set("item", items.value[n]);
    }
    const json items = run_.step(step.id).member("resolved_items");
    const std::size_t count = items.is_array() ? items.size() : 0;
    std::vector<std::string> keys;
    for (std::size_t n = 0; n < count; ++n) keys.push_back(child_key(step.id, static_cast<std::int64_t>(n)));
    begin_children_over(step, keys, items);
    aggregate_items(step, keys);
}

/// As many as may be at work at a time, in the order of their items.
void RunPass::begin_children_over(const StepDefinition& step, const std::vector<std::string>& keys, const json& items) {
    std::int64_t at_work = 0;
    for (const std::string& key : keys) {
        const StepStatus status = run_.step(key).status();
        if (status == StepStatus::running) ++at_work;
        if (is_bad_end(status)) return;  // the step has failed: no more are begun
    }
    for (std::size_t n = 0; n < keys.size(); ++n) {
        if (step.max_parallel > 0 && at_work >= step.max_parallel) return;
        StepRun child = run_.step(keys[n]);
        const auto due = child.next_attempt_at();
        if (child.status() != StepStatus::pending || (due && at_ < *due)) continue;
        begin_child_job(step, keys[n], static_cast<std::int64_t>(n), items[n]);
        if (run_.step(keys[n]).status() == StepStatus::running) ++at_work;
    }
}

void RunPass::aggregate_items(const StepDefinition& step, const std::vector<std::string>& keys) {
    std::size_t succeeded = 0;
    bool denied = false;
    std::string failed;
    json outputs = json::array();
    for (const std::string& key : keys) {
        const StepRun child = run_.step(key);
        const StepStatus status = child.status();
        if (status == StepStatus::succeeded) ++succeeded;
        if (status == StepStatus::denied) denied = true;
        if (is_bad_end(status) && status != StepStatus::denied && failed.empty()) failed = key;
        outputs.push_back(child.member("output"));
    }
    StepRun record = run_.step(step.id);
    if (!failed.empty() || denied) {
        cancel_children(keys, "another item has failed");
        record = run_.step(step.id);
        if (failed.empty())
            fail(step, record, StepStatus::denied, "an item has been denied");
        else
            fail(step, record, StepStatus::failed, fmt::format("{} has failed", failed));
    } else if (succeeded == keys.size()) {
        effects_.changed = true;
        succeed(step, record, std::move(outputs));
    }
    if (effects_.changed) run_.mirror_children(step.id, keys);
}

void RunPass::begin_child_job(const StepDefinition& step, const std::string& key, std::int64_t index,
                              const json& item) {
    StepRun record = run_.step(key);
    auto payload = payload_of(step, record, json{{"item", item}, {"loop", {{"index", index}}}});
    if (!payload.error.empty()) return fail(step, record, StepStatus::failed, payload.error);
    if (payload.value.is_object()) payload.value["item"] = item;
    record.begin(StepStatus::running, at_);
    const StepAttempt attempt{workflow_, step, run_, key, record.attempts(), ItemOf{index, item}, at_};
    Submission submission = worker_job(attempt, payload.value);
    record.set_job_id(submission.job);
    tell("step_dispatched", &record);
    effects_.submissions.push_back(std::move(submission));
    effects_.changed = true;
}

void RunPass::cancel_children(const std::vector<std::string>& keys, const std::string& reason) {
    for (const std::string& key : keys) {
        auto child = run_.find_step(key);
        if (child && is_open(child->status())) cancel_step(*child, StepStatus::cancelled, reason);
    }
}

void RunPass::parallel(const StepDefinition& step) {
    const auto& keys = step.parallel_steps;
    if (StepRun record = run_.step(step.id); record.status() == StepStatus::pending)
        record.begin(StepStatus::running, at_);
    std::int64_t at_work = 0;
    for (const std::string& key : keys) {
        const StepStatus status = run_.step(key).status();
        if (status == StepStatus::running || status == StepStatus::waiting) ++at_work;
    }
    for (const std::string& key : keys) {
        const StepStatus before = run_.step(key).status();
        if (before == StepStatus::pending && step.max_parallel > 0 && at_work >= step.max_parallel) continue;
        visit(workflow_.steps.at(key));
        const StepStatus after = run_.step(key).status();
        if (before == StepStatus::pending && (after == StepStatus::running || after == StepStatus::waiting)) ++at_work;
    }
    std::int64_t succeeded = 0, over = 0;
    for (const std::string& key : keys) {
        const StepStatus status = run_.step(key).status();
        if (status == StepStatus::succeeded) ++succeeded;
        if (!is_open(status)) ++over;
    }
    const auto all = static_cast<std::int64_t>(keys.size());
    std::int64_t needed = all;
    if (at_path(step.input, "strategy") == "any") needed = 1;
    if (at_path(step.input, "strategy") == "n_of_m") needed = at_path(step.input, "required").get<std::int64_t>();
    const bool enough = succeeded >= needed;
    const bool hopeless = all - (over - succeeded) < needed;
    if (enough || hopeless) {
        cancel_children(keys, enough ? "enough others have succeeded" : "too many others have failed");
        effects_.changed = true;
        StepRun record = run_.step(step.id);
        if (enough)
            succeed(step, record, outputs_of(keys));
        else
            fail(step, record, StepStatus::failed,
                 fmt::format("{} of {} steps have succeeded, {} were needed", succeeded, all, needed));
    }
    if (effects_.changed) run_.mirror_children(step.id, keys);
}

json RunPass::outputs_of(const std::vector<std::string>& keys) {
    json outputs = json::object();
    for (const std::string& key : keys) outputs[key] = run_.step(key).member("output");
    return outputs;
}

void RunPass::loop(const StepDefinition& step) {
    const StepDefinition& body = workflow_.steps.at(step.body_step);
    if (StepRun record = run_.step(step.id); record.status() == StepStatus::pending)
        record.begin(StepStatus::running, at_);
    std::vector<std::string> keys;
    while (run_.find_step(child_key(step.id, static_cast<std::int64_t>(keys.size()))))
        keys.push_back(child_key(step.id, static_cast<std::int64_t>(keys.size())));
    go_round(step, body, keys);
    if (effects_.changed) run_.mirror_children(step.id, keys);
}

/// Looks at the last time round, and begins the next one or ends the loop.
void RunPass::go_round(const StepDefinition& step, const StepDefinition& body, std::vector<std::string>& keys) {
    StepRun record = run_.step(step.id);
    const auto round = static_cast<std::int64_t>(keys.size());
    json last;
    if (round > 0) {
        StepRun child = run_.step(keys.back());
        const auto due = child.next_attempt_at();
        if (child.status() == StepStatus::pending && (!due || *due <= at_))
            return begin_child_job(body, keys.back(), round - 1, child.member("item"));
        if (is_open(child.status())) return;
        if (child.status() != StepStatus::succeeded)
            return fail(step, record, StepStatus::failed, fmt::format("{} has failed", keys.back()));
        last = child.member("output");
    }
    const json seen{{"loop", {{"index", round}, {"last", last}}}};
    const auto holds = [&](const char* name, bool otherwise) -> std::optional<bool> {
        const json& expression = at_path(step.input, name);
        if (!expression.is_string()) return otherwise;
        const Evaluated held = evaluate(expression.get<std::string>(), seen);
        if (held.error.empty()) return truthy(held.value);
        fail(step, record, StepStatus::failed, fmt::format("{}: {}", name, held.error));
        return std::nullopt;
    };
    const auto finished = round == 0 ? std::optional<bool>(false) : holds("until", false);
    if (!finished) return;
    const auto condition = holds("condition", true);
    if (!condition) return;
    const auto goes_on = holds("while", true);
    if (!goes_on) return;
    if (*finished || !*condition || !*goes_on) {
        effects_.changed = true;
        return succeed(step, record, last);
    }
    const json& most = at_path(step.input, "max_iterations");
    const std::int64_t limit = most.is_number_integer() ? most.get<std::int64_t>() : kLoopIterations;
    if (round >= std::min<std::int64_t>(limit, static_cast<std::int64_t>(limits_.foreach_items))) {
        const bool has_end = !at_path(step.input, "until").is_null() || !at_path(step.input, "while").is_null() ||
                             !at_path(step.input, "condition").is_null();
        effects_.changed = true;
        if (!has_end) return succeed(step, record, last);
        return fail(step, record, StepStatus::failed, fmt::format("after {} rounds there is no end", round));
    }
    keys.push_back(child_key(step.id, round));
    run_.step(keys.back()).set("item", round);
    begin_child_job(body, keys.back(), round, round);
}

}  // namespace lockstep::engine
