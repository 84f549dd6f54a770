#include "sim/search/workflow_themes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/search/disturbances.h"
#include "sim/search/request_themes.h"
#include "sim/search/theme_parts.h"
#include "sim/search/workflow_parts.h"

namespace lockstep::sim {

namespace {

/// A workflow whose steps are drawn one after the other, each depending on some of those before it.
class Shape {
public:
    explicit Shape(Dice& dice) : dice_(dice) {}

    Document steps(int count) {
        for (int i = 0; i < count; ++i) {
            const std::string id = fmt::format("s{}", i);
            Document step = kind(id);
            depend(step);
            // What it may choose waits for it.
            if (step["type"] == "switch") names_.push_back(id + "-left");
            steps_[id] = std::move(step);
            names_.push_back(id);
        }
        return std::move(steps_);
    }
    [[nodiscard]] const std::vector<std::string>& gates() const { return gates_; }

private:
    Document kind(const std::string& id) {
        const std::string drawn =
            dice_.word({"worker", "worker", "worker", "delay", "delay", "approval", "switch", "parallel", "for_each",
                        "loop", "subworkflow", "condition", "transform", "storage", "notify", "notify", "on_error"});
        Document step = {{"type", drawn}};
        if (drawn == "delay") step["delay_sec"] = dice_.one_of(std::array{0, 1, 3, 9, 12, 25, 60});
        if (drawn == "approval") gates_.push_back(id);
        if (drawn == "condition") step["condition"] = "input.n > 2";
        if (drawn == "transform") step["input"] = {{"twice", "${input.n * 2}"}};
        if (drawn == "storage")
            step["input"] = {
                {"operation", dice_.word({"write", "read", "delete"})}, {"key", "kept.n"}, {"value", "${input.n}"}};
        if (drawn == "notify") step["input"] = {{"message", "half way"}};
        if (drawn == "subworkflow") step["input"] = {{"workflow_id", "inner"}, {"input", {{"n", "${input.n}"}}}};
        if (drawn == "switch") step = choice(id);
        if (drawn == "parallel") step = side_by_side(id);
        if (drawn == "for_each") step = for_each();
        if (drawn == "loop") step = loop(id);
        if (drawn == "worker" || drawn == "on_error") step = work();
        if (drawn == "approval" && dice_.chance(0.3)) step["retry"] = drawn_retry(dice_);
        if (drawn == "subworkflow" && dice_.chance(0.4)) step["timeout_sec"] = dice_.between(1, 6);
        if ((drawn == "approval" || drawn == "parallel" || drawn == "loop") && dice_.chance(0.15))
            step["timeout_sec"] = dice_.between(3, 90);
        if (drawn == "on_error") mend(id, step);
        if (step["type"] == "worker" && dice_.chance(0.4)) step["retry"] = drawn_retry(dice_);
        if (step["type"] == "worker" && dice_.chance(0.2)) step["timeout_sec"] = dice_.between(20, 200);
        if (step["type"] == "worker" && dice_.chance(0.2)) step["compensation"] = {{"topic", "job.default"}};
        if (step.contains("compensation") && dice_.chance(0.5)) embellish_compensation(dice_, step["compensation"]);
        if (step["type"] == "worker" && dice_.chance(0.15)) step["condition"] = "input.n != 3";
        return step;
    }

    /// A branch may be a choice of its own.
    Document choice(const std::string& id) {
        steps_[id + "-left"] = work();
        steps_[id + "-right"] = dice_.chance(0.3)   ? choice(id + "-right")
                                : dice_.chance(0.5) ? work()
                                                    : Document{{"type", "delay"}, {"delay_sec", 4}};
        return {{"type", "switch"},
                {"condition", "input.n % 2"},
                {"input", {{"cases", {{"0", id + "-left"}}}, {"default", id + "-right"}}}};
    }

