#include "sim/search/human_themes.h"

#include <string>
#include <utility>

#include "sim/search/disturbances.h"
#include "sim/search/theme_parts.h"

namespace lockstep::sim {

void cancellations(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    scenario["cluster"]["kernel"]["policy"]["rules"].push_back(
        {{"id", "one-by-one"},
         {"match", {{"tenants", {"slotted"}}}},
         {"decision", "allow_with_constraints"},
         {"constraints", {{"budgets", {{"max_concurrent_jobs", dice.between(1, 2)}}}}}});
    if (dice.chance(0.5)) scenario["cluster"]["workers"][0]["listens_to_cancel"] = true;
    const int at = dice.between(6, 15);
    const auto millis = [at](int offset) { return fmt::format("{}ms", (1000 * at) + offset); };
    for (int i = dice.between(5, 14); i > 0; --i) {
        const std::string id = fmt::format("off-{}", i);
        Document job = {
            {"job_id", id}, {"topic", "job.default"}, {"tenant_id", dice.word({"slotted", "slotted", "t"})}};
        job["env"]["SIM_SERVICE_MS"] = dice.word({"200", "3000", "12000", "12000"});
        const int submitted = -dice.between(200, 4000);
        add_load(scenario, {{"at", millis(submitted)}, {"job", std::move(job)}});
        // Before anybody knows of the job: again and again until it is there.
        if (dice.chance(0.3)) add_load(scenario, {{"at", millis(submitted - dice.between(10, 1000))}, {"cancel", id}});
        if (dice.chance(0.7)) add_load(scenario, {{"at", millis(0)}, {"cancel", id}});
        if (dice.chance(0.4)) add_load(scenario, {{"at", millis(dice.between(0, 40))}, {"cancel", id}});
        if (dice.chance(0.3)) add_load(scenario, {{"at", millis(dice.between(500, 6000))}, {"cancel", id}});
    }
    if (dice.chance(0.7))
        add_fault(scenario, {{"at", millis(-500)},
                             {"do", "slow_link"},
                             {"a", a_replica(dice, scenario)},
                             {"b", dice.word({"redis", "nats", "nats"})},
                             {"latency", dice.word({"50ms", "300ms", "800ms"})},
                             {"for", dice.word({"3s", "10s"})}});
    if (dice.chance(0.4)) add_preemption_at(dice, {{"event", "redis"}, {"script", "cancel"}}, 8, scenario["faults"]);
    if (dice.chance(0.3))
        add_preemption_at(dice, {{"event", "deliver"}, {"subject", "sys.job.cancel"}}, 8, scenario["faults"]);
}

void gates_without_policy(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    Document& pools = pools_of(scenario["cluster"]);
    for (const char* topic : {"job.cordum.approval-gate", "sys.approval.gate"})
        pools["topics"][topic] = Document::array({"default"});
    if (dice.chance(0.5)) config(scenario)["policy_check_fail_mode"] = "open";
    const int at = dice.between(5, 20);
    const auto second = [at](int offset) { return fmt::format("{}s", at + offset); };
    for (int i = dice.between(3, 7); i > 0; --i) {
        const std::string id = fmt::format("passage-{}", i);
        Document job = {{"job_id", id},
                        {"topic", dice.word({"job.cordum.approval-gate", "sys.approval.gate", "job.default"})}};
        job["tenant_id"] = "default";
        job["labels"]["needs"] = "a human";
        if (dice.chance(0.2)) job["labels"]["gate_type"] = "workflow_approval";
        if (dice.chance(0.3)) job["labels"]["approval_granted"] = "true";
        const int submitted = dice.between(-3, 8);
        add_load(scenario, {{"at", second(submitted)}, {"job", job}});
        // It waits until it is asked, or comes in the moment of the question.
        if (dice.chance(0.6)) add_load(scenario, {{"at", second(submitted + dice.between(0, 2))}, {"approve", id}});
        if (dice.chance(0.4)) add_load(scenario, {{"at", second(dice.between(10, 60))}, {"approve", id}});
        if (dice.chance(0.4)) {
            job["labels"]["approval_granted"] = "true";
            add_load(scenario, {{"at", second(dice.between(0, 30))},
                                {"forge", {{"job_request", std::move(job)}}},
                                {"count", dice.between(1, 2)},
                                {"rate", "1/s"}});
        }
    }
    // What the scheduler says of a gate that it opens does not come through, or nobody knows.
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", second(-3)},
                             {"do", "nats.publish_errors"},
                             {"subject", "sys.job.result"},
                             {"outcome", dice.word({"not_applied", "unknown", "unknown", "lost"})},
                             {"for", dice.word({"10s", "30s", "60s"})}});
    add_fault(scenario, {{"at", second(dice.between(-2, 1))},
                         {"do", dice.word({"kernel.outage", "kernel.outage", "kernel.errors", "kernel.decision"})},
                         {"for", dice.word({"4s", "10s", "25s"})}});
    if (scenario["faults"].back()["do"] == "kernel.decision") scenario["faults"].back()["decision"] = "deny";
    // What was asked about is lost before the answer, or when that is on its way.
    if (dice.chance(0.4)) {
        const Document on = dice.chance(0.5) ? Document{{"event", "state"}, {"to", "APPROVAL_REQUIRED"}}
                                             : Document{{"event", "approve"}, {"when", "answered"}};
        Document placed = on;
        placed["job"] = "passage-1";
        add_fault(scenario, {{"on", std::move(placed)}, {"do", "redis.evict"}, {"keys", "job:req:passage-1"}});
    }
}

