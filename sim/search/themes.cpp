#include "sim/search/themes.h"

#include <array>
#include <utility>

#include "sim/search/distrust_themes.h"
#include "sim/search/disturbances.h"

namespace lockstep::sim {

namespace {

void add_fault(Document& scenario, Document fault) { scenario["faults"].push_back(std::move(fault)); }
void add_load(Document& scenario, Document line) { scenario["load"].push_back(std::move(line)); }
Document& config(Document& scenario) { return scenario["cluster"]["config"]; }

int replicas(const Document& scenario) { return scenario["cluster"]["schedulers"].get<int>(); }
void at_least_two_replicas(Dice& dice, Document& scenario) {
    if (replicas(scenario) < 2) scenario["cluster"]["schedulers"] = dice.between(2, 4);
}
std::string a_replica(Dice& dice, const Document& scenario) {
    return fmt::format("scheduler-{}", dice.between(0, replicas(scenario) - 1));
}

/// Everybody whom a handler asks takes long, so that handlers outlive what they hold unless they keep it alive.
void slow_servers(Dice& dice, Document& scenario) {
    scenario["cluster"]["kernel"]["latency"] = dice.word({"200ms", "1s", "4s", "7s"});
    config(scenario)["safety_timeout"] = "10s";
    config(scenario)["job_lock_ttl"] = dice.word({"4s", "6s", "10s"});
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(1, 20)},
                             {"do", "slow_link"},
                             {"a", "schedulers"},
                             {"b", dice.word({"redis", "nats"})},
                             {"latency", dice.word({"20ms", "100ms", "500ms"})},
                             {"for", dice.word({"10s", "60s", "3m"})}});
}

/// Records of jobs live hardly longer than the jobs: a message may come again when nothing else remembers its job. One job
/// at a time: what a crash leaves half done could not be told from what was never begun.
void short_records(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["config"] = {{"job_meta_ttl", dice.word({"90s", "2m"})},
                         {"bus_ack_wait", dice.word({"2m", "150s", "4m"})},
                         {"dispatch_timeout", "20s"},
                         {"running_timeout", "20s"},
                         // A job whose message waits for its redelivery is not to run, end and be forgotten before.
                         {"pending_age", "30m"},
                         {"reconciler_interval", "5s"}};
    cluster["workers"] = Document::array({{{"id", "w"}, {"count", dice.between(1, 3)}, {"service_time", "300ms"}}});
    cluster.erase("output_policy");
    scenario["load"] = {{{"at", "3s"}, {"count", dice.between(1, 4)}, {"rate", "1/s"}},
                        // Keeps the world from ending before the messages come again.
                        {{"at", "6m"}, {"job", {{"job_id", "last"}}}}};
    scenario["faults"] = Document::array();
    for (int i = dice.between(1, 2); i > 0; --i) {
        if (dice.chance(0.3))
            add_fault(scenario, {{"at", dice.seconds(3, 6)},
                                 {"do", "nats.lost_acks"},
                                 {"rate", dice.share({0.1, 0.5})},
                                 {"for", "5s"}});
        else
            add_fault(
                scenario,
                {{"on", {{"event", "ack"}, {"when", dice.word({"before", "applied"})}, {"nth", dice.between(1, 6)}}},
                 {"do", "crash"},
                 {"target", "actor"},
                 {"for", dice.word({"100ms", "5s", "20s"})}});
    }
}

/// Packets that cannot be read, and a store that cannot always be told of them.
void garbled_packets(Dice& dice, Document& scenario) {
    add_fault(scenario,
              {{"at", dice.seconds(1, 20)},
               {"do", "corrupt"},
               {"subject", dice.word({"sys.job.submit", "sys.job.submit", "sys.job.result", "sys.heartbeat"})},
               {"rate", dice.share({0.05, 0.3, 1.0})},
               {"for", dice.seconds(1, 10)}});
    if (dice.chance(0.6))
        add_fault(scenario, {{"at", dice.seconds(5, 40)},
                             {"do", "redis.errors"},
                             {"rate", dice.share({0.5, 1.0})},
                             {"outcome", dice.word({"not_applied", "unknown", "lost"})},
                             {"for", dice.word({"5s", "20s", "40s"})}});
}

