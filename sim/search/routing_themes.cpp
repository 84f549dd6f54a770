#include "sim/search/routing_themes.h"

#include <array>
#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

constexpr std::array kPools{"default", "east", "west"};

Document pool(Dice& dice) {
    Document out = {{"requires", Document::array()}};
    if (dice.chance(0.5)) out["requires"].push_back("gpu");
    if (dice.chance(0.3)) out["requires"].push_back("SSD");
    return out;
}

/// The pools as they are, with another status of one of them.
Document with_status(Dice& dice, Document pools, const char* status) {
    Document& one = pools["pools"][dice.one_of(kPools)];
    one["status"] = status;
    if (dice.chance(0.5)) one["description"] = "on its way out";
    if (dice.chance(0.5)) one["drain_started_at"] = "2026-01-01T00:00:00Z";
    if (dice.chance(0.5)) one["drain_timeout_seconds"] = dice.between(0, 60);
    return pools;
}

Document choosy_job(Dice& dice) {
    Document job = {{"topic", "job.default"}};
    Document& labels = job["labels"];
    labels["wants"] = "a place";
    if (dice.chance(0.3)) labels["preferred_worker_id"] = dice.word({"w-0", "east-0", "west-0", "south", "nobody"});
    if (dice.chance(0.3)) labels["preferred_pool"] = dice.word({"default", "east", "west", "elsewhere"});
    if (dice.chance(0.3)) labels["placement.zone"] = dice.word({"a", "b", "b", "c"});
    if (dice.chance(0.25)) labels["constraint.disk"] = "ssd";
    if (dice.chance(0.25)) labels["node.kind"] = "big";
    if (dice.chance(0.3)) job["meta"]["requires"] = Document::array({dice.word({"gpu", " GPU ", "ssd", "quantum"})});
    return job;
}

}  // namespace

void placements(Dice& dice, Document& scenario) {
    static_cast<void>(config(scenario));  // first: what is added to the cluster moves what has been in it
    Document& cluster = scenario["cluster"];
    Document& pools = pools_of(cluster);
    // Beside those that another theme has routed it to, and has placed workers in.
    Document& routes = pools["topics"]["job.default"];
    for (const char* name : {"east", "west"}) routes.push_back(name);
    for (const char* name : kPools) pools["pools"][name] = pool(dice);
    if (dice.chance(0.3)) pools = with_status(dice, pools, dice.word({"draining", "inactive", "active"}).c_str());
    for (const char* name : {"east", "west"}) {
        Document group = {{"id", name}, {"count", dice.between(1, 2)}, {"pool", name}, {"service_time", "500ms"}};
        group["max_parallel_jobs"] = dice.between(1, 4);
        group["labels"] = {{"placement.zone", dice.word({"a", "b"})}};
        if (dice.chance(0.5)) group["labels"]["constraint.disk"] = "ssd";
        if (dice.chance(0.5)) group["labels"]["node.kind"] = "big";
        if (dice.chance(0.4)) group["capabilities"] = Document::array({"gpu"});
        if (dice.chance(0.3)) group["region"] = "eu";
        if (dice.chance(0.3)) group["type"] = "cpu";
        cluster["workers"].push_back(std::move(group));
    }
    // Idle, and of a pool that has nothing to do with the topic.
    if (dice.chance(0.5)) {
        pools["pools"]["south"] = pool(dice);
        cluster["workers"].push_back({{"id", "south"}, {"pool", "south"}, {"max_parallel_jobs", 100}});
    }
    // One that has just started knows the workers from a snapshot.
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(10, 30)}, {"do", "crash"}, {"target", "schedulers"}, {"for", "1s"}});
    config(scenario)["max_scheduling_retries"] = dice.one_of(std::array{2, 3, 5});
    for (int i = dice.between(3, 12); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 30)}, {"job", choosy_job(dice)}});
    if (!dice.chance(0.6)) return;
    config(scenario)["config_reload_interval"] = "5s";
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario,
                  {{"at", dice.seconds(2, 40)},
                   {"do", "config.update"},
                   {"pools", with_status(dice, pools, dice.word({"draining", "inactive", "active"}).c_str())}});
    add_fault(scenario, {{"at", "70s"}, {"do", "config.update"}, {"pools", pools}});
}

void fallbacks(Dice& dice, Document& scenario) {
    config(scenario)["topic_fallback"] = true;
    config(scenario)["worker_ttl"] = dice.word({"5s", "10s"});
    config(scenario)["dispatch_timeout"] = dice.word({"20s", "1m"});
    config(scenario)["overload_limit"] = dice.word({"0s", "10s", "1m"});
    add_load(scenario,
             {{"at", dice.seconds(3, 30)}, {"count", dice.on_every_scale(12)}, {"rate", dice.word({"1/s", "5/s"})}});
    add_fault(scenario, {{"at", dice.seconds(1, 10)},
                         {"do", dice.word({"worker.silence", "crash", "worker.overload"})},
                         {"target", "workers"},
                         {"for", dice.word({"20s", "40s"})}});
    if (dice.chance(0.6))
        add_fault(scenario, {{"at", dice.seconds(3, 20)},
                             {"do", "nats.publish_errors"},
                             {"subject", "job.*"},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"5s", "20s"})}});
}

}  // namespace lockstep::sim
