#include "sim/search/disturbances.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/ports/rare_branches.h"
#include "engine/store/keys.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

struct Place {
    const char* event;
    const char* filter;  // null = none
    const char* value;
    int often;  // about how many there are per job
};

// Steps of a replica between which a disturbance mostly makes a difference.
constexpr std::array kBusyPlaces{
    Place{"redis", nullptr, nullptr, 10},
    Place{"redis", "script", "commit", 3},
    Place{"redis", "script", "take_up", 1},
    Place{"redis", "script", "take_lock", 1},
    Place{"redis", "script", "renew_lock", 1},
    Place{"redis", "script", "release_lock", 1},
    Place{"redis", "script", "tick_lock", 1},
    Place{"redis", "script", "time_out", 1},
    Place{"redis", "script", "replay_page", 1},
    Place{"redis", "script", "put_dead_letter", 1},
    Place{"redis", "script", "saga_next", 1},
    Place{"redis", "script", "claim_scans", 1},
    Place{"redis", "key", "sys:workers:snapshot*", 1},
    Place{"redis", "key", "*lock*", 2},
    Place{"publish", "subject", "worker.*", 1},
    Place{"publish", "subject", "sys.job.*", 1},
    Place{"ack", nullptr, nullptr, 2},
    Place{"nak", nullptr, nullptr, 1},
    Place{"term", nullptr, nullptr, 1},
    Place{"kernel_check", nullptr, nullptr, 1},
    Place{"output_check", nullptr, nullptr, 1},
    Place{"state", "to", "DISPATCHED", 1},
    Place{"state", "to", "RUNNING", 1},
    Place{"state", "to", "SUCCEEDED", 1},
};

/// Every kind of call that a replica makes and every change that it brings about: scripts from the table of all of them, so
/// that none is forgotten.
std::vector<Document> every_place() {
    std::vector<Document> places;
    for (const char* call : {"ack", "nak", "term", "in_progress", "kernel_check", "output_check"})
        places.push_back({{"event", call}});
    for (const char* subject : {"worker.*", "sys.job.submit", "sys.job.dlq", "sys.job.cancel", "job.*"})
        places.push_back({{"event", "publish"}, {"subject", subject}});
    // The publish of a compensation, and the look at one.
    for (const char* call : {"publish", "kernel_check"}) places.push_back({{"event", call}, {"job", "comp-*"}});
    places.push_back({{"event", "core_publish"}, {"node", "scheduler-*"}});
    for (const std::string& script : redis_scripts()) {
        const bool of_a_gateway = script.starts_with("gateway_");
        if (!of_a_gateway) places.push_back({{"event", "redis"}, {"script", script}});
    }
    for (const char* command : {"GET", "SET", "HGET", "HGETALL", "MGET", "TIME", "EXISTS", "SCRIPT"})
        places.push_back({{"event", "redis"}, {"command", command}, {"node", "scheduler-*"}});
    for (const std::string& state : job_states()) places.push_back({{"event", "state"}, {"to", state}});
    for (const std::string_view branch : engine::kRareBranches)
        places.push_back({{"event", "reached"}, {"name", std::string(branch)}});
    return places;
}

constexpr int kPerJobMax = 16;

Document pause(Dice& dice) {
    return {{"do", "pause"}, {"target", "actor"}, {"for", dice.word({"500ms", "5s", "15s", "40s", "75s", "150s"})}};
}

Document crash(Dice& dice) {
    return {{"do", "crash"}, {"target", "actor"}, {"for", dice.word({"100ms", "3s", "20s", "90s"})}};
}

Document cut(Dice& dice) {
    return {{"do", "partition"},
            {"a", "actor"},
            {"b", dice.word({"redis", "redis", "nats", "kernel"})},
            {"direction", dice.word({"both", "both", "a_to_b", "b_to_a"})},
            {"for", dice.word({"3s", "15s", "40s", "90s"})}};
}