/// What the stream holds as packets reaches replicas as something else. Without a gateway that writes to Redis nobody but the
/// message knows of a job.
void garbled_deliveries(Dice& dice, Document& scenario) {
    if (dice.chance(0.7)) scenario["cluster"]["gateway"] = "publish-only";
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(1, 20)},
                             {"do", "nats.garbled_delivery"},
                             {"subject", dice.word({"sys.job.submit", "sys.job.submit", "sys.job.result"})},
                             {"rate", dice.share({0.05, 0.3, 1.0})},
                             {"for", dice.seconds(1, 15)}});
    if (dice.chance(0.3))
        add_load(scenario, {{"at", dice.seconds(1, 30)}, {"garbage", 13}, {"count", dice.on_every_scale(200)}});
    if (dice.chance(0.3))
        add_fault(
            scenario,
            {{"at", dice.seconds(1, 30)}, {"do", "crash"}, {"target", "nats"}, {"for", dice.word({"500ms", "5s"})}});
}

/// Messages that nobody can bury while Redis refuses scripts, until few deliveries are left; and replicas that are killed or
/// stopped with them in hand, no more often than the margin allows for. Alone: other faults would use up deliveries as well.
void spent_deliveries(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    const int limit = dice.one_of(std::array{8, 10, 12});
    cluster["schedulers"] = dice.between(1, 2);
    cluster["config"] = {{"bus_max_deliver", limit}, {"bus_ack_wait", dice.word({"10s", "20s"})}};
    cluster.erase("output_policy");
    scenario["load"] = {{{"at", "7s"}, {"garbage", 13}, {"count", dice.between(1, 6)}},
                        {{"at", "3m"}, {"job", {{"job_id", "last"}}}}};
    scenario["faults"] = Document::array();
    // Handed back every five seconds until it is held.
    const int held_at = 7 + (5 * limit);
    const int back_at = held_at + dice.between(5, 60);
    add_fault(scenario, {{"at", "5s"},
                         {"do", "redis.errors"},
                         {"commands", {"EVALSHA", "EVAL"}},
                         {"outcome", dice.word({"not_applied", "unknown"})},
                         {"for", fmt::format("{}s", back_at - 5)}});
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"at", fmt::format("{}s", dice.between(30, back_at))},
                             {"do", dice.word({"crash", "crash", "stop"})},
                             {"target", "schedulers"},
                             {"for", dice.word({"1s", "5s", "15s"})}});
}

/// Large submissions, all at once, while policy takes long to answer; one hundredth of the real sizes.
void large_jobs(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster["nats"] = {{"max_payload", 10'486}, {"max_pending", 671'089}};
    cluster["workers"] =
        Document::array({{{"id", "w"}, {"count", 4}, {"max_parallel_jobs", 50}, {"service_time", "50ms"}}});
    config(scenario)["bus_bytes_in_flight"] = 160'000;
    config(scenario)["bus_rate_limit"] = 2'560'000;
    add_load(scenario, {{"at", dice.seconds(2, 20)}, {"count", dice.between(200, 300)}, {"payload_bytes", 9000}});
    // A single handler at a time would keep the rest waiting where they are counted, too, but for hours.
    for (const char* narrow : {"max_in_flight", "bus_max_ack_pending"}) config(scenario).erase(narrow);
    config(scenario)["safety_timeout"] = "30s";
    add_fault(scenario, {{"at", dice.seconds(1, 5)},
                         {"do", "kernel.latency"},
                         {"latency", dice.word({"5s", "10s", "20s"})},
                         {"for", dice.word({"40s", "60s"})}});
}

