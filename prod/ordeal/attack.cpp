#include "prod/ordeal/attack.h"

#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json_text.h"
#include "prod/ordeal/messages.h"

namespace lockstep::prod::ordeal {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kSubmit = "sys.job.submit";
constexpr const char* kResult = "sys.job.result";
constexpr const char* kHeartbeat = "sys.heartbeat";
constexpr const char* kWake = "lockstep.workflow.wake";
/// Nobody serves it: what gets through waits, and takes no honest job's worker.
constexpr const char* kTopic = "job.hostile";

constexpr milliseconds kPause{200};
constexpr milliseconds kAckPatience{1500};
constexpr milliseconds kStorePatience{5000};

constexpr const char* kHugeKey = "ctx:attack-huge";
constexpr std::size_t kHugeBytes = 300'000'000;
constexpr int kHugeAtOnce = 60;
constexpr std::size_t kSlowBytes = 2'000'000;
constexpr int kSlowAtOnce = 4;
constexpr int kResultsAtOnce = 500;
constexpr int kHeartbeatsAtOnce = 300;
constexpr std::size_t kRunInputBytes = 880'000;
constexpr int kRunItems = 1000;

}  // namespace

const std::array<Attack::Kind, 7> Attack::kKinds{{
    {"inputs of others", &Attack::foreign_input},
    {"huge inputs", &Attack::huge_input},
    {"inputs that are slow to judge", &Attack::slow_input},
    {"ids of others' steps", &Attack::stolen_step},
    {"results of no job", &Attack::results_of_nothing},
    {"heartbeats of nobody", &Attack::strange_heartbeats},
    {"runs over many items", &Attack::wide_run},
}};

Attack::Attack(const std::string& nats_url, PrimaryPort redis_port, std::uint64_t seed, std::string victims)
    : rng_(seed, "attack"),
      victims_(std::move(victims)),
      store_(std::move(redis_port), kStorePatience),
      bus_(nats_url) {
    thread_ = std::thread([this] { run(); });
}

Attack::~Attack() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void Attack::finish(Ledger& ledger) {
    stopping_ = true;
    thread_.join();
    ledger.attacks = std::move(struck_);
    ledger.may_not_run = std::move(may_not_run_);
}

void Attack::run() {
    // A run of an honest tenant whose steps nobody has begun.
    store_.write({"SET", "wf:run:ordeal-run",
                  engine::wire::json_text(json{{"id", "ordeal-run"}, {"org_id", kTenant}, {"status", "succeeded"}})});
    store_.write({"SETRANGE", kHugeKey, std::to_string(kHugeBytes), "."});
    for (std::size_t turn = 0; !stopping_; ++turn) {
        const Kind& kind = kKinds.at(turn % kKinds.size());
        (this->*kind.strike)();
        ++struck_[kind.name];
        std::this_thread::sleep_for(kPause);
    }
}

std::string Attack::next_id() { return fmt::format("{}{}", kAttackPrefix, number_++); }

std::string Attack::victim() { return fmt::format("{}{}", victims_, rng_.below(50)); }

bool Attack::submit(const std::string& job, const std::string& pointer) {
    return bus_.publish(kSubmit, hostile_packet(job, kTopic, pointer), "jobreq:" + job, kAckPatience).has_value();
}

void Attack::foreign_input() {
    for (const std::string& pointer : {"redis://ctx:" + victim(), "res:" + victim(), "job:req:" + victim()}) {
        const std::string job = next_id();
        if (submit(job, pointer)) may_not_run_.insert(job);
    }
}

void Attack::huge_input() {
    for (int i = 0; i < kHugeAtOnce && !stopping_; ++i) submit(next_id(), kHugeKey);
}

void Attack::slow_input() {
    for (int i = 0; i < kSlowAtOnce; ++i) {
        const std::string job = next_id();
        store_.write({"SET", "ctx:" + job, std::string(kSlowBytes, 'a'), "EX", "60"});
        submit(job, "redis://ctx:" + job);
    }
}

void Attack::stolen_step() {
    const std::string job = fmt::format("ordeal-run:step-{}@1", number_++);
    if (submit(job, {})) may_not_run_.insert(job);
}

void Attack::results_of_nothing() {
    for (int i = 0; i < kResultsAtOnce && !stopping_; ++i)
        bus_.say(kResult, result_packet(fmt::format("attack-run-{}:a@1", rng_.below(1'000'000)), "nobody", i % 2 == 0));
    bus_.say(kResult, result_packet(victim(), "nobody", true));
}

void Attack::strange_heartbeats() {
    for (int i = 0; i < kHeartbeatsAtOnce; ++i)
        bus_.say(kHeartbeat, heartbeat_packet(fmt::format("hostile-{}", rng_.below(100'000)), "hostile",
                                              static_cast<int>(rng_.below(4)) - 1));
}

void Attack::wide_run() {
    const std::string run = next_id();
    json items = json::array();
    for (int i = 0; i < kRunItems; ++i) items.push_back(i);
    store_.write(
        {"SET", "wf:def:attack",
         engine::wire::json_text(
             json{{"id", "attack"},
                  {"org_id", kHostileTenant},
                  {"steps", {{"each", {{"type", "worker"}, {"topic", kTopic}, {"for_each", "${input.items}"}}}}}})});
    store_.write(
        {"SET", "wf:run:" + run,
         engine::wire::json_text(json{{"id", run},
                                      {"workflow_id", "attack"},
                                      {"org_id", kHostileTenant},
                                      {"status", "pending"},
                                      {"input", {{"items", items}, {"ballast", std::string(kRunInputBytes, 'x')}}}})});
    store_.write({"ZADD", "wf:runs:all", "1", run});
    store_.write({"ZADD", "wf:runs:status:pending", "1", run});
    bus_.say(kWake, run);
}

}  // namespace lockstep::prod::ordeal