    Document side_by_side(const std::string& id) {
        Document children = Document::array();
        for (int i = dice_.between(2, 4); i > 0; --i) {
            const std::string child = fmt::format("{}-{}", id, i);
            steps_[child] =
                dice_.chance(0.8) ? work_step() : Document{{"type", "delay"}, {"delay_sec", dice_.between(2, 15)}};
            children.push_back(child);
        }
        Document input = {{"steps", std::move(children)}, {"strategy", dice_.word({"all", "all", "any"})}};
        if (dice_.chance(0.2)) input.update({{"strategy", "n_of_m"}, {"required", 2}});
        Document step = {{"type", "parallel"}, {"input", std::move(input)}};
        if (dice_.chance(0.3)) step["max_parallel"] = dice_.between(1, 2);
        return step;
    }

    Document for_each() {
        Document step = work(true);
        step["for_each"] = "input.list";
        if (dice_.chance(0.5)) step["max_parallel"] = dice_.between(1, 3);
        return step;
    }

    Document loop(const std::string& id) {
        steps_[id + "-body"] = work(true);
        return {{"type", "loop"},
                {"input", {{"body_step", id + "-body"}, {"until", "loop.index >= input.n"}, {"max_iterations", 5}}}};
    }

    /// With an input of its own or the run's; `of_many`: it has an item, too.
    Document work(bool of_many = false) {
        Document step = work_step();
        if (!dice_.chance(of_many ? 0.5 : 0.2)) return step;
        step["input"] = {{"n", "${input.n}"}};
        if (of_many && dice_.chance(0.5)) step["input"]["of"] = "${item}";
        return step;
    }

    void mend(const std::string& id, Document& step) {
        step["on_error"] = id + "-mend";
        steps_[id + "-mend"] = work_step();
    }

    void depend(Document& step) {
        for (const std::string& other : names_) {
            if (!dice_.chance(0.4)) continue;
            if (!step.contains("depends_on")) step["depends_on"] = Document::array();
            step["depends_on"].push_back(other);
        }
    }