/// Jobs come, and for a while there is nobody to run them.
void starved(Dice& dice, Document& scenario) {
    config(scenario)["worker_ttl"] = dice.word({"5s", "10s"});
    config(scenario)["max_scheduling_retries"] = dice.one_of(std::array{3, 5, 10, 50});
    add_load(scenario, {{"at", dice.seconds(5, 20)}, {"count", dice.on_every_scale(40)}});
    add_fault(scenario, {{"at", "1s"},
                         {"do", dice.word({"crash", "worker.silence", "worker.overload"})},
                         {"target", "workers"},
                         {"for", dice.word({"20s", "60s", "4m"})}});
}

void workflow_step(Document& scenario, std::string at, const char* topic, const std::string& run, bool undoable,
                   const char* tenant = nullptr) {
    Document job = {{"topic", topic}, {"workflow_id", "travel"}};
    if (tenant != nullptr) job["tenant_id"] = tenant;
    if (!run.empty()) job["labels"] = {{"run_id", run}};
    if (undoable) job["compensation"] = {{"topic", "job.undo"}};
    add_load(scenario, {{"at", std::move(at)}, {"job", std::move(job)}});
}

/// Policy is asked about a step of a rollback, and thinks better of it while the one who asked is away.
void add_change_of_mind(Dice& dice, Document& scenario) {
    const Document on = {
        {"event", "kernel_check"}, {"job", "comp-*"}, {"when", "applied"}, {"nth", dice.on_every_scale(4)}};
    add_fault(
        scenario,
        {{"on", on}, {"do", "pause"}, {"target", "actor"}, {"for", dice.word({"5s", "8s", "12s", "20s", "40s"})}});
    add_fault(scenario, {{"on", on},
                         {"do", "kernel.decision"},
                         {"decision", dice.word({"deny", "deny", "throttle"})},
                         {"for", dice.word({"20s", "40s"})}});
}

/// Pools and workers for the steps of a workflow, of which one fails for good. Once, however many themes need them.
void open_travel_agency(Document& cluster) {
    if (cluster.contains("pools")) return;
    cluster["pools"] = Document::parse(R"({
        "topics": { "job.default": ["default"], "job.book": ["booking"], "job.fail": ["failing"], "job.undo": ["undoing"] },
        "pools": { "default": { "requires": [] }, "booking": { "requires": [] }, "failing": { "requires": [] }, "undoing": { "requires": [] } } })");
    cluster["workers"].push_back({{"id", "booker"}, {"pool", "booking"}, {"service_time", "200ms"}});
    cluster["workers"].push_back({{"id", "undoer"}, {"count", 2}, {"pool", "undoing"}, {"service_time", "200ms"}});
    cluster["workers"].push_back(
        {{"id", "failer"}, {"pool", "failing"}, {"service_time", "100ms"}, {"outcomes", {{"FAILED_FATAL", 1}}}});
}

/// Runs of a workflow whose last step fails, so that the others are undone, and replicas disturbed while they undo them.
void rollbacks(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    Document& cluster = scenario["cluster"];
    open_travel_agency(cluster);
    Document& settings = cluster["config"];
    settings["saga_lock_ttl"] = dice.word({"10s", "30s", "2m"});
    settings["saga_rollback_timeout"] = dice.word({"15s", "30s"});
    for (int run = dice.between(1, 2); run > 0; --run) {
        const std::string name = dice.chance(0.8) ? fmt::format("trip-{}", run) : std::string{};
        for (int step = dice.between(2, 6); step > 0; --step)
            workflow_step(scenario, dice.seconds(2, 10), "job.book", name, true);
        workflow_step(scenario, dice.seconds(12, 30), "job.fail", name, false);
    }
    Document faults = Document::array();
    for (int i = dice.between(1, 2); i > 0; --i) {
        switch (dice.between(0, 4)) {
            case 0:
                add_preemption_at(dice, {{"event", "publish"}, {"subject", "sys.job.submit"}, {"job", "comp-*"}}, 8,
                                  faults);
                break;
            case 1: add_preemption_at(dice, {{"event", "kernel_check"}, {"job", "comp-*"}}, 8, faults); break;
            case 2: add_preemption_at(dice, {{"event", "redis"}, {"key", "*saga:*"}}, 16, faults); break;
            case 3:
                add_preemption_at(dice, {{"event", "redis"}, {"key", "*lock*"}, {"node", "scheduler-*"}}, 32, faults);
                break;
            default:
                add_preemption_at(dice, {{"event", "state"}, {"to", dice.word({"SUCCEEDED", "FAILED"})}}, 8, faults);
                break;
        }
    }
    for (Document& fault : faults) add_fault(scenario, std::move(fault));
    if (dice.chance(0.4))
        add_fault(scenario, {{"on", {{"event", "kernel_check"}, {"job", "comp-*"}, {"nth", dice.on_every_scale(6)}}},
                             {"do", "kernel.decision"},
                             {"decision", dice.word({"deny", "throttle"})},
                             {"for", dice.word({"5s", "20s", "40s"})}});
    if (dice.chance(0.5)) add_change_of_mind(dice, scenario);
}

