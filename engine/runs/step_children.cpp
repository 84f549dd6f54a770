// Steps that run others: one for each item, side by side, or again and again (workflow.md 5.4).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/runs/job_request.h"
#include "engine/runs/pass.h"
#include "engine/wire/json_text.h"

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
        if (!count_of(step, record, "max_parallel", step.max_parallel, 0, kCountMax)) return;
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
    StepRun parent = run_.step(step.id);
    const auto at_a_time = count_of(step, parent, "max_parallel", step.max_parallel, 0, kCountMax);
    if (!at_a_time) return;
    for (std::size_t n = 0; n < keys.size(); ++n) {
        if (*at_a_time > 0 && at_work >= *at_a_time) return;
        StepRun child = run_.step(keys[n]);
        const auto due = child.next_attempt_at();
        if (child.status() != StepStatus::pending || (due && at_ < *due)) continue;
        if (!may_begin_another()) return;
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
    families_[step.id] = keys;
}

void RunPass::begin_child_job(const StepDefinition& step, const std::string& key, std::int64_t index,
                              const json& item) {
    StepRun record = run_.step(key);
    if (!step.unfit.empty()) return fail(step, record, StepStatus::failed, step.unfit.front().message);
    auto payload = payload_of(step, record, json{{"item", item}, {"loop", {{"index", index}}}});
    if (!payload.error.empty()) return fail(step, record, StepStatus::failed, payload.error);
    if (payload.value.is_object()) payload.value["item"] = item;
    record.begin(StepStatus::running, at_);
    const StepAttempt attempt{workflow_, step, run_, key, record.attempts(), ItemOf{index, item}, at_};
    submit(step, record, worker_job(attempt, payload.value, limits_.packet_bytes), "step_dispatched");
    effects_.changed = true;
}

void RunPass::cancel_children(const std::vector<std::string>& keys, const std::string& reason) {
    for (const std::string& key : keys) {
        auto child = run_.find_step(key);
        if (child && is_open(child->status())) cancel_step(*child, StepStatus::cancelled, reason);
    }
}

void RunPass::parallel(const StepDefinition& step) {
    const auto all = static_cast<std::int64_t>(step.parallel_steps.size());
    StepRun record = run_.step(step.id);
    const auto at_a_time = count_of(step, record, "max_parallel", step.max_parallel, 0, kCountMax);
    if (!at_a_time) return;
    const auto required = count_of(step, record, "required", step.required, 1, all);
    if (!required) return;
    if (record.status() == StepStatus::pending) record.begin(StepStatus::running, at_);
    const auto [entry, is_new] = fans_.try_emplace(step.id);
    Fan& fan = entry->second;
    if (is_new) {
        fan.fates.resize(step.parallel_steps.size());
        for (std::size_t n = 0; n < step.parallel_steps.size(); ++n) {
            fan.places[step.parallel_steps[n]].push_back(n);
            fan.fresh.insert(n);
            count_child(step, fan, n);
        }
    }
    visit_children(step, fan, *at_a_time);
    families_[step.id] = step.parallel_steps;
    // What its choice has left out is none of the children.
    const std::int64_t there = all - fan.left_out;
    const std::int64_t needed = step.strategy == "any" ? 1 : step.strategy == "n_of_m" ? *required : there;
    const bool enough = fan.succeeded >= needed;
    const bool hopeless = there - fan.over < needed;
    if (!enough && !hopeless) return;
    cancel_children(step.parallel_steps, enough ? "enough others have succeeded" : "too many others have failed");
    effects_.changed = true;
    StepRun own = run_.step(step.id);
    if (enough)
        succeed(step, own, outputs_of(step.parallel_steps));
    else
        fail(step, own, StepStatus::failed,
             fmt::format("{} of {} steps have succeeded, {} were needed", fan.succeeded, there, needed));
}

void RunPass::visit_children(const StepDefinition& step, Fan& fan, std::int64_t at_a_time) {
    while (true) {
        const bool is_full = at_a_time > 0 && fan.at_work >= at_a_time;
        const std::size_t none = step.parallel_steps.size();
        const std::size_t fresh = fan.fresh.empty() ? none : *fan.fresh.begin();
        const std::size_t queued = fan.queue.empty() || is_full ? none : *fan.queue.begin();
        const std::size_t n = std::min(fresh, queued);
        if (n == none) return;
        fan.fresh.erase(n);
        fan.queue.erase(n);
        const StepDefinition& child = workflow_.steps.at(step.parallel_steps[n]);
        if (is_full && run_.step(child.id).status() == StepStatus::pending) {
            fan.queue.insert(n);
            continue;
        }
        visit(child);
        count_child(step, fan, n);
    }
}