    Dice& dice_;
    Document steps_ = Document::object();
    std::vector<std::string> names_;  // that others may depend on
    std::vector<std::string> gates_;
};

/// Beside the others, steps of which some make the rest needless: those are at work then.
void race(Dice& dice, Document& steps) {
    Document runners = Document::array();
    for (int i = dice.between(2, 5); i > 0; --i) {
        const std::string id = fmt::format("runner-{}", i);
        steps[id] = work_step();
        if (dice.chance(0.3)) steps[id]["retry"] = drawn_retry(dice);
        runners.push_back(id);
    }
    Document input = {{"steps", std::move(runners)}, {"strategy", "any"}};
    if (dice.chance(0.3)) input.update({{"strategy", "n_of_m"}, {"required", 2}});
    steps["race"] = {{"type", "parallel"}, {"input", std::move(input)}};
}

/// What people do about a run of a drawn shape.
void decide_about(Dice& dice, Document& scenario, const std::string& run, const std::vector<std::string>& gates) {
    for (const std::string& gate : gates) {
        if (dice.chance(0.3)) continue;  // nobody does
        if (dice.chance(0.5)) {
            add_load(scenario, {{"at", dice.seconds(10, 90)}, {"approve", fmt::format("{}:{}@1", run, gate)}});
        } else {
            add_load(scenario, {{"at", dice.seconds(10, 90)},
                                {"workflow", {{"approve", run}, {"step", gate}, {"approved", dice.chance(0.7)}}}});
        }
    }
    if (dice.chance(0.3)) add_load(scenario, {{"at", dice.seconds(6, 60)}, {"workflow", {{"cancel", run}}}});
    if (dice.chance(0.3)) add_load(scenario, {{"at", dice.seconds(20, 120)}, {"workflow", {{"retry", run}}}});
}

/// A gateway of another kind at work on a run: it writes back what it has read a while ago.
void overwrite(Dice& dice, Document& scenario, const std::string& run, const std::vector<std::string>& gates) {
    const auto written = [&](Document order, int from, int to) {
        order["by"] = "reference";
        if (dice.chance(0.85)) order["takes"] = dice.word({"50ms", "300ms", "1s", "1s", "3s", "12s"});
        add_load(scenario,
                 {{"at", fmt::format("{}ms", dice.between(1000 * from, 1000 * to))}, {"workflow", std::move(order)}});
    };
    for (int i = dice.between(1, 5); i > 0; --i) written({{"rewrite", run}}, 4, dice.chance(0.7) ? 25 : 120);
    for (const std::string& gate : gates)
        if (dice.chance(0.5)) written({{"approve", run}, {"step", gate}, {"approved", dice.chance(0.8)}}, 10, 90);
    if (dice.chance(0.2)) written({{"cancel", run}}, 5, 60);
}

/// A stranger's jobs and results under the names of steps that have not begun.
void squat_on(Dice& dice, Document& scenario, const std::string& run) {
    const std::string step = fmt::format("{}:s{}@1", run, dice.one_of(std::array{0, 0, 1}));
    if (dice.chance(0.5))
        add_load(scenario,
                 {{"at", "1s"}, {"job", {{"job_id", step}, {"tenant_id", "mallory"}, {"topic", "job.default"}}}});
    else
        add_load(scenario,
                 {{"at", dice.seconds(1, 20)},
                  {"forge",
                   {{"job_result", {{"job_id", step}, {"worker_id", "w-0"}, {"status", "JOB_STATUS_SUCCEEDED"}}}}}});
}

void change_limits(Dice& dice, Document& scenario) {
    Document& config = sim::config(scenario);
    if (dice.chance(0.3)) config["run_lock_ttl"] = dice.word({"5s", "10s", "45s"});
    if (dice.chance(0.3)) config["delay_persist_min"] = dice.word({"0s", "3s", "30s"});
    if (dice.chance(0.3)) config["delay_poller_interval"] = dice.word({"1s", "3s", "10s"});
    if (dice.chance(0.3)) config["wf_scan_interval"] = dice.word({"2s", "10s", "20s"});
    if (dice.chance(0.2)) config["wf_run_scan_limit"] = dice.one_of(std::array{1, 3, 20});
    if (dice.chance(0.2)) config["wf_on_redis_error"] = "local";
    if (dice.chance(0.2)) config["wf_on_contention"] = dice.word({"local", "skip"});
    if (dice.chance(0.2)) config["wf_delay_remove"] = "before";
    if (dice.chance(0.2)) config["wf_run_retention"] = dice.word({"5m", "30m", "24h"});
    // Runs that go beyond these fail, and say so.
    if (dice.chance(0.12)) config["wf_foreach_max_items"] = dice.one_of(std::array{2, 4, 20});
    if (dice.chance(0.12)) config["wf_expr_max_length"] = dice.one_of(std::array{10, 12, 200});
    if (dice.chance(0.12)) config["wf_expr_max_result_items"] = dice.one_of(std::array{1, 3, 50});
    if (dice.chance(0.12)) config["wf_run_max_bytes"] = dice.one_of(std::array{1500, 4000, 40'000});
}

/// Who does not get the lock soon goes on without it, and the servers are far away: then only the comparison of documents decides.
void write_side_by_side(Dice& dice, Document& scenario) {
    Document& config = sim::config(scenario);
    config["wf_on_contention"] = "local";
    if (dice.chance(0.5)) config["wf_on_redis_error"] = "local";
    config["lock_wait"] = dice.word({"0s", "5ms", "20ms"});
    scenario["cluster"]["workers"][0]["service_time"] = dice.word({"200ms", "1s"});
    scenario["cluster"]["network"] = {{"latency", {{"dist", "uniform"}, {"min", "1ms"}, {"max", "20ms"}}}};
}

/// Of most of these there are few calls, and some come once.
void fail_rare_calls(Dice& dice, Document& scenario) {
    constexpr std::array kOnce{"put_definition", "create_run", "ask_run", "future_timers"};
    constexpr std::array kSeldom{"peek_runs",         "due_timers",  "sent_for_run",
                                 "drop_stale_timers", "forget_runs", "cancelled_jobs"};
    for (const char* script : kOnce) {
        if (dice.chance(0.4)) add_script_failing_when_called(dice, scenario, script, 2);
    }
    for (const char* script : kSeldom) {
        if (dice.chance(0.2)) add_script_failing_when_called(dice, scenario, script);
    }
    if (dice.chance(0.6))
        add_fault(scenario, {{"on", {{"event", "core_publish"}, {"subject", "sys.workflow.event"}, {"when", "before"}}},
                             {"do", "nats.publish_errors"},
                             {"subject", "sys.workflow.event"},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"for", dice.word({"100ms", "20s"})}});
    // What tells that a gate is open.
    if (dice.chance(0.4))
        add_fault(scenario, {{"on", {{"event", "publish"}, {"subject", "sys.job.result"}, {"when", "before"}}},
                             {"do", "nats.publish_errors"},
                             {"subject", "sys.job.result"},
                             {"outcome", "unknown"},
                             {"for", dice.word({"100ms", "5s"})}});
}

/// Whoever handles a run dies of it, as often as it takes to give it up, or once less or more.
void end_its_engines(Dice& dice, Document& scenario, const std::string& run) {
    config(scenario)["run_lock_ttl"] = "5s";
    for (int death = 1, deaths = dice.between(4, 7); death <= deaths; ++death)
        add_fault(
            scenario,
            {{"on",
              {{"event", "redis"}, {"script", "commit_run"}, {"key", "*:" + run}, {"when", "before"}, {"nth", death}}},
             {"do", "crash"},
             {"target", "actor"},
             {"for", "500ms"}});
}

void disturb_engines(Dice& dice, Document& scenario) {
    for (int i = dice.between(0, 2); i > 0; --i) {
        const std::string script =
            dice.word({"take_run", "commit_run", "commit_run", "sent_for_run", "due_timers", "peek_runs"});
        add_preemption_at(dice, {{"event", "redis"}, {"script", script}}, 32, scenario["faults"]);
    }
    if (dice.chance(0.2)) add_failing_script(dice, scenario, dice.chance(0.5) ? "commit_run" : "take_run");
    fail_rare_calls(dice, scenario);
}

}  // namespace

void workflows(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 1);
    change_limits(dice, scenario);
    put_workflow(scenario, "inner",
                 {{"a", work_step()}, {"b", {{"type", "delay"}, {"delay_sec", 2}, {"depends_on", {"a"}}}}});
    Shape shape(dice);
    Document steps = shape.steps(dice.between(2, 7));
    if (dice.chance(0.4)) steps["told"] = {{"type", "notify"}, {"input", {{"message", "under way"}}}};
    put_workflow(scenario, "drawn", std::move(steps), dice.chance(0.2) ? dice.between(5, 120) : 0);
    if (dice.chance(0.3))
        put_workflow(scenario, "drawn", Shape(dice).steps(dice.between(2, 7)), 0, dice.seconds(5, 60));
    for (int i = dice.between(1, 5); i > 0; --i) {
        const std::string run = fmt::format("drawn-{}", i);
        Document input = {{"n", dice.between(0, 4)}, {"list", Document::array()}};
        for (int n = dice.between(0, 6); n > 0; --n) input["list"].push_back(n);
        Document line = run_started(dice.seconds(2, 30), "drawn", run, std::move(input));
        if (dice.chance(0.2)) line["workflow"]["by"] = "reference";
        add_load(scenario, std::move(line));
        decide_about(dice, scenario, run, shape.gates());
        if (dice.chance(0.15)) overwrite(dice, scenario, run, shape.gates());
        if (dice.chance(0.3)) squat_on(dice, scenario, run);
        if (dice.chance(0.05)) end_its_engines(dice, scenario, run);
    }
    disturb_engines(dice, scenario);
}

void other_gateways(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 1);
    change_limits(dice, scenario);
    scenario["cluster"]["workers"][0]["service_time"] = dice.word({"200ms", "1s", "4s"});
    Document each = work_step();
    each["for_each"] = "input.list";
    if (dice.chance(0.4)) each["retry"] = drawn_retry(dice);
    put_workflow(scenario, "shared",
                 {{"each", std::move(each)},
                  {"wait", {{"type", "delay"}, {"delay_sec", dice.between(1, 20)}, {"depends_on", {"each"}}}},
                  {"sign", {{"type", "approval"}, {"depends_on", {"wait"}}}},
                  {"last", {{"type", "worker"}, {"topic", "job.default"}, {"depends_on", {"sign"}}}}});
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string run = fmt::format("shared-{}", i);
        Document list = Document::array();
        for (int n = dice.between(1, 5); n > 0; --n) list.push_back(n);
        Document line = run_started(dice.seconds(2, 8), "shared", run, {{"list", std::move(list)}});
        if (dice.chance(0.5)) line["workflow"]["by"] = "reference";
        add_load(scenario, std::move(line));
        if (dice.chance(0.6)) decide_about(dice, scenario, run, {"sign"});
        overwrite(dice, scenario, run, {"sign"});
    }
    disturb_engines(dice, scenario);
}