/// Redis refuses everything for a moment, in the middle of a step of a job: long enough to fail it, and over before anybody
/// tries again.
void hiccups(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 4); i > 0; --i)
        add_fault(scenario, {{"on",
                              {{"event", "redis"},
                               {"script", dice.word({"commit", "commit", "release_lock", "take_up", "take_lock"})},
                               {"when", "before"},
                               {"nth", dice.on_every_scale(40)}}},
                             {"do", "redis.errors"},
                             {"outcome", dice.word({"not_applied", "not_applied", "unknown", "lost"})},
                             {"for", dice.word({"5ms", "20ms", "50ms"})}});
}

/// Jobs of a tenant end otherwise than by their results: an operator cancels those that wait and those that run. And whoever
/// ends one, and with that wakes another, does not live to take it up.
void add_other_ends(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string id = fmt::format("acme-{}", i);
        add_load(scenario, {{"at", dice.seconds(3, 20)}, {"job", {{"job_id", id}, {"tenant_id", "acme"}}}});
        if (dice.chance(0.7)) add_load(scenario, {{"at", dice.seconds(5, 60)}, {"cancel", id}});
    }
    if (!dice.chance(0.4)) return;
    const Document on = dice.chance(0.5) ? Document{{"event", "reached"}, {"name", "woken_for_a_slot"}}
                                         : Document{{"event", "state"}, {"to", dice.word({"SUCCEEDED", "FAILED"})}};
    add_preemption_at(dice, on, 16, scenario["faults"]);
}

/// Tenants with a limit that hand in more than that at once.
void tenants(Dice& dice, Document& scenario) {
    at_least_two_replicas(dice, scenario);
    Document& kernel = scenario["cluster"]["kernel"];
    kernel["policy"]["rules"].push_back(
        {{"id", "tenants"},
         {"match", {{"tenants", {"acme", "initech"}}}},
         {"decision", "allow_with_constraints"},
         {"constraints", {{"budgets", {{"max_concurrent_jobs", dice.between(1, 3)}}}}}});
    if (dice.chance(0.5)) kernel["latency"] = dice.word({"20ms", "200ms", "500ms"});
    for (const char* tenant : {"acme", "initech"}) {
        for (int burst = dice.between(0, 2); burst > 0; --burst)
            add_load(scenario,
                     {{"at", dice.seconds(3, 20)}, {"count", dice.between(2, 10)}, {"job", {{"tenant_id", tenant}}}});
    }
    if (dice.chance(0.5)) add_other_ends(dice, scenario);
    if (dice.chance(0.3)) hiccups(dice, scenario);
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(1, 5)},
                             {"do", "slow_link"},
                             {"a", dice.word({"schedulers", "scheduler-0"})},
                             {"b", "redis"},
                             {"latency", dice.word({"20ms", "100ms", "300ms"})},
                             {"for", "30s"}});
}

