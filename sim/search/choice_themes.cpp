#include "sim/search/choice_themes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Percent of a processor.
Document load_range(int min, int max) { return {{"min", std::clamp(min, 0, 100)}, {"max", std::clamp(max, 0, 100)}}; }

/// How busy a worker may be before it counts as overloaded.
struct Bounds {
    int cpu, gpu;
};

Document graded_group(Dice& dice, const std::string& id, Bounds bounds) {
    Document group = {{"id", id}, {"count", dice.between(1, 2)}, {"max_parallel_jobs", dice.between(1, 4)}};
    group["service_time"] = {{"dist", "exp"}, {"mean", dice.word({"500ms", "3s"})}};
    group["heartbeat"] = dice.word({"1s", "3s", "5s"});
    group["cpu_load"] = load_range(0, bounds.cpu - 20);
    group["gpu_load"] = load_range(0, bounds.gpu - 20);
    const bool by_gpu = dice.chance(0.6);
    const char* load = by_gpu ? "gpu_load" : "cpu_load";
    const int bound = by_gpu ? bounds.gpu : bounds.cpu;
    if (id == "edge") group[load] = load_range(bound - 10, bound + 10);
    if (id == "hot") group[load] = load_range(bound, 100);
    return group;
}

/// Who starts now knows of the workers what a snapshot says, some of which was so long ago; and jobs come at once.
void add_start_in_the_middle(Dice& dice, Document& scenario, const char* one, const char* another) {
    const int at = dice.between(15, 40);
    const auto second = [](int time) { return fmt::format("{}s", time); };
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", second(at - dice.between(2, 14))},
                             {"do", "crash"},
                             {"target", one},
                             {"for", dice.word({"40s", "2m"})}});
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", second(at - dice.between(0, 3))},
                             {"do", "worker.silence"},
                             {"target", "workers"},
                             {"for", dice.word({"6s", "12s", "20s"})}});
    // It says hello as it starts, and nothing else.
    if (dice.chance(0.5)) {
        add_fault(scenario, {{"at", second(at - dice.between(2, 14))},
                             {"do", "worker.silence"},
                             {"target", another},
                             {"for", dice.word({"40s", "60s"})}});
        add_fault(scenario,
                  {{"at", second(at + dice.between(-1, 4))}, {"do", "crash"}, {"target", another}, {"for", "200ms"}});
    }
    add_fault(scenario, {{"at", second(at)},
                         {"do", dice.word({"crash", "stop"})},
                         {"target", "schedulers"},
                         {"for", dice.word({"200ms", "1s", "3s"})}});
    add_load(scenario, {{"at", second(at + 1)},
                        {"topic", "job.default"},
                        {"count", dice.between(4, 16)},
                        {"rate", dice.word({"2/s", "5/s"})}});
}

}  // namespace

void graded_loads(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    const Bounds bounds{dice.one_of(std::array{50, 75, 90}), dice.one_of(std::array{50, 75, 90})};
    settings["overload_cpu"] = bounds.cpu;
    settings["overload_gpu"] = bounds.gpu;
    settings["overload_utilization"] = dice.share({0.5, 0.75, 1.0});
    settings["worker_ttl"] = dice.word({"10s", "15s", "30s"});
    Document& workers = scenario["cluster"]["workers"];
    workers[0]["count"] = dice.between(2, 4);
    workers[0]["max_parallel_jobs"] = dice.between(1, 4);
    workers[0]["gpu_load"] = load_range(bounds.gpu - 15, bounds.gpu + (dice.chance(0.5) ? 10 : -1));
    if (dice.chance(0.8)) workers.push_back(graded_group(dice, "cool", bounds));
    workers.push_back(graded_group(dice, "edge", bounds));
    if (dice.chance(0.7)) workers.push_back(graded_group(dice, "hot", bounds));
    for (int i = dice.between(2, 4); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(2, 40)},
                            {"topic", "job.default"},
                            {"count", dice.between(4, 12)},
                            {"rate", dice.word({"1/s", "5/s", "20/s"})}});
    if (dice.chance(0.6)) add_start_in_the_middle(dice, scenario, "w-0", "edge-0");
}