void kept_delays(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 1);
    const bool own = scenario["cluster"].contains("workflow_engines");
    const int interval = dice.between(1, 5);
    config(scenario)["delay_poller_interval"] = fmt::format("{}s", interval);
    // Three intervals of the poller are what a timer may be late by.
    config(scenario)["wf_scan_interval"] = fmt::format("{}s", 12 * interval + 20);
    config(scenario)["delay_persist_min"] = dice.word({"0s", "3s", "10s"});
    put_workflow(scenario, "waits",
                 {{"first", {{"type", "delay"}, {"delay_sec", dice.between(11, 40)}}},
                  {"second", {{"type", "delay"}, {"delay_sec", dice.between(15, 90)}, {"depends_on", {"first"}}}},
                  {"beside", {{"type", "delay"}, {"delay_sec", dice.between(11, 60)}}}});
    for (int i = dice.between(1, 4); i > 0; --i)
        add_load(scenario,
                 run_started(fmt::format("{}ms", dice.between(2000, 12'000)), "waits", fmt::format("waits-{}", i)));
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(13, 60)},
                             {"do", dice.word({"crash", "crash", "crash", "stop"})},
                             {"target", own ? "workflows" : "schedulers"},
                             {"for", dice.word({"500ms", "2s", "5s"})}});
}