/// Jobs that a human has to look at, some of which bear labels that only an approval should give them.
void approvals(Dice& dice, Document& scenario) {
    for (int i = dice.between(1, 4); i > 0; --i) {
        const std::string id = fmt::format("gate-{}", i);
        Document labels = {{"needs", "a human"}};
        if (dice.chance(0.3)) labels["approval_granted"] = "true";
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", {{"job_id", id}, {"labels", std::move(labels)}}}});
        for (int approval = dice.between(0, 2); approval > 0; --approval)
            add_load(scenario, {{"at", dice.seconds(3, 120)}, {"approve", id}});
        if (dice.chance(0.2)) add_load(scenario, {{"at", dice.seconds(3, 120)}, {"cancel", id}});
    }
}

/// Documents of tenants that forbid, and of a team, a workflow and a step that would lift that; and now and then one that is no
/// document at all, until somebody puts it right.
void layered_settings(Dice& dice, Document& scenario) {
    const auto safety = [](Document content) { return Document{{"safety", std::move(content)}}; };
    const Document sound = dice.chance(0.5) ? safety({{"denied_topics", {"job.pay", "job.secret"}}})
                                            : safety({{"allowed_topics", {"job.default", "job.b*", "job.fail"}}});
    const Document lifts = dice.chance(0.5)
                               ? safety({{"denied_topics", Document::array()}, {"allowed_topics", {"job.*"}}})
                               : Document{{"safety", nullptr}};
    const std::string chosen = dice.word({"team:ops", "workflow:travel", "step:pay"});
    add_fault(scenario, {{"at", "500ms"}, {"do", "config.update"}, {"layers", {{"org:acme", sound}, {chosen, lifts}}}});
    if (!dice.chance(0.4)) return;
    const std::string broken = dice.chance(0.5) ? std::string("org:acme") : chosen;
    add_fault(scenario,
              {{"at", dice.seconds(1, 30)}, {"do", "config.update"}, {"layers", {{broken, "{ \"data\": [[["}}}});
    add_fault(scenario, {{"at", dice.seconds(31, 60)},
                         {"do", "config.update"},
                         {"layers", {{broken, broken == chosen ? lifts : sound}}}});
}

/// What a submission may say that is not true: whose it is, what policy has decided, which settings hold.
void add_lie(Dice& dice, Document& job) {
    const char* other = job["tenant_id"] == "acme" ? "initech" : "acme";
    switch (dice.between(0, 6)) {
        case 0: job["meta"]["tenant_id"] = other; break;
        case 1: job["env"]["tenant_id"] = other; break;
        case 2:
            job["labels"]["safety_bypassed"] = "true";
            job["labels"]["safety_bypass_reason"] = "trust me";
            break;
        case 3: job["env"]["CORDUM_MAX_RETRIES"] = "99"; break;
        case 4:
            job["env"][dice.word({"CORDUM_POLICY_CONSTRAINTS", "CORDUM_EFFECTIVE_CONFIG", "CORDUM_REDACTION_LEVEL"})] =
                "{ }";
            break;
        case 5: job["env"]["team_id"] = "ops"; break;
        default: job["tenant_id"] = "  acme "; break;
    }
}

/// Submissions that lie, and two tenants that call their runs and workflows the same. Through a gateway that records a job
/// before anybody looks at it: one that is refused at once leaves nothing that could be waited for.
void mutated_submissions(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    cluster.erase("gateway");
    if (dice.chance(0.7)) layered_settings(dice, scenario);
    for (int i = dice.between(2, 8); i > 0; --i) {
        Document job = {{"job_id", fmt::format("liar-{}", i)}, {"tenant_id", dice.word({"acme", "initech"})}};
        if (dice.chance(0.3)) job["workflow_id"] = "travel";
        if (dice.chance(0.3)) job["env"]["step_id"] = "pay";
        const bool asks = dice.chance(0.2);
        if (asks) job["labels"]["needs"] = "a human";
        for (int lies = dice.between(1, 2); lies > 0; --lies) add_lie(dice, job);
        add_load(scenario, {{"at", dice.seconds(2, 40)}, {"job", job}});
        if (asks) add_load(scenario, {{"at", dice.seconds(41, 90)}, {"approve", job["job_id"]}});
    }
    if (dice.chance(0.5)) return;
    open_travel_agency(cluster);
    const std::string run = dice.chance(0.6) ? "trip-1" : "";
    for (const char* tenant : {"acme", "initech"}) {
        for (int step = dice.between(1, 3); step > 0; --step)
            workflow_step(scenario, dice.seconds(2, 10), "job.book", run, true, tenant);
        if (dice.chance(0.6)) workflow_step(scenario, dice.seconds(12, 40), "job.fail", run, false, tenant);
    }
}