void RunPass::count_child(const StepDefinition& step, Fan& fan, std::size_t n) {
    const auto count = [&fan](Fate fate, std::int64_t by) {
        if (fate == Fate::at_work) fan.at_work += by;
        if (fate == Fate::succeeded) fan.succeeded += by;
        if (fate == Fate::over) fan.over += by;
        if (fate == Fate::left_out) fan.left_out += by;
    };
    count(fan.fates[n], -1);
    fan.fates[n] = fate_of(step.parallel_steps[n]);
    count(fan.fates[n], 1);
}

/// One whose failure was made good counts as one that has succeeded; as long as its handler may do so, it is open.
RunPass::Fate RunPass::fate_of(const std::string& child) {
    const StepRun record = run_.step(child);
    const StepStatus status = record.status();
    if (was_not_taken(record)) return Fate::left_out;
    if (status == StepStatus::pending) return Fate::open;
    if (is_open(status)) return Fate::at_work;
    if (status == StepStatus::succeeded) return Fate::succeeded;
    if (status == StepStatus::skipped) return Fate::over;
    switch (recovery_of(workflow_.steps.at(child))) {
        case Recovery::open: return Fate::open;
        case Recovery::recovered: return Fate::succeeded;
        default: return Fate::over;
    }
}

std::optional<std::int64_t> RunPass::count_of(const StepDefinition& step, StepRun& record, const std::string& name,
                                              const StepCount& count, std::int64_t least, std::int64_t most) {
    if (count.expression.empty()) return count.value;
    json counts = record.member("counts");
    if (const json& known = at_path(counts, name); known.is_number_integer()) return known.get<std::int64_t>();
    const Evaluated given = evaluate(count.expression);
    if (!given.error.empty()) {
        fail(step, record, StepStatus::failed, fmt::format("{}: {}", name, given.error));
        return std::nullopt;
    }
    const json& value = given.value;
    const bool is_huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    if (!value.is_number_integer() || is_huge || value < least || value > most) {
        fail(step, record, StepStatus::failed, out_of_range(name, wire::json_text(value), least, most));
        return std::nullopt;
    }
    if (!counts.is_object()) counts = json::object();
    counts[name] = value;
    record.set("counts", std::move(counts));
    return value.get<std::int64_t>();
}

json RunPass::outputs_of(const std::vector<std::string>& keys) {
    json outputs = json::object();
    for (const std::string& key : keys) outputs[key] = run_.step(key).member("output");
    return outputs;
}

std::vector<std::string> RunPass::rounds_of(const StepDefinition& step) {
    std::vector<std::string> keys;
    while (true) {
        std::string key = child_key(step.id, static_cast<std::int64_t>(keys.size()));
        if (!run_.find_step(key)) return keys;
        keys.push_back(std::move(key));
    }
}

void RunPass::loop(const StepDefinition& step) {
    const StepDefinition& body = workflow_.steps.at(step.body_step);
    StepRun record = run_.step(step.id);
    const auto most = count_of(step, record, "max_iterations",
                               step.max_iterations.value_or(StepCount{kLoopIterations, {}}), 0, kCountMax);
    if (!most) return;
    if (record.status() == StepStatus::pending) record.begin(StepStatus::running, at_);
    std::vector<std::string> keys = rounds_of(step);
    go_round(step, body, keys, *most);
    families_[step.id] = std::move(keys);
}

/// Looks at the last time round, and begins the next one or ends the loop.
void RunPass::go_round(const StepDefinition& step, const StepDefinition& body, std::vector<std::string>& keys,
                       std::int64_t rounds_max) {
    StepRun record = run_.step(step.id);
    const auto round = static_cast<std::int64_t>(keys.size());
    json last;
    if (round > 0) {
        StepRun child = run_.step(keys.back());
        const auto due = child.next_attempt_at();
        if (child.status() == StepStatus::pending && (!due || *due <= at_))
            return !may_begin_another() ? void() : begin_child_job(body, keys.back(), round - 1, child.member("item"));
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
    if (round >= rounds_max) {
        const bool has_end = !at_path(step.input, "until").is_null() || !at_path(step.input, "while").is_null() ||
                             !at_path(step.input, "condition").is_null();
        effects_.changed = true;
        if (!has_end) return succeed(step, record, last);
        return fail(step, record, StepStatus::failed, fmt::format("after {} rounds there is no end", round));
    }
    if (round >= static_cast<std::int64_t>(limits_.foreach_items))
        return fail(
            step, record, StepStatus::failed,
            fmt::format("after {} rounds there is no end, and there may be no more (wf_foreach_max_items)", round));
    if (!may_begin_another()) return;
    keys.push_back(child_key(step.id, round));
    run_.step(keys.back()).set("item", round);
    begin_child_job(body, keys.back(), round, round);
}

}  // namespace lockstep::engine