/// A server's, in the middle of somebody's call.
Document trouble(Dice& dice) {
    const std::string length = dice.word({"1s", "5s", "20s"});
    switch (dice.between(0, 4)) {
        case 0: return {{"do", "crash"}, {"target", dice.word({"nats", "redis"})}, {"for", length}};
        case 1:
            return {
                {"do", "redis.errors"}, {"outcome", dice.word({"unknown", "not_applied", "lost"})}, {"for", length}};
        case 2:
            return {{"do", "nats.publish_errors"},
                    {"outcome", dice.word({"unknown", "not_applied", "lost"})},
                    {"for", length}};
        case 3:  // longer than a call waits, and not so long that the connection is given up; of one command, or of many
            return {{"do", "redis.latency"},
                    {"latency", dice.word({"100ms", "1s", "2500ms", "2500ms", "6s"})},
                    {"for", dice.chance(0.5) ? "1ms" : length}};
        default:
            return {{"do", "kernel.decision"}, {"decision", dice.word({"deny", "throttle", "allow"})}, {"for", length}};
    }
}

Document disturbance(Dice& dice) {
    const int kind = dice.between(1, 100);
    if (kind <= 45) return pause(dice);
    if (kind <= 75) return crash(dice);
    return kind <= 88 ? cut(dice) : trouble(dice);
}

Document placed(const Document& on, Document fault) {
    Document out = {{"on", on}};
    out.update(fault);
    return out;
}

/// What is stored of jobs is lost in the middle of what somebody does about one.
void add_loss_of_a_record(Dice& dice, Document& faults) {
    Document on = {{"event", "publish"}, {"when", "before"}, {"nth", dice.on_every_scale(kPerJobMax)}};
    switch (dice.between(0, 2)) {
        case 0:  // between the question and the answer
            on = {{"event", "kernel_check"},
                  {"to", "REQUIRE_APPROVAL"},
                  {"when", "applied"},
                  {"nth", dice.between(1, 4)}};
            faults.push_back({{"on", on}, {"do", "redis.evict"}, {"keys", "job:meta:*"}});
            break;
        case 1:  // the only message about a job never came to be
            on["subject"] = "sys.job.submit";
            on["node"] = "gateway";
            faults.push_back({{"on", on}, {"do", "crash"}, {"target", "gateway"}, {"for", "3m"}});
            faults.push_back({{"on", on}, {"do", "redis.evict"}, {"keys", "job:req:*"}});
            break;
        default:  // and whoever has ended the job cannot say so
            on["subject"] = "sys.job.dlq";
            on["node"] = "scheduler-*";
            on["nth"] = dice.between(1, 4);
            faults.push_back({{"on", on}, {"do", "redis.evict"}, {"keys", "dlq:entry:*"}});
            faults.push_back({{"on", on}, {"do", "crash"}, {"target", "actor"}, {"for", "1s"}});
            break;
    }
}

}  // namespace

void add_preemption_at(Dice& dice, Document on, int nth_max, Document& faults) {
    const EventInfo* event = find_event(on["event"].get_ref<const std::string&>());
    if (event != nullptr && event->call) on["when"] = dice.word({"before", "applied", "answered"});
    on["nth"] = dice.on_every_scale(nth_max);
    faults.push_back(placed(on, disturbance(dice)));
    if (dice.chance(0.25)) faults.push_back(placed(on, dice.chance(0.5) ? trouble(dice) : cut(dice)));
}

void add_preemption(Dice& dice, Document& faults) {
    if (dice.chance(0.3)) {
        static const std::vector<Document> kEveryPlace = every_place();
        return add_preemption_at(dice, dice.one_of(kEveryPlace), kPerJobMax, faults);
    }
    const Place& place = dice.one_of(kBusyPlaces);
    Document on = {{"event", place.event}};
    if (place.filter != nullptr) on[place.filter] = place.value;
    add_preemption_at(dice, std::move(on), kPerJobMax * place.often, faults);
}

