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
}

void narrower_limits(Dice& dice, Document& scenario) {
    const int holders = draw_a_line(dice, scenario, dice.between(0, 3), true);
    config(scenario)["reconciler_interval"] = dice.word({"30s", "1m"});
    config(scenario)["retry_delay_no_workers"] = dice.word({"1s", "2s"});
    config(scenario)["retry_delay_publish"] = "1s";
    const auto limited = [](const char* id, Document match, int limit) {
        return Document{{"id", id},
                        {"match", std::move(match)},
                        {"decision", "allow_with_constraints"},
                        {"constraints", {{"budgets", {{"max_concurrent_jobs", limit}}}}}};
    };
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
}

void lost_calls(Dice& dice, Document& scenario) {
    const int limit = draw_a_line(dice, scenario, dice.between(1, 3), false);
    for (int i = 1; i <= limit; ++i)
        if (dice.chance(0.4)) end_it(dice, scenario, holder(i), 12, 40);
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"on", {{"event", "reached"}, {"name", "woken_for_a_slot"}, {"nth", dice.between(1, 3)}}},
                             {"do", dice.word({"crash", "crash", "pause"})},
                             {"target", dice.word({"actor", "schedulers"})},
                             {"for", dice.word({"1s", "4s", "15s"})}});
}

}  // namespace lockstep::sim