namespace {

/// A job that says of itself that it is approved is delivered again while its human is asked, as something else than was asked about,
/// which is lost; and policy has nothing to say by then, or denies it. Then it comes once more, for those who write letters.
void ask_twice(Dice& dice, Document& scenario) {
    Document job = {{"job_id", "asked-twice"}, {"topic", "job.default"}, {"tenant_id", "default"}};
    job["labels"] = {{"needs", "a human"}, {"approval_granted", "true"}};
    add_load(scenario, {{"at", "3s"}, {"job", job}});
    const int at = dice.between(10, 30);
    Document fault = {
        {"at", fmt::format("{}s", at)}, {"do", dice.word({"kernel.outage", "kernel.decision"})}, {"for", "8s"}};
    const bool denied = fault["do"] == "kernel.decision";
    if (denied) fault["decision"] = "deny";
    add_fault(scenario, std::move(fault));
    add_fault(scenario,
              {{"at", fmt::format("{}ms", (1000 * at) + 500)}, {"do", "redis.evict"}, {"keys", "job:req:asked-twice"}});
    job["labels"]["amount"] = "2";
    add_load(scenario, {{"at", fmt::format("{}s", at + 1)},
                        {"forge", {{"job_request", std::move(job)}}},
                        {"count", denied ? 4 : 1},
                        {"rate", "1/s"}});
    if (denied)
        add_fault(scenario, {{"at", fmt::format("{}ms", (1000 * at) + 1500)},
                             {"do", "redis.errors"},
                             {"script", "repair_dead_letter"},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                             {"for", "2s"}});
}

}  // namespace

void half_approved(Dice& dice, Document& scenario) {
    ask_twice(dice, scenario);
    scenario["cluster"].erase("gateway");
    Document& pools = pools_of(scenario["cluster"]);
    pools["topics"]["job.idle"] = Document::array({"idle"});
    pools["pools"]["idle"] = {{"requires", Document::array()}};
    if (dice.chance(0.7)) config(scenario)["max_scheduling_retries"] = dice.between(1, 4);
    for (int i = dice.between(2, 4); i > 0; --i) {
        const std::string id = fmt::format("half-{}", i);
        const int at = dice.between(10, 40);
        const auto millis = [at](int offset) { return fmt::format("{}ms", (1000 * at) + offset); };
        // What is approved may find nobody to run it.
        Document job = {{"job_id", id}, {"topic", dice.word({"job.default", "job.idle"})}, {"tenant_id", "default"}};
        job["labels"]["needs"] = "a human";
        if (dice.chance(0.4)) job["labels"]["approval_granted"] = "true";  // before anybody has asked
        if (dice.chance(0.3)) job["labels"]["safety_bypassed"] = "true";
        add_load(scenario, {{"at", dice.seconds(2, 8)}, {"job", job}});
        // The approval is recorded, and the job is not moved on; then what was asked about may be lost, and comes again.
        const bool half = dice.chance(0.6);
        if (half) {
            add_fault(scenario, {{"at", millis(-500)},
                                 {"do", "redis.errors"},
                                 {"script", "gateway_set_state"},
                                 {"job", id},
                                 {"outcome", "not_applied"},
                                 {"for", "20s"}});
        }
        if (half && dice.chance(0.6)) {
            const int lost = dice.between(30, 400);
            add_fault(scenario, {{"at", millis(lost)}, {"do", "redis.evict"}, {"keys", "job:req:" + id}});
            // The operator's next try would store it once more.
            add_fault(scenario, {{"at", millis(lost)},
                                 {"do", "redis.errors"},
                                 {"commands", {"SET"}},
                                 {"key", "job:req:" + id},
                                 {"outcome", "not_applied"},
                                 {"for", "15s"}});
        }
        if (half || dice.chance(0.5)) add_load(scenario, {{"at", millis(0)}, {"approve", id}});
        if (dice.chance(0.8)) job["labels"]["approval_granted"] = "true";
        // As the gateway has stored it, so that it is what was approved.
        if (dice.chance(0.8)) job["context_ptr"] = "redis://ctx:" + id;
        add_load(scenario, {{"at", millis(dice.between(500, 4000))},
                            {"forge", {{"job_request", std::move(job)}}},
                            {"count", dice.between(1, 3)},
                            {"rate", "1/s"}});
    }
}

}  // namespace lockstep::sim