void moving_workers(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    Document& pools = pools_of(cluster);
    pools["topics"]["job.far"] = Document::array({"far"});
    pools["topics"]["job.both"] = {"default", "far"};
    pools["pools"]["far"] = {{"requires", dice.chance(0.5) ? Document::array({"gpu"}) : Document::array()}};
    config(scenario)["worker_ttl"] = dice.word({"10s", "15s"});
    config(scenario)["running_timeout"] = dice.word({"20s", "1m"});
    cluster["workers"].push_back({{"id", "mover"},
                                  {"count", 2},
                                  {"max_parallel_jobs", dice.between(1, 4)},
                                  {"service_time", dice.word({"200ms", "1s", "3s"})},
                                  {"heartbeat", dice.word({"1s", "3s"})}});
    if (dice.chance(0.6)) cluster["workers"].push_back({{"id", "stayer"}, {"pool", "far"}, {"max_parallel_jobs", 2}});
    for (int i = dice.between(3, 7); i > 0; --i) {
        Document worker = {{"pool", dice.word({"far", "far", "default"})}};
        if (dice.chance(0.4)) worker["max_parallel_jobs"] = dice.between(0, 4);
        if (dice.chance(0.4)) worker["capabilities"] = dice.chance(0.6) ? Document::array({"gpu"}) : Document::array();
        if (dice.chance(0.4)) worker["labels"] = {{"placement.zone", dice.word({"a", "b"})}};
        add_fault(scenario, {{"at", dice.seconds(5, 60)},
                             {"do", "crash"},
                             {"target", dice.word({"mover-0", "mover-0", "mover-1"})},
                             {"for", dice.word({"100ms", "1s", "4s"})},
                             {"worker", std::move(worker)}});
    }
    for (int i = dice.between(6, 14); i > 0; --i) {
        Document job = {{"topic", dice.word({"job.default", "job.far", "job.far", "job.both"})}};
        if (dice.chance(0.3)) job["labels"]["preferred_worker_id"] = dice.word({"mover-0", "mover-1"});
        if (dice.chance(0.2)) job["labels"]["placement.zone"] = dice.word({"a", "b"});
        if (dice.chance(0.2)) job["meta"]["requires"] = {"gpu"};
        add_load(
            scenario,
            {{"at", dice.seconds(3, 60)}, {"count", dice.between(1, 4)}, {"rate", "2/s"}, {"job", std::move(job)}});
    }
    if (dice.chance(0.4)) add_start_in_the_middle(dice, scenario, "mover-1", "mover-0");
}

void lost_choices(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    // Each of them commits one thing after the other, and slowly.
    cluster["schedulers"] = dice.between(2, 4);
    const int count = dice.between(3, 4);
    cluster["workers"] = Document::array();
    cluster["workers"].push_back({{"id", "w"},
                                  {"count", count},
                                  {"max_parallel_jobs", dice.between(2, 8)},
                                  {"heartbeat", dice.word({"500ms", "500ms", "1s", "3s"})},
                                  {"service_time", dice.word({"50ms", "500ms"})}});
    // One that is chosen when all others are gone, or at work.
    if (dice.chance(0.8))
        cluster["workers"].push_back(
            {{"id", "z"}, {"cpu_load", load_range(30, 40)}, {"service_time", "50ms"}, {"heartbeat", "500ms"}});
    Document& settings = config(scenario);
    settings["worker_ttl"] = dice.word({"5s", "6s"});
    settings["overload_cpu"] = 90;
    settings["max_dispatch_retries"] = dice.one_of(std::array{0, 1, 1, 1, 1, 2, 2, 3});
    settings["store_op_timeout"] = "5s";
    const int at = dice.between(5, 20);
    const std::string length = dice.word({"12s", "20s", "40s"});
    // A choice and its commit, or a choice that is taken back, take as long as one worker outlives the other.
    const int commit = dice.one_of(std::array{300, 500, 500, 1000});
    const int apart = commit * dice.one_of(std::array{1, 2, 2, 2, 4});
    scenario["faults"] = Document::array();
    for (int i = 0; i < count; ++i)
        add_fault(scenario, {{"at", fmt::format("{}ms", (1000 * at) + (i * apart) + dice.between(0, 100))},
                             {"do", dice.word({"worker.silence", "worker.silence", "worker.silence", "crash"})},
                             {"target", fmt::format("w-{}", i)},
                             {"for", length}});
    // Between the choice and the dispatch a heartbeat grows too old.
    add_fault(scenario, {{"at", fmt::format("{}s", at)},
                         {"do", "redis.latency"},
                         {"script", "commit"},
                         {"latency", fmt::format("{}ms", commit)},
                         {"for", "30s"}});
    scenario["load"] = Document::array();
    add_load(scenario, {{"at", fmt::format("{}s", at)},
                        {"topic", "job.default"},
                        {"count", dice.between(15, 40)},
                        {"rate", dice.word({"1/s", "1/s", "2/s", "5/s"})}});
}