void add_loss(Dice& dice, Document& faults) {
    if (dice.chance(0.3)) return add_loss_of_a_record(dice, faults);
    const bool twins = dice.chance(0.15);
    const Document on = {{"event", "redis"},
                         {"script", dice.word({"take_up", "commit", "commit"})},
                         {"when", dice.word({"before", "applied"})},
                         {"nth", dice.on_every_scale(2 * kPerJobMax)}};
    const std::string kind =
        twins ? "redis.two_primaries"
              : dice.word({"redis.evict", "redis.evict", "redis.failover", "redis.restart", "redis.corrupt"});
    Document fault = {{"do", kind}};
    if (twins) {
        fault["target"] = "actor";
        fault["for"] = dice.word({"200ms", "1s", "4s"});
    } else if (kind == "redis.evict") {
        // Mostly every lock; else mirrors of a job's state, its other records, or a whole index.
        fault["keys"] = dice.chance(0.6) ? engine::keys::job_lock(engine::JobId("*"))
                                         : dice.word({"job:state:*", "job:result_ptr:*", "job:req:*", "job:meta:*0",
                                                      "job:index:*", "job:deadline", "job:recent", "job:events:*"});
    } else if (kind == "redis.corrupt") {
        // What is half a text afterwards: what was asked for, copies, and who there is to do it.
        fault["keys"] =
            dice.word({"job:req:*", "job:req:*", "job:state:*", "job:result_ptr:*", "sys:workers:snapshot"});
    } else {
        fault["for"] = dice.word({"100ms", "1s", "10s"});
    }
    faults.push_back(placed(on, std::move(fault)));
}

void add_power_cut(Dice& dice, Document& faults) {
    const int nth = dice.on_every_scale(2 * kPerJobMax);
    const Document cut = {{"do", "nats.power_cut"}, {"for", dice.word({"100ms", "1s", "5s"})}};
    const auto answers = [](const char* outcome, double rate, std::string length) {
        return Document{{"do", "nats.publish_errors"},
                        {"outcome", outcome},
                        {"rate", rate},
                        {"subject", "worker.*.jobs"},
                        {"for", std::move(length)}};
    };
    const Document publish = {{"event", "publish"}, {"subject", "worker.*.jobs"}, {"when", "before"}, {"nth", nth}};
    switch (dice.between(0, 3)) {
        case 0: {  // the worker has it, and the sender does not know
            const Document arrival = {{"event", "core_deliver"}, {"subject", "worker.*.jobs"}, {"nth", nth}};
            faults.push_back(placed(publish, answers("unknown", 1, dice.word({"20ms", "1s", "5s"}))));
            faults.push_back(placed(arrival, cut));
            break;
        }
        case 1: {  // between what was learnt of the stream and the publish, and then the server is there all the time
            const Document commit = {{"event", "redis"}, {"script", "commit"}, {"when", "before"}, {"nth", 3 * nth}};
            faults.push_back(placed(commit, cut));
            faults.push_back(
                placed(commit, {{"do", "redis.latency"}, {"latency", dice.word({"1s", "3s"})}, {"for", "500ms"}}));
            faults.push_back(placed(commit, answers("unknown", dice.share({0.3, 1.0}), dice.word({"5s", "20s"}))));
            faults.push_back(placed(commit, answers("lost", dice.share({0.1, 0.3}), "40s")));
            break;
        }
        case 2: {
            Document on = publish;
            on["when"] = dice.word({"before", "applied", "answered"});
            faults.push_back(placed(on, cut));
            break;
        }
        default: {
            Document fault = {{"at", dice.seconds(1, 60)}};
            fault.update(cut);
            faults.push_back(std::move(fault));
            if (dice.chance(0.5)) faults.push_back(placed(publish, answers("unknown", 1, "5s")));
            break;
        }
    }
}

Document mishap(Dice& dice) {
    const std::string kind = dice.word({"worker.silence", "worker.zombie", "worker.overload", "stop", "nats.drop_core",
                                        "output_policy.errors", "output_policy.latency", "output_policy.decision"});
    Document fault = {{"at", dice.seconds(2, 60)}, {"do", kind}};
    if (kind.starts_with("worker.")) fault["target"] = "w-0";
    if (kind == "stop") fault["target"] = "scheduler-0";
    if (kind == "nats.drop_core") fault["rate"] = 0.2;
    if (kind == "output_policy.latency") fault["latency"] = "2s";
    if (kind == "output_policy.decision") fault["decision"] = dice.word({"quarantine", "allow", "unknown"});
    fault["for"] = dice.word({"3s", "20s", "45s", "2m"});
    return fault;
}

}  // namespace lockstep::sim