/// A job has just been given to a worker: workers are lost, and the replica is away while that comes to light.
void add_loss_while_away(Dice& dice, Document& scenario) {
    const Document on = {{"event", "state"}, {"to", "DISPATCHED"}, {"nth", dice.on_every_scale(20)}};
    add_fault(scenario, {{"on", on},
                         {"do", dice.word({"crash", "worker.silence"})},
                         {"target", dice.word({"w-0", "workers"})},
                         {"for", dice.word({"20s", "40s", "2m"})}});
    add_fault(scenario,
              {{"on", on}, {"do", "pause"}, {"target", "actor"}, {"for", dice.word({"8s", "15s", "25s", "40s"})}});
}

/// Workers that come, go, fall silent and only pretend to work.
void flapping_workers(Dice& dice, Document& scenario) {
    config(scenario)["worker_ttl"] = dice.word({"5s", "10s", "15s"});
    for (int i = dice.between(3, 8); i > 0; --i)
        add_fault(scenario,
                  {{"at", dice.seconds(2, 120)},
                   {"do", dice.word({"crash", "pause", "worker.silence", "worker.zombie", "worker.overload"})},
                   {"target", dice.word({"w-0", "w-0", "workers"})},
                   {"for", dice.word({"3s", "12s", "40s"})}});
    Document faults = Document::array();
    add_preemption_at(dice, {{"event", "redis"}, {"script", "commit"}}, 40, faults);
    for (Document& fault : faults) add_fault(scenario, std::move(fault));
    if (dice.chance(0.5)) add_loss_while_away(dice, scenario);
}

/// Replicas that are stopped, killed and started again, one after the other or all at once.
void comings_and_goings(Dice& dice, Document& scenario) {
    for (int i = dice.between(2, 6); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(3, 120)},
                             {"do", dice.word({"stop", "crash"})},
                             {"target", dice.chance(0.3) ? std::string("schedulers") : a_replica(dice, scenario)},
                             {"for", dice.word({"500ms", "3s", "20s"})}});
    add_load(scenario, {{"at", dice.seconds(5, 60)}, {"count", dice.on_every_scale(20)}, {"rate", "1/s"}});
}

/// Messages come twice, late and in another order, and acknowledgements do not arrive. Another service may read results.
void redelivery(Dice& dice, Document& scenario) {
    config(scenario)["bus_ack_wait"] = dice.word({"5s", "10s", "20s"});
    for (int i = dice.between(1, 3); i > 0; --i) {
        const std::string kind = dice.word({"nats.duplicate", "nats.lost_acks", "nats.late_acks", "nats.reorder"});
        Document fault = {{"at", dice.seconds(1, 20)}, {"do", kind}, {"rate", dice.share({0.1, 0.5, 1.0})}};
        if (kind == "nats.late_acks" || kind == "nats.reorder") fault["latency"] = dice.word({"50ms", "2s", "15s"});
        fault["for"] = dice.word({"10s", "40s", "2m"});
        add_fault(scenario, std::move(fault));
    }
    if (dice.chance(0.5)) scenario["cluster"]["result_readers"] = dice.between(1, 2);
}