void odd_pools(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    Document& pools = pools_of(cluster);
    pools["topics"]["job.default"] = {"default", "shouting", "unwritten"};
    pools["pools"]["default"] = {{"requires", Document::array({dice.word({"gpu", "GPU", " Gpu "}), "SSD"})}};
    pools["pools"]["shouting"] = {{"requires", Document::array({dice.word({"GPU", "ssd", "QUANTUM"})})}};
    pools["pools"]["aside"] = {{"requires", Document::array({"gpu"})}};
    for (const char* pool : {"shouting", "unwritten", "aside"}) {
        if (!dice.chance(0.7)) continue;
        Document group = {
            {"id", fmt::format("in-{}", pool)}, {"pool", pool}, {"max_parallel_jobs", dice.between(1, 4)}};
        if (dice.chance(0.5)) group["capabilities"] = Document::array({dice.word({"gpu", "GPU", "ssd"})});
        cluster["workers"].push_back(std::move(group));
    }
    config(scenario)["max_scheduling_retries"] = dice.between(2, 4);
    for (int i = dice.between(5, 14); i > 0; --i) {
        Document job = {{"topic", "job.default"}};
        if (dice.chance(0.6))
            job["meta"]["requires"] = Document::array({dice.word({"gpu", "GPU", " Gpu", "ssd", "SSD", "quantum"})});
        if (dice.chance(0.4))
            job["labels"]["preferred_worker_id"] = dice.word({"w-0", "in-shouting", "in-unwritten", "in-aside"});
        if (dice.chance(0.3))
            job["labels"]["preferred_pool"] = dice.word({"default", "shouting", "unwritten", "aside"});
        add_load(
            scenario,
            {{"at", dice.seconds(2, 30)}, {"count", dice.between(1, 3)}, {"rate", "2/s"}, {"job", std::move(job)}});
    }
}

void old_news(Dice& dice, Document& scenario) {
    Document& settings = config(scenario);
    settings["worker_ttl"] = dice.word({"20s", "30s", "60s"});
    settings["hydrated_worker_ttl"] = dice.word({"3s", "5s", "30s"});
    settings["snapshot_interval"] = "1s";
    settings["snapshot_lock_ttl"] = "6s";
    settings["snapshot_read_timeout"] = dice.word({"2s", "5s"});
    settings["running_timeout"] = "20s";
    settings["dispatch_timeout"] = "10s";
    Document& workers = scenario["cluster"]["workers"];
    workers[0]["count"] = 2;
    workers[0]["max_parallel_jobs"] = dice.between(2, 8);
    workers[0]["heartbeat"] = dice.word({"1s", "2s"});
    // What ends the life of those that a snapshot tells of: that it is old, or that nobody has been heard since.
    const bool by_age = dice.chance(0.5);
    if (by_age) settings.update({{"worker_ttl", "20s"}, {"hydrated_worker_ttl", "30s"}});
    const int at = dice.between(12, 40);
    const int silent = dice.one_of(std::array{1, 4, 15, 25});
    // Fallen silent some time before, of which the snapshot tells for as long as they count as alive.
    add_fault(scenario, {{"at", fmt::format("{}s", at - std::min(silent, at - 4))},
                         {"do", dice.word({"worker.silence", "worker.silence", "crash"})},
                         {"target", dice.word({"w-0", "workers"})},
                         {"for", dice.word({"40s", "2m"})}});
    // Nobody has written a snapshot for a while when they come back.
    add_fault(scenario, {{"at", fmt::format("{}s", at)},
                         {"do", dice.word({"crash", "stop"})},
                         {"target", "schedulers"},
                         {"for", by_age ? "12s" : dice.word({"200ms", "3s", "12s", "25s"})}});
    if (dice.chance(0.6))
        add_fault(scenario, {{"on", {{"event", "node_up"}, {"node", "scheduler-*"}, {"nth", dice.between(1, 6)}}},
                             {"do", "redis.errors"},
                             {"key", "sys:workers:snapshot"},
                             {"outcome", "not_applied"},
                             {"for", dice.word({"300ms", "900ms"})}});
    add_load(scenario, {{"at", fmt::format("{}s", at - 3)},
                        {"topic", "job.default"},
                        {"count", dice.between(20, 60)},
                        {"rate", dice.word({"1/s", "2/s"})}});
    // Held up between taking the lock of the snapshot and writing it.
    for (int i = dice.between(1, 3); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "lock_acquired"},
                               {"key", "cordum:scheduler:snapshot:writer"},
                               {"nth", dice.on_every_scale(30)}}},
                             {"do", "pause"},
                             {"target", "actor"},
                             {"for", dice.word({"6500ms", "8s", "12s"})}});
}

}  // namespace lockstep::sim
