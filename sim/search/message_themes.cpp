#include "sim/search/message_themes.h"

#include <array>
#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

/// Nobody can read it, and often it cannot be buried either, for a while.
void add_garbage(Dice& dice, Document& scenario) {
    add_load(scenario, {{"at", dice.seconds(1, 30)}, {"garbage", 13}, {"count", dice.on_every_scale(200)}});
    if (dice.chance(0.6)) add_failing_script(dice, scenario, "bury_undecodable");
}

/// Whoever holds a message that cannot be buried is asked to end, and there is no other delivery.
void add_last_delivery(Dice& dice, Document& scenario) {
    scenario["cluster"]["schedulers"] = 1;
    config(scenario) = {{"bus_max_deliver", 4}, {"bus_ack_wait", "15s"}};
    add_fault(scenario, {{"at", "6s"},
                         {"do", "redis.errors"},
                         {"commands", {"EVALSHA", "EVAL"}},
                         {"outcome", "not_applied"},
                         {"for", "120s"}});
    const int crash_at = dice.between(25, 35);
    for (const auto& [at, kind] : {std::pair{crash_at, "crash"}, std::pair{crash_at + dice.between(35, 45), "stop"}})
        add_fault(scenario, {{"at", fmt::format("{}s", at)}, {"do", kind}, {"target", "scheduler-0"}, {"for", "2s"}});
}

/// Every delivery is something else than what the stream holds, until nobody tries any more.
void add_deliveries_that_differ(Dice& dice, Document& scenario, int limit) {
    scenario["cluster"].erase("gateway");  // the message is given up: then the store has to know of the job
    add_load(scenario, {{"at", "8s"}, {"count", dice.between(1, 4)}, {"rate", "1/s"}});
    add_fault(scenario, {{"at", "7s"},
                         {"do", "nats.garbled_delivery"},
                         {"subject", "sys.job.submit"},
                         {"for", fmt::format("{}s", 5 * (limit + dice.between(1, 4)))}});
    for (int i = dice.between(1, 3); i > 0; --i) add_script_failing_when_called(dice, scenario, "put_dead_letter");
}

/// The store takes no job up for a while, and can be told of those that are given up meanwhile.
void add_spent_jobs(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");  // the store has to know of the jobs
    add_load(scenario, {{"at", dice.seconds(6, 10)}, {"count", dice.between(1, 4)}, {"rate", "1/s"}});
    add_fault(scenario, {{"at", "5s"},
                         {"do", "redis.errors"},
                         {"script", "take_up"},
                         {"outcome", dice.word({"not_applied", "not_applied", "unknown"})},
                         {"for", dice.word({"20s", "40s", "60s"})}});
    // Of which the last are soon there: what comes once more then goes on as if nothing had been.
    if (dice.chance(0.5)) {
        config(scenario)["bus_max_deliver"] = dice.between(4, 6);
        scenario["faults"].back()["for"] = "2m";
    }
}

/// The only scheduler cannot handle the message that it has just been given, and is away from NATS until both sides have given its
/// connection up.
void cut_off_with_a_message(Document& scenario, const Document& on) {
    scenario["cluster"]["schedulers"] = 1;
    add_fault(scenario, {{"on", on}, {"do", "partition"}, {"a", "scheduler-0"}, {"b", "nats"}, {"for", "8m"}});
    add_fault(scenario, {{"on", on}, {"do", "redis.errors"}, {"outcome", "not_applied"}, {"for", "20s"}});
}

