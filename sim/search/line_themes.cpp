#include "sim/search/line_themes.h"

#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

std::string holder(int number) { return fmt::format("holder-{}", number); }
std::string waiter(int number) { return fmt::format("waiter-{}", number); }

void add_job_of_acme(Document& scenario, std::string at, const std::string& id, const char* service_ms) {
    Document job = {{"job_id", id}, {"tenant_id", "acme"}, {"topic", "job.default"}};
    if (service_ms == nullptr)
        job["env"]["SIM_OUTCOME"] = "hang";
    else
        job["env"]["SIM_SERVICE_MS"] = service_ms;
    add_load(scenario, {{"at", std::move(at)}, {"job", std::move(job)}});
}

/// By an operator, who writes it into the store himself, or by a message that leaves it to the schedulers.
void end_it(Dice& dice, Document& scenario, const std::string& id, int from, int to) {
    if (dice.chance(0.6))
        add_load(scenario, {{"at", dice.seconds(from, to)}, {"cancel", id}});
    else
        add_load(scenario, {{"at", dice.seconds(from, to)},
                            {"forge", {{"job_cancel", {{"job_id", id}}}}},
                            {"subject", "sys.job.cancel"}});
}

/// What all of these have in common; the limit of the tenant. Those who hold its slots come first, then those who wait.
int draw_a_line(Dice& dice, Document& scenario, int waiting, bool hangs) {
    Document& cluster = scenario["cluster"];
    cluster["schedulers"] = dice.between(1, 3);
    cluster["config"] = {{"replayer_interval", dice.word({"5s", "10s"})},
                         {"reconciler_interval", dice.word({"10s", "30s"})},
                         {"running_timeout", hangs ? "5m" : "2m"},
                         {"pending_age", dice.word({"30s", "2m"})}};
    cluster["workers"] = Document::array(
        {{{"id", "w"}, {"count", dice.between(1, 3)}, {"max_parallel_jobs", 10}, {"service_time", "300ms"}}});
    cluster.erase("output_policy");
    cluster.erase("gateway");
    const int limit = dice.between(1, 3);
    cluster["kernel"]["latency"] = dice.word({"2ms", "300ms", "900ms"});
    cluster["kernel"]["policy"]["rules"].push_back({{"id", "line"},
                                                    {"match", {{"tenants", {"acme"}}}},
                                                    {"decision", "allow_with_constraints"},
                                                    {"constraints", {{"budgets", {{"max_concurrent_jobs", limit}}}}}});
    scenario["load"] = Document::array();
    scenario["faults"] = Document::array();
    for (int i = 1; i <= limit; ++i)
        add_job_of_acme(scenario, "2s", holder(i), hangs ? nullptr : dice.word({"15000", "40000"}).c_str());
    for (int i = 1; i <= waiting; ++i)
        add_job_of_acme(scenario, dice.seconds(4, 11), waiter(i), dice.chance(0.6) ? "300" : "5000");
    return limit;
}

Document limited(const char* id, Document match, int limit) {
    return {{"id", id},
            {"match", std::move(match)},
            {"decision", "allow_with_constraints"},
            {"constraints", {{"budgets", {{"max_concurrent_jobs", limit}}}}}};
}

/// Jobs of one tenant by two limits, so that one who is called finds the slot taken by a job that may have more beside it; and answers
/// that are good for long.
void add_line_of_two_limits(Dice& dice, Document& scenario) {
    config(scenario)["policy_answer_max_age"] = "60s";
    Document& rules = scenario["cluster"]["kernel"]["policy"]["rules"];
    rules.insert(rules.begin(), limited("one", {{"tenants", {"globex"}}}, 1));
    rules.insert(rules.begin(), limited("more", {{"tenants", {"globex"}}, {"labels", {{"room", "wide"}}}}, 3));
    add_fault(scenario, {{"at", "59s"},
                         {"do", "kernel.latency"},
                         {"job", "globex-*"},
                         {"latency", {{"dist", "uniform"}, {"min", "50ms"}, {"max", "700ms"}}},
                         {"for", "60s"}});
    for (int i = dice.between(40, 60); i > 0; --i) {
        Document job = {{"job_id", fmt::format("globex-{}", i)}, {"tenant_id", "globex"}, {"topic", "job.default"}};
        if (dice.chance(0.5)) job["labels"]["room"] = "wide";
        job["env"]["SIM_SERVICE_MS"] = dice.word({"100", "400", "1500"});
        add_load(scenario, {{"at", fmt::format("{}ms", dice.between(60'000, 90'000))}, {"job", std::move(job)}});
    }
}

