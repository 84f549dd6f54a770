#include "sim/search/distrust_themes.h"

#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// A result of nobody's: of a job that waits, runs, or was never heard of, in the name of whoever.
Document forged_result(Dice& dice) {
    return {
        {"job_result",
         {{"job_id", dice.word({"guarded", "guarded", "job-0", "job-1", "long", "long", "long", "asked", "nobody"})},
          {"worker_id", dice.word({"w-0", "w-1", "w-9", "cordum-scheduler", "stranger", ""})},
          {"status", dice.word({"JOB_STATUS_SUCCEEDED", "JOB_STATUS_SUCCEEDED", "JOB_STATUS_FAILED",
                                "JOB_STATUS_FAILED_FATAL", "JOB_STATUS_FAILED_RETRYABLE", "JOB_STATUS_CANCELLED",
                                "JOB_STATUS_TIMEOUT", "JOB_STATUS_DENIED", "JOB_STATUS_RUNNING"})},
          {"result_ptr", "redis://res:forged"}}}};
}

/// A worker that would be everybody's favourite.
Document forged_heartbeat(Dice& dice) {
    Document beat = {
        {"worker_id", dice.word({"ghost", "ghost", "w-0", "w-1"})}, {"pool", "default"}, {"max_parallel_jobs", 8}};
    switch (dice.between(0, 6)) {
        case 4:
        case 5:
            beat["worker_id"] = dice.word({"a.ghost", "ghost.", "a ghost", "*", ">", "gh>st", "ghost\n", "gh*st"});
            break;
        case 6: beat[dice.word({"cpu_load", "gpu_utilization", "memory_load"})] = dice.word({"1000.5", "-0.5"}); break;
        case 0: beat["active_jobs"] = -dice.on_every_scale(1'000'000); break;
        case 1: beat["cpu_load"] = dice.word({"-Infinity", "NaN"}); break;
        case 2: beat["gpu_utilization"] = -100 * dice.between(1, 1000); break;
        default: beat["max_parallel_jobs"] = -1; break;
    }
    return {{"heartbeat", std::move(beat)}};
}

/// The request of a job that waits for a human is lost, and somebody submits it again with the label of an approval; often
/// with another content, about which policy has to be asked.
void add_resubmission_with_a_label(Dice& dice, Document& scenario, const Document& guarded) {
    const int lost_at = dice.between(20, 40);
    add_fault(scenario, {{"at", fmt::format("{}s", lost_at)}, {"do", "redis.evict"}, {"keys", "job:req:guarded"}});
    Document forged = guarded;
    forged["topic"] = "job.default";
    forged["labels"]["approval_granted"] = "true";
    if (dice.chance(0.6)) forged["labels"]["needs"] = "nothing";
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", fmt::format("{}s", lost_at)},
                             {"do", dice.word({"kernel.outage", "kernel.outage", "kernel.errors"})},
                             {"for", dice.word({"25s", "40s"})}});
    add_load(scenario, {{"at", fmt::format("{}s", lost_at + dice.between(1, 20))},
                        {"forge", {{"job_request", std::move(forged)}}},
                        {"count", dice.between(1, 3)},
                        {"rate", "1/s"}});
}

/// What policy cannot be asked about passes, and is counted, where the count can be kept.
void add_open_mode(Dice& dice, Document& scenario) {
    config(scenario)["policy_check_fail_mode"] = "open";
    if (!dice.chance(0.5)) return;
    const int at = dice.between(2, 20);
    add_fault(scenario, {{"at", fmt::format("{}s", at)}, {"do", "kernel.outage"}, {"for", "20s"}});
    add_fault(scenario, {{"at", fmt::format("{}s", at)},
                         {"do", "redis.errors"},
                         {"commands", {"INCR"}},
                         {"outcome", dice.word({"not_applied", "unknown"})},
                         {"for", "20s"}});
}

/// Jobs that name what is not theirs as their input.
void add_foreign_inputs(Dice& dice, Document& scenario) {
    if (dice.chance(0.7)) config(scenario)["pointer_prefixes"] = dice.word({"art:", "blob:,art:", "res:"});
    for (int i = dice.between(1, 4); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 30)},
                            {"job",
                             {{"tenant_id", "mallory"},
                              {"context_ptr", dice.word({"redis://ctx:job-0", "res:job-0", "redis://job:req:job-0",
                                                         "blob:x", "art:x", "lockstep:deployment"})}}}});
}

/// Policy comes to no end about some jobs, and answers about others.
void add_slow_judgements(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"on", {{"event", "kernel_check"}, {"when", "before"}, {"nth", dice.between(1, 12)}}},
                             {"do", "kernel.latency"},
                             {"latency", "10s"},
                             {"for", "10ms"}});
}

}  // namespace

void forged_word(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    const Document guarded = {{"job_id", "guarded"},
                              {"tenant_id", "default"},
                              {"context_ptr", "redis://ctx:guarded"},
                              {"labels", {{"needs", "a human"}}}};
    add_load(scenario, {{"at", dice.seconds(2, 10)}, {"job", guarded}});
    add_load(scenario,
             {{"at", dice.seconds(1, 5)}, {"job", {{"job_id", "long"}, {"env", {{"SIM_SERVICE_MS", "30000"}}}}}});
    // What was approved is no more what the job holds.
    if (dice.chance(0.3))
        add_load(scenario, {{"at", dice.seconds(20, 50)}, {"redis", {"SET", "ctx:guarded", "exchanged"}}});
    if (dice.chance(0.4)) add_load(scenario, {{"at", dice.seconds(60, 120)}, {"approve", "guarded"}});
    for (int i = dice.between(2, 6); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(1, 40)},
                            {"forge", forged_result(dice)},
                            {"count", dice.on_every_scale(20)},
                            {"rate", dice.word({"1/s", "5/s", "200/s"})}});
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(1, 20)},
                            {"forge", forged_heartbeat(dice)},
                            {"count", dice.between(1, 60)},
                            {"rate", dice.word({"1/s", "5/s"})}});
    if (dice.chance(0.5)) add_resubmission_with_a_label(dice, scenario, guarded);
    // A worker may not say that policy denies: its word ends nothing.
    if (dice.chance(0.5))
        add_load(scenario, {{"at", dice.seconds(2, 30)},
                            {"count", dice.between(1, 3)},
                            {"job", {{"topic", "job.default"}, {"env", {{"SIM_OUTCOME", "DENIED"}}}}}});
}

void unseen_inputs(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");
    scenario["cluster"]["kernel"]["policy"]["input_rules"] =
        Document::array({{{"id", "never"}, {"decision", "deny"}, {"match", {{"keywords", {"forbidden"}}}}}});
    if (dice.chance(0.5)) add_open_mode(dice, scenario);
    const Document job = {{"env", {{"SIM_INPUT", dice.word({"forbidden", "allowed"})}}}};
    add_load(scenario,
             {{"at", dice.seconds(2, 20)}, {"count", dice.on_every_scale(10)}, {"rate", "1/s"}, {"job", job}});
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(1, 25)},
                             {"do", "redis.errors"},
                             {"commands", {"GET"}},
                             {"outcome", dice.word({"not_applied", "unknown"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"3s", "20s", "40s"})}});
    if (dice.chance(0.4)) add_fault(scenario, {{"at", dice.seconds(2, 30)}, {"do", "redis.evict"}, {"keys", "ctx:*"}});
    if (dice.chance(0.7)) add_foreign_inputs(dice, scenario);
    if (dice.chance(0.5)) add_slow_judgements(dice, scenario);
}

}  // namespace lockstep::sim