/// A durable is taken over by another server just when the one that has a message in hand dies: it does not come again. What the
/// server takes for done is found only once a tick has noted who leads: that is about jobs that come after the first two.
void change_leader(Dice& dice, Document& scenario) {
    const bool of_a_result = dice.chance(0.5);
    const bool forgotten = dice.chance(0.5);
    Document on = {{"event", "redis"}, {"script", "take_up"}, {"when", "before"}};
    if (of_a_result) on = {{"event", "deliver"}, {"subject", "sys.job.result"}};
    const int jobs = dice.between(1, 12);
    on["nth"] = jobs;
    if (forgotten) {
        on["job"] = "late-*";
        // After the two notes that fail, whatever else has held the first ticks up.
        const int at = dice.between(220, 280);
        for (int i = 0; i < jobs + 2; ++i)
            add_load(scenario, {{"at", fmt::format("{}ms", (1000 * at) + (200 * i))},
                                {"job", {{"job_id", fmt::format("late-{}", i)}}}});
    }
    // What a gateway has recorded is found there.
    if (!of_a_result) scenario["cluster"]["gateway"] = "publish-only";
    add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}, {"in_hand", forgotten ? "forgotten" : "stuck"}});
    const Document crash = {{"on", on}, {"do", "crash"}, {"target", "actor"}, {"for", dice.word({"500ms", "5s"})}};
    // Who led before leads again at once, in two of three such draws: those who listen have heard of it, or nobody could.
    const int then = forgotten ? dice.between(1, 3) : 1;
    if (then > 1) add_fault(scenario, {{"on", on}, {"do", "nats.new_leader"}});
    if (then < 3)
        add_fault(scenario, crash);
    else
        cut_off_with_a_message(scenario, on);
    // The note of who leads fails, once each way.
    for (const char* outcome : {"not_applied", "unknown"})
        add_fault(scenario, {{"at", "0s"},
                             {"do", "redis.errors"},
                             {"commands", {"HSET"}},
                             {"key", "lockstep:durable:*"},
                             {"outcome", outcome},
                             {"count", 1}});
}

}  // namespace

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

void garbled_deliveries(Dice& dice, Document& scenario) {
    if (dice.chance(0.7)) scenario["cluster"]["gateway"] = "publish-only";
    for (int i = dice.between(1, 2); i > 0; --i)
        add_fault(scenario, {{"at", dice.seconds(1, 20)},
                             {"do", "nats.garbled_delivery"},
                             {"subject", dice.word({"sys.job.submit", "sys.job.submit", "sys.job.result"})},
                             {"rate", dice.share({0.05, 0.3, 1.0})},
                             {"for", dice.chance(0.2) ? std::string("2m") : dice.seconds(1, 15)}});
    if (dice.chance(0.4)) add_garbage(dice, scenario);
    // The stream cannot be asked what it holds.
    if (dice.chance(0.5)) {
        config(scenario)["publish_timeout"] = "1s";
        for (int i = dice.between(1, 3); i > 0; --i)
            add_fault(scenario, {{"on",
                                  {{"event", "deliver"},
                                   {"subject", dice.word({"sys.job.submit", "sys.job.submit", "sys.job.result"})},
                                   {"nth", dice.on_every_scale(32)}}},
                                 {"do", "pause"},
                                 {"target", "nats"},
                                 {"for", dice.word({"3s", "6s"})}});
    }
    if (dice.chance(0.3))
        add_fault(
            scenario,
            {{"at", dice.seconds(1, 30)}, {"do", "crash"}, {"target", "nats"}, {"for", dice.word({"500ms", "5s"})}});
    // The copies of the stream have come apart, and nobody mends them.
    if (dice.chance(0.4))
        add_fault(scenario, {{"at", dice.seconds(1, 20)},
                             {"do", "nats.garbled_delivery"},
                             {"subject", dice.word({"sys.job.submit", "sys.job.submit", "sys.job.result"})},
                             {"for", "45m"}});
}

void spent_deliveries(Dice& dice, Document& scenario) {
    Document& cluster = scenario["cluster"];
    const int limit = dice.one_of(std::array{8, 10, 12});
    cluster["schedulers"] = dice.between(1, 2);
    cluster["config"] = {{"bus_max_deliver", limit}, {"bus_ack_wait", dice.word({"10s", "20s"})}};
    cluster.erase("output_policy");
    scenario["load"] = {{{"at", "7s"}, {"garbage", 13}, {"count", dice.between(1, 6)}},
                        {{"at", "3m"}, {"job", {{"job_id", "last"}}}}};
    scenario["faults"] = Document::array();
    if (dice.chance(0.4)) return add_spent_jobs(dice, scenario);
    if (dice.chance(0.3)) return add_last_delivery(dice, scenario);
    if (dice.chance(0.6)) return add_deliveries_that_differ(dice, scenario, limit);
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
    if (dice.chance(0.6))
        add_fault(
            scenario,
            {{"at", dice.seconds(15, 45)}, {"do", "crash"}, {"target", "nats"}, {"for", dice.word({"500ms", "3s"})}});
}