/// Allowed with limits at first, and before it is sent so many have come that a human is asked, without any.
void add_question_after_an_answer(Document& scenario) {
    Document rules = Document::array();
    rules.push_back({{"id", "too-many"},
                     {"match", {{"tenants", {"umbrella"}}}},
                     {"velocity", {{"max_requests", 2}, {"window_seconds", 3600}, {"key", "tenant"}}},
                     {"decision", "require_approval"}});
    rules.push_back({{"id", "guarded"},
                     {"match", {{"tenants", {"umbrella"}}}},
                     {"decision", "allow_with_constraints"},
                     {"constraints", {{"budgets", {{"max_artifact_bytes", 1024}, {"max_retries", 9}}}}}});
    Document& all = scenario["cluster"]["kernel"]["policy"]["rules"];
    all.insert(all.begin(), rules.begin(), rules.end());
    const auto submit = [&scenario](const char* at, const char* id) {
        add_load(scenario,
                 {{"at", at}, {"job", {{"job_id", id}, {"tenant_id", "umbrella"}, {"topic", "job.default"}}}});
    };
    submit("120s", "asked-late");
    submit("121s", "beside-1");
    submit("122s", "beside-2");
    add_fault(scenario, {{"at", "119s"},
                         {"do", "nats.publish_errors"},
                         {"subject", "worker.*.jobs"},
                         {"job", "asked-late"},
                         {"outcome", "not_applied"},
                         {"rate", 1.0},
                         {"for", "8s"}});
    add_load(scenario, {{"at", "150s"}, {"approve", "asked-late"}});
}

/// Allowed within limits, if a human agrees.
void add_allowed_if_approved(Document& scenario) {
    add_fault(scenario, {{"at", "159s"},
                         {"do", "kernel.decision"},
                         {"decision", "allow_if_approved"},
                         {"job", "agreed-*"},
                         {"for", "30s"}});
    for (const char* id : {"agreed-1", "agreed-2"}) add_job_of_acme(scenario, "160s", id, "300");
    add_load(scenario, {{"at", "170s"}, {"approve", "agreed-1"}});
}

/// A gate is approved while nobody can be told that it is open.
void add_unheard_gate(Dice& dice, Document& scenario) {
    constexpr const char* kGate = "job.cordum.approval-gate";
    pools_of(scenario["cluster"])["topics"][kGate] = Document::array({"default"});
    add_load(scenario, {{"at", "60s"}, {"job", {{"job_id", "gate"}, {"topic", kGate}, {"tenant_id", "t"}}}});
    add_fault(scenario, {{"at", "65s"},
                         {"do", "nats.publish_errors"},
                         {"subject", "sys.job.result"},
                         {"job", "gate"},
                         {"outcome", "not_applied"},
                         {"rate", 1.0},
                         {"for", dice.word({"8s", "20s"})}});
    add_load(scenario, {{"at", dice.seconds(66, 69)}, {"approve", "gate"}});
}

}  // namespace

void tenant_lines(Dice& dice, Document& scenario) {
    const int waiting = dice.on_every_scale(8);
    const bool hangs = dice.chance(0.4);
    const int limit = draw_a_line(dice, scenario, waiting, hangs);
    // Often while policy is asked, whatever that comes to.
    for (int i = dice.between(1, 6); i > 0; --i) {
        const std::string id = fmt::format("brief-{}", i);
        const int at = dice.between(12'000, 50'000);
        add_job_of_acme(scenario, fmt::format("{}ms", at), id, "300");
        if (dice.chance(0.7))
            scenario["load"].back()["job"]["labels"]["needs"] = dice.word({"nothing", "nothing", "a human"});
        add_load(scenario, {{"at", fmt::format("{}ms", at + dice.between(1, 1000))}, {"cancel", id}});
    }
    // Submitted once more, in other words, while it waits: the first ones count.
    if (dice.chance(0.4)) {
        Document again = {
            {"job_id", waiter(dice.between(1, waiting))}, {"tenant_id", "acme"}, {"topic", "job.default"}};
        again["env"]["SIM_SERVICE_MS"] = "1000";
        add_load(scenario, {{"at", dice.seconds(8, 14)}, {"forge", {{"job_request", std::move(again)}}}});
    }
    // Nothing moves unless policy is asked once more.
    if (hangs && dice.chance(0.5)) return;
    for (int i = 1; i <= limit; ++i)
        if (dice.chance(0.7)) end_it(dice, scenario, holder(i), 12, 40);
    if (dice.chance(0.3)) end_it(dice, scenario, waiter(dice.between(1, waiting)), 12, 30);
    switch (dice.between(0, 4)) {
        case 0:
            // Called, and told that policy is away; then the line has to be stood in once more.
            return add_fault(scenario, {{"at", dice.seconds(10, 30)},
                                        {"do", "kernel.errors"},
                                        {"status", "UNAVAILABLE"},
                                        {"for", dice.word({"2s", "5s", "20s"})}});
        case 1:
            return add_fault(scenario, {{"at", dice.seconds(10, 30)},
                                        {"do", "kernel.decision"},
                                        {"decision", "allow"},
                                        {"for", dice.word({"5s", "20s", "60s"})}});
        default: return;
    }
}