void frozen_engines(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 2);
    Document& workers = scenario["cluster"]["workers"][0];
    workers["max_parallel_jobs"] = 8;
    Document each = work_step();
    each["for_each"] = "input.list";
    Document steps = {{"each", std::move(each)}};
    if (dice.chance(0.5)) steps["after"] = {{"type", "worker"}, {"topic", "job.default"}, {"depends_on", {"each"}}};
    put_workflow(scenario, "many", std::move(steps));
    Document list = Document::array();
    const int items = dice.between(5, 10);
    for (int n = items; n > 0; --n) list.push_back(n);
    const int runs = dice.between(1, 3);
    for (int i = runs; i > 0; --i)
        add_load(scenario, run_started(dice.seconds(5, 9), "many", fmt::format("many-{}", i), {{"list", list}}));
    if (dice.chance(0.4)) return write_side_by_side(dice, scenario);
    const int life = dice.between(3, 8);
    config(scenario)["run_lock_ttl"] = fmt::format("{}s", life);
    workers["service_time"] = {{"dist", "uniform"}, {"min", "200ms"}, {"max", "12s"}};
    // Between the read and the write; before the first result nothing could be lost, and after most of them little.
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "lock_acquired"},
                               {"key", "cordum:wf:run:lock:many-*"},
                               {"nth", dice.between(runs + 1, runs + 1 + (runs * items / 3))}}},
                             {"do", "pause"},
                             {"target", "actor"},
                             {"for", fmt::format("{}s", life + dice.between(1, 2 * life))}});
}