void redelivery(Dice& dice, Document& scenario) {
    config(scenario)["bus_ack_wait"] = dice.word({"5s", "10s", "20s"});
    for (int i = dice.between(1, 3); i > 0; --i) {
        const std::string kind = dice.word({"nats.duplicate", "nats.lost_acks", "nats.late_acks", "nats.reorder"});
        Document fault = {{"at", dice.seconds(1, 20)}, {"do", kind}, {"rate", dice.share({0.1, 0.5, 1.0})}};
        if (kind == "nats.late_acks" || kind == "nats.reorder") fault["latency"] = dice.word({"50ms", "2s", "15s"});
        fault["for"] = dice.word({"10s", "40s", "2m"});
        add_fault(scenario, std::move(fault));
    }
    if (dice.chance(0.5)) {
        scenario["cluster"]["result_readers"] = dice.between(1, 2);
        config(scenario).erase("bus_guard_key_scope");  // one mark for the whole stream silences the other service
    }
    if (dice.chance(0.4)) add_script_failing_when_called(dice, scenario, "repair_dead_letter", 1);
    if (dice.chance(0.5)) change_leader(dice, scenario);
}

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

void wrong_places(Dice& dice, Document& scenario) {
    for (const char* id : {"long-0", "long-1"})
        add_load(scenario, {{"at", dice.seconds(2, 10)},
                            {"job", {{"job_id", id}, {"env", {{"SIM_SERVICE_MS", dice.word({"3000", "15000"})}}}}}});
    for (int i = dice.between(2, 8); i > 0; --i) {
        const std::string id = dice.word({"long-0", "long-1", "job-0", "job-1"});
        Document packet;
        switch (dice.between(0, 3)) {
            case 0:
            case 1:
                packet["job_result"] = {{"job_id", id},
                                        {"worker_id", dice.word({"w-0", "w-0", "w-1"})},
                                        {"status", dice.word({"JOB_STATUS_SUCCEEDED", "JOB_STATUS_FAILED"})}};
                break;
            case 2: packet["job_cancel"] = {{"job_id", id}}; break;
            default:
                packet["job_request"] = {{"job_id", "misplaced"}, {"topic", "job.default"}, {"tenant_id", "t"}};
                break;
        }
        const std::string subject = packet.contains("job_request")  ? dice.word({"sys.job.result", "sys.job.cancel"})
                                    : packet.contains("job_cancel") ? dice.word({"sys.job.submit", "sys.job.result"})
                                                                    : dice.word({"sys.job.submit", "sys.job.cancel"});
        add_load(scenario, {{"at", dice.seconds(3, 30)},
                            {"forge", std::move(packet)},
                            {"subject", subject},
                            {"count", dice.between(1, 3)},
                            {"rate", "1/s"}});
    }
    if (dice.chance(0.4)) {
        config(scenario)["results_from_any_worker"] = true;
        for (const char* id : {"long-0", "long-1"})
            add_load(scenario, {{"at", dice.seconds(4, 14)},
                                {"forge", {{"job_result", {{"job_id", id}, {"status", "JOB_STATUS_SUCCEEDED"}}}}}});
    }
    // Whoever has it in hand: in that worker's name as well.
    const std::string elsewhere = dice.word({"sys.job.submit", "sys.job.submit", "sys.job.cancel"});
    for (const char* worker : {"w-0", "w-1", "w-2"})
        for (int i = 0; i < 2; ++i)
            add_load(scenario, {{"at", dice.seconds(4, 14)},
                                {"forge",
                                 {{"job_result",
                                   {{"job_id", fmt::format("long-{}", i)},
                                    {"worker_id", worker},
                                    {"status", "JOB_STATUS_SUCCEEDED"}}}}},
                                {"subject", elsewhere}});
    for (int i = dice.between(1, 3); i > 0; --i)
        add_load(scenario, {{"at", dice.seconds(1, 20)},
                            {"forge",
                             {{"heartbeat",
                               {{"worker_id", dice.word({"w.0", "ghost.x", "*", "w >", "a..b", ""})},
                                {"pool", "default"},
                                {"max_parallel_jobs", 100}}}}},
                            {"count", dice.between(1, 30)},
                            {"rate", "1/s"}});
}

}  // namespace lockstep::sim