/// Reports of workers that nobody hears for long: they come just before the limit, contradict each other, and whoever has one
/// in hand dies, freezes or is cut off, at times alone and with a long ack wait.
void unheard_reports(Dice& dice, Document& scenario) {
    // Not where another theme may have named one of more.
    if (dice.chance(0.5) && scenario["faults"].empty()) scenario["cluster"]["schedulers"] = dice.between(1, 2);
    Document& settings = config(scenario);
    settings["bus_ack_wait"] = dice.word({"30s", "2m", "10m"});
    settings["running_timeout"] = dice.word({"20s", "30s", "1m"});
    settings["dispatch_timeout"] = dice.word({"20s", "1m"});
    settings["reconciler_interval"] = dice.word({"5s", "10s"});
    if (dice.chance(0.4)) settings["bus_max_ack_pending"] = dice.one_of(std::array{1, 4, 16});
    Document& workers = scenario["cluster"]["workers"][0];
    workers["service_time"] = dice.word({"50ms", "500ms", "3s", "15s"});
    workers["outcomes"] = {{"SUCCEEDED", 0.4}, {"contradict", 0.4}, {"early", 0.1}, {"hang", 0.1}};
    add_load(scenario, {{"at", dice.seconds(3, 20)}, {"count", dice.on_every_scale(16)}, {"rate", "2/s"}});
    for (int i = dice.between(1, 3); i > 0; --i) {
        const Document on = dice.chance(0.6)
                                ? Document{{"event", "deliver"}, {"subject", "sys.job.result"}}
                                : Document{{"event", "redis"}, {"script", dice.word({"take_lock", "overdue_page"})}};
        Document faults = Document::array();
        add_preemption_at(dice, on, 16, faults);
        for (Document& fault : faults) add_fault(scenario, std::move(fault));
    }
    // Locks that are held for longer than a result waits for one.
    if (dice.chance(0.5))
        add_fault(scenario, {{"at", dice.seconds(1, 10)},
                             {"do", "nats.publish_errors"},
                             {"subject", "worker.*.jobs"},
                             {"outcome", "unknown"},
                             {"rate", dice.share({0.3, 1.0})},
                             {"for", dice.word({"5s", "20s"})}});
}

/// An operator who changes settings while jobs run, not always for the better, and puts them right in the end.
void settings_change(Dice& dice, Document& scenario) {
    config(scenario)["config_reload_interval"] = dice.word({"5s", "30s"});
    const auto pools = [](const char* status) {
        return Document{{"topics", {{"job.default", {"default"}}}},
                        {"pools", {{"default", {{"requires", Document::array()}, {"status", status}}}}}};
    };
    for (int i = dice.between(1, 3); i > 0; --i) {
        Document fault = {{"at", dice.seconds(3, 60)}, {"do", "config.update"}};
        switch (dice.between(0, 3)) {
            case 0: fault["pools"] = pools(dice.chance(0.5) ? "draining" : "inactive"); break;
            case 1:
                fault["timeouts"] = {{"reconciler",
                                      {{"dispatch_timeout", dice.word({"20s", "1m", "5m"})},
                                       {"running_timeout", dice.word({"30s", "2m", "10m"})}}}};
                break;
            case 2: fault["scheduler"] = {{"input_fail_mode", dice.word({"open", "closed"})}}; break;
            default: fault["raw"] = "{ \"data\": [[["; break;
        }
        add_fault(scenario, std::move(fault));
    }
    add_fault(scenario, {{"at", "70s"}, {"do", "config.update"}, {"pools", pools("active")}});
}

/// A replica that is cut off from the store in the middle of a job, and has to wait for another server meanwhile.
void stranded(Dice& dice, Document& scenario) {
    config(scenario)["job_lock_ttl"] = dice.word({"5s", "6s", "10s"});
    for (int i = dice.between(1, 2); i > 0; --i) {
        Document on = dice.chance(0.7)
                          ? Document{{"event", "publish"}, {"subject", dice.word({"worker.*", "sys.job.*"})}}
                          : Document{{"event", "kernel_check"}};
        on["when"] = dice.word({"before", "applied"});
        on["nth"] = dice.on_every_scale(12);
        add_fault(scenario, {{"on", on},
                             {"do", "partition"},
                             {"a", "actor"},
                             {"b", "redis"},
                             {"for", dice.word({"20s", "45s", "90s"})}});
        const std::string length = dice.word({"3s", "8s", "15s"});
        if (dice.chance(0.6))
            add_fault(scenario, {{"on", on}, {"do", "crash"}, {"target", "nats"}, {"for", length}});
        else
            add_fault(scenario, {{"on", on}, {"do", "kernel.latency"}, {"latency", "1900ms"}, {"for", length}});
    }
}