void silent_ends(Dice& dice, Document& scenario) {
    const int limit = draw_a_line(dice, scenario, dice.between(2, 6), dice.chance(0.5));
    config(scenario)["reconciler_interval"] = dice.word({"30s", "1m"});
    add_fault(scenario, {{"at", "12s"}, {"do", "nats.drop_core"}, {"subject", "sys.job.cancel"}, {"for", "30s"}});
    for (int i = 1; i <= limit; ++i)
        if (dice.chance(0.9)) add_load(scenario, {{"at", dice.seconds(13, 20)}, {"cancel", holder(i)}});
    for (int i = dice.between(1, 3); i > 0; --i)
        add_job_of_acme(scenario, dice.seconds(22, 40), fmt::format("late-{}", i), "300");
    add_unheard_gate(dice, scenario);
}

void narrower_limits(Dice& dice, Document& scenario) {
    const int holders = draw_a_line(dice, scenario, dice.between(0, 3), true);
    config(scenario)["reconciler_interval"] = dice.word({"30s", "1m"});
    config(scenario)["retry_delay_no_workers"] = dice.word({"1s", "2s"});
    config(scenario)["retry_delay_publish"] = "1s";
    Document& rules = scenario["cluster"]["kernel"]["policy"]["rules"];
    rules.back() = limited("line", {{"tenants", {"acme"}}}, holders + 1);
    rules.insert(rules.begin(), limited("alone", {{"labels", {{"needs", "room"}}}}, dice.between(1, holders)));
    // Has a slot before the others have theirs, and cannot be sent out until they do.
    add_job_of_acme(scenario, "1s", "narrow", "300");
    scenario["load"].back()["job"]["labels"]["needs"] = "room";
    add_fault(scenario, {{"at", "500ms"},
                         {"do", "nats.publish_errors"},
                         {"subject", "worker.*.jobs"},
                         {"job", "narrow"},
                         {"outcome", "not_applied"},
                         {"rate", 1.0},
                         {"for", dice.word({"4s", "8s"})}});
    add_fault(scenario, {{"at", "14s"}, {"do", "nats.drop_core"}, {"subject", "sys.job.cancel"}, {"for", "20s"}});
    for (int i = 1; i <= holders; ++i)
        if (dice.chance(0.9)) add_load(scenario, {{"at", dice.seconds(16, 30)}, {"cancel", holder(i)}});
    // Nobody else asks where there is only one.
    if (replicas(scenario) > 1) add_line_of_two_limits(dice, scenario);
    add_question_after_an_answer(scenario);
    add_allowed_if_approved(scenario);
}

void lost_calls(Dice& dice, Document& scenario) {
    const int limit = draw_a_line(dice, scenario, dice.between(1, 5), false);
    // They wait for their tenant's slots, or for room at a worker.
    if (dice.chance(0.5)) {
        scenario["cluster"]["kernel"]["policy"]["rules"].erase(scenario["cluster"]["kernel"]["policy"]["rules"].size() -
                                                               1);
        scenario["cluster"]["workers"][0].update({{"count", 1}, {"max_parallel_jobs", limit}});
    }
    for (int i = 1; i <= limit; ++i)
        if (dice.chance(0.4)) end_it(dice, scenario, holder(i), 12, 40);
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(
            scenario,
            {{"on", dice.chance(0.6)
                        ? Document{{"event", "reached"}, {"name", "woken_for_a_slot"}, {"nth", dice.between(1, 3)}}
                        : Document{{"event", "state"}, {"to", "SUCCEEDED"}, {"nth", dice.between(1, 4)}}},
             {"do", dice.word({"crash", "crash", "pause"})},
             {"target", dice.word({"actor", "schedulers"})},
             {"for", dice.word({"1s", "4s", "15s"})}});
}

}  // namespace lockstep::sim