void crowded_runs(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 2);
    scenario["cluster"]["workers"][0]["service_time"] = dice.word({"100ms", "1s"});
    if (dice.chance(0.4))
        scenario["cluster"]["workers"][0]["service_time"] = {{"dist", "uniform"}, {"min", "100ms"}, {"max", "8s"}};
    scenario["cluster"]["workers"][0]["max_parallel_jobs"] = 8;
    Document each = work_step();
    each["for_each"] = "input.list";
    if (dice.chance(0.4)) each["max_parallel"] = dice.between(2, 6);
    if (dice.chance(0.3)) each["retry"] = drawn_retry(dice);
    Document steps = {{"each", std::move(each)}};
    if (dice.chance(0.6)) race(dice, steps);
    put_workflow(scenario, "many", std::move(steps));
    Document list = Document::array();
    for (int n = dice.between(6, 20); n > 0; --n) list.push_back(n);
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario, run_started(dice.seconds(5, 7), "many", fmt::format("many-{}", i), {{"list", list}}));
    if (dice.chance(0.4)) add_load(scenario, {{"at", dice.seconds(6, 20)}, {"workflow", {{"cancel", "many-1"}}}});
    disturb_engines(dice, scenario);
}

void half_done_steps(Dice& dice, Document& scenario) {
    open_workshop(dice, scenario, 1);
    Document steps = {{"a", work_step()},
                      {"b", {{"type", "worker"}, {"topic", "job.default"}, {"depends_on", {"a"}}}},
                      {"c", {{"type", "approval"}, {"depends_on", {"b"}}}},
                      {"d", {{"type", "worker"}, {"topic", "job.default"}, {"depends_on", {"c"}}}}};
    if (dice.chance(0.6)) {
        put_workflow(scenario, "inner", {{"a", work_step()}});
        steps["within"] = {{"type", "subworkflow"}, {"input", {{"workflow_id", "inner"}}}};
    }
    put_workflow(scenario, "chain", std::move(steps));
    const int runs = dice.between(1, 3);
    for (int i = runs; i > 0; --i) {
        const std::string run = fmt::format("chain-{}", i);
        add_load(scenario, run_started(dice.seconds(4, 9), "chain", run));
        if (dice.chance(0.4)) add_load(scenario, {{"at", dice.seconds(20, 60)}, {"approve", run + ":c@1"}});
        if (dice.chance(0.5))
            add_load(scenario, {{"at", dice.seconds(20, 60)},
                                {"workflow", {{"approve", run}, {"step", "c"}, {"approved", dice.chance(0.7)}}}});
    }
    // Each run is committed some five times, most of them with a job to be submitted.
    for (int i = dice.between(1, 3); i > 0; --i) {
        Document on = {{"event", "redis"},
                       {"script", "commit_run"},
                       {"when", dice.word({"applied", "answered", "answered"})},
                       {"nth", dice.between(1, 4 * runs)}};
        if (dice.chance(0.2))
            on = {{"event", "publish"},
                  {"subject", "sys.job.submit"},
                  {"job", "chain-*"},
                  {"when", dice.word({"before", "applied"})},
                  {"nth", dice.between(1, 3 * runs)}};
        add_fault(scenario, {{"on", std::move(on)},
                             {"do", dice.word({"crash", "crash", "crash", "pause"})},
                             {"target", "actor"},
                             {"for", dice.word({"500ms", "3s", "40s"})}});
    }
    if (dice.chance(0.3)) add_failing_script(dice, scenario, "commit_run");
    fail_rare_calls(dice, scenario);
}

}  // namespace lockstep::sim