/// Answers to publishes get lost, and connections with the messages that they carry, while the servers live on: what a replica
/// learns of its own message then, it learns over another connection.
void lost_answers(Dice& dice, Document& scenario) {
    const std::string length = dice.word({"10s", "40s", "2m"});
    const std::string at = dice.seconds(1, 10);
    for (const char* outcome : {"unknown", "lost"})
        add_fault(scenario, {{"at", at},
                             {"do", "nats.publish_errors"},
                             {"outcome", outcome},
                             {"rate", dice.share({0.1, 0.3, 0.5})},
                             {"subject", "worker.*.jobs"},
                             {"for", length}});
    add_load(scenario,
             {{"at", dice.seconds(3, 20)}, {"count", dice.between(4, 20)}, {"rate", dice.word({"1/s", "5/s"})}});
}

/// Policy withholds outputs of jobs that have succeeded, and from then on the store takes nothing down, and policy answers
/// nobody: what one replica has heard, no other will hear.
void withheld_outputs(Dice& dice, Document& scenario) {
    scenario["cluster"]["output_policy"] = {
        {"enabled", true},
        {"fail_mode", "open"},
        {"rules",
         Document::array({{{"id", "keys"}, {"decision", "quarantine"}, {"match", {{"scanners", {"secret"}}}}}})}};
    config(scenario)["output_content_timeout"] = dice.word({"5s", "10s"});
    add_load(scenario,
             {{"at", dice.seconds(3, 20)},
              {"count", dice.between(1, 6)},
              {"rate", dice.word({"1/s", "5/s"})},
              {"job", {{"topic", "job.default"}, {"env", {{"SIM_OUTPUT", "the key is AKIAIOSFODNN7EXAMPLE"}}}}}});
    const Document on = {
        {"event", "output_check"}, {"to", "QUARANTINE"}, {"when", "applied"}, {"nth", dice.between(1, 4)}};
    add_fault(scenario, {{"on", on},
                         {"do", "redis.errors"},
                         {"outcome", dice.word({"not_applied", "unknown"})},
                         {"for", dice.word({"8s", "15s", "30s"})}});
    add_fault(scenario, {{"on", on},
                         {"do", "output_policy.errors"},
                         {"status", "UNAVAILABLE"},
                         {"rate", 1.0},
                         {"for", dice.word({"90s", "3m"})}});
}

constexpr bool kAlone = true;
constexpr std::array kThemes{
    Theme{"slow-servers", false, slow_servers},
    Theme{"short-records", kAlone, short_records},
    Theme{"garbled-packets", false, garbled_packets},
    Theme{"garbled-deliveries", false, garbled_deliveries},
    Theme{"spent-deliveries", kAlone, spent_deliveries},
    Theme{"large-jobs", kAlone, large_jobs},
    Theme{"starved", false, starved},
    Theme{"rollbacks", false, rollbacks},
    Theme{"hiccups", false, hiccups},
    Theme{"tenants", false, tenants},
    Theme{"approvals", false, approvals},
    Theme{"mutated-submissions", false, mutated_submissions},
    Theme{"flapping-workers", false, flapping_workers},
    Theme{"stranded", false, stranded},
    Theme{"lost-answers", false, lost_answers},
    Theme{"comings-and-goings", false, comings_and_goings},
    Theme{"redelivery", false, redelivery},
    Theme{"settings-change", kAlone, settings_change},
    Theme{"unheard-reports", false, unheard_reports},
    Theme{"withheld-outputs", false, withheld_outputs},
    Theme{"forged-word", false, forged_word},
    Theme{"unseen-inputs", false, unseen_inputs},
};

}  // namespace

std::span<const Theme> themes() { return kThemes; }

}  // namespace lockstep::sim
