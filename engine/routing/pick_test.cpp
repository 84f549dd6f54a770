#include "engine/routing/pick.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {
namespace {

/// A worker in one line: worker("w1").active(2).cpu(50).
struct WorkerSpec {
    cap::Heartbeat heartbeat;
    explicit WorkerSpec(const std::string& id, const std::string& pool = "default") {
        heartbeat.set_worker_id(id);
        heartbeat.set_pool(pool);
    }
    WorkerSpec& active(int jobs) { return heartbeat.set_active_jobs(jobs), *this; }
    WorkerSpec& slots(int jobs) { return heartbeat.set_max_parallel_jobs(jobs), *this; }
    WorkerSpec& cpu(float load) { return heartbeat.set_cpu_load(load), *this; }
    WorkerSpec& gpu(float load) { return heartbeat.set_gpu_utilization(load), *this; }
    WorkerSpec& label(const std::string& key, const std::string& value) {
        return (*heartbeat.mutable_labels())[key] = value, *this;
    }
};

class PickTest : public ::testing::Test {
protected:
    PickTest() {
        request.set_topic("job.default");
        routes(R"({"topics": {"job.default": "default"}})");
    }
    void routes(const char* pools) { table = routable(*parse_pools(pools)); }
    void hears(const WorkerSpec& worker) { registry.on_heartbeat(worker.heartbeat, now); }
    void label(const std::string& key, const std::string& value) { (*request.mutable_labels())[key] = value; }
    [[nodiscard]] auto pick() const { return pick_worker(request, table, registry, tunables, now); }
    /// The worker, or the reason why there is none.
    [[nodiscard]] std::string picked() const {
        const auto picked = pick();
        return picked ? picked->text() : std::string(to_string(picked.error().reason));
    }

    Tunables tunables;
    MonoTime now{1h};
    Registry registry{30s};
    RoutingTable table;
    cap::JobRequest request;
};

// ROUTE-01
TEST_F(PickTest, TheLeastLoadedOfThePoolIsChosen) {
    hears(WorkerSpec("w1").active(2).cpu(50));
    hears(WorkerSpec("w2").active(1).cpu(10));
    hears(WorkerSpec("w3", "other"));
    EXPECT_EQ(picked(), "w2");
    EXPECT_EQ(wire::worker_subject(WorkerId(picked())), "worker.w2.jobs");
}

// ROUTE-02
TEST_F(PickTest, LoadIsActiveJobsPlusCpuPlusGpu) {
    hears(WorkerSpec("a").active(1).cpu(89));
    hears(WorkerSpec("b").active(1).cpu(10));
    EXPECT_EQ(picked(), "b");
    hears(WorkerSpec("b").active(1).cpu(10).gpu(80));
    EXPECT_EQ(picked(), "a");
    Worker worker;
    worker.active_jobs = 3;
    worker.cpu_load = 50;
    worker.gpu_utilization = 25;
    EXPECT_FLOAT_EQ(load_score(worker, true), 3.75F);
}

TEST_F(PickTest, EqualLoadsGoToTheSmallestIdWhateverTheOrderOfHearing) {
    for (const char* id : {"w3", "w1", "w2"}) hears(WorkerSpec(id));
    EXPECT_EQ(picked(), "w1");
}

// ROUTE-03
TEST_F(PickTest, NoWorkerAndNoPoolAreReasonsWorthAnotherTry) {
    EXPECT_EQ(picked(), "no_workers");
    request.set_topic("job.unmapped");
    EXPECT_EQ(picked(), "no_pool_mapping");
    for (const auto reason :
         {DispatchReason::no_workers, DispatchReason::no_pool_mapping, DispatchReason::pool_overloaded,
          DispatchReason::tenant_limit, DispatchReason::stale_worker})
        EXPECT_TRUE(worth_another_try(reason)) << to_string(reason);
    EXPECT_FALSE(worth_another_try(DispatchReason::dispatch_failed));
}

// What it says is where an operator begins to look.
TEST_F(PickTest, TheDetailNamesWhatIsMissing) {
    EXPECT_EQ(pick().error().detail, "no live worker in the eligible pools");
    label("placement.zone", "eu");
    label("node.disk", "ssd");
    label("team", "blue");
    EXPECT_EQ(pick().error().detail, "no live worker in the eligible pools");
    hears(WorkerSpec("w1").label("placement.zone", "eu"));
    EXPECT_EQ(pick().error().detail,
              "the one live worker of the eligible pools does not carry node.disk=ssd and placement.zone=eu");
    hears(WorkerSpec("w2"));
    EXPECT_EQ(pick().error().detail,
              "none of the 2 live workers of the eligible pools carries node.disk=ssd and placement.zone=eu");
    EXPECT_EQ(picked(), "no_workers");
}

TEST_F(PickTest, TheDetailCountsOnlyWorkersThatCouldHaveTakenTheJob) {
    hears(WorkerSpec("w1").cpu(95));
    EXPECT_EQ(pick().error().detail, "the one live worker is overloaded");
    hears(WorkerSpec("w2").cpu(95));
    EXPECT_EQ(pick().error().detail, "each of the 2 live workers is overloaded");
    hears(WorkerSpec("w3").cpu(95).label("placement.zone", "eu"));
    label("placement.zone", "eu");
    EXPECT_EQ(pick().error().detail, "the one live worker that carries placement.zone=eu is overloaded");
    EXPECT_EQ(picked(), "pool_overloaded");
}

// DISP-07
TEST_F(PickTest, AJobWithoutATopicCanNeverBeDispatched) {
    request.clear_topic();
    EXPECT_EQ(picked(), "dispatch_failed");
}

// ROUTE-04
TEST_F(PickTest, APreferredWorkerWinsWhenItCanTakeTheJob) {
    hears(WorkerSpec("w2").active(2).cpu(50));
    hears(WorkerSpec("w3").active(1).cpu(10));
    hears(WorkerSpec("elsewhere", "other"));
    label("preferred_worker_id", "w2");
    EXPECT_EQ(picked(), "w2");
    label("preferred_worker_id", "elsewhere");
    EXPECT_EQ(picked(), "w3") << "not in an eligible pool";
    label("preferred_worker_id", "unknown");
    EXPECT_EQ(picked(), "w3");
    label("preferred_worker_id", "w2");
    hears(WorkerSpec("w2").cpu(95));
    EXPECT_EQ(picked(), "w3") << "overloaded";
}

TEST_F(PickTest, APreferredPoolMustServeTheTopic) {
    routes(R"({"topics": {"job.default": ["a", "b"]}})");
    hears(WorkerSpec("wa", "a"));
    hears(WorkerSpec("wb", "b").active(3));
    EXPECT_EQ(picked(), "wa");
    label("preferred_pool", "b");
    EXPECT_EQ(picked(), "wb");
    label("preferred_pool", "c");
    EXPECT_EQ(picked(), "no_pool_mapping");
}

// ROUTE-05
TEST_F(PickTest, OrdinaryLabelsDoNotMatter) {
    hears(WorkerSpec("w1"));
    for (const char* key : {"workflow_id", "run_id", "step_id", "node_id", "amount", "from", "to", "status"})
        label(key, "x");
    EXPECT_EQ(picked(), "w1");
}

// ROUTE-06
TEST_F(PickTest, PlacementLabelsMustMatchKeyAndValue) {
    hears(WorkerSpec("w1").label("placement.zone", "a").label("constraint.disk", "ssd").label("node.kind", "x"));
    hears(WorkerSpec("w0").label("placement.zone", "b").label("constraint.disk", "ssd").label("node.kind", "x"));
    for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "placements.x"}) label(key, "x");
    label("placement.zone", "a");
    label("constraint.disk", "ssd");
    label("node.kind", "x");
    EXPECT_EQ(picked(), "w1");
    label("placement.zone", "c");
    EXPECT_EQ(picked(), "no_workers");
    label("placement.zone", "b");
    label("preferred_worker_id", "w1");
    EXPECT_EQ(picked(), "w0") << "preference does not override placement";
}

// ROUTE-07
TEST_F(PickTest, AFullWorkerMakesThePoolOverloaded) {
    hears(WorkerSpec("w1").slots(1));
    EXPECT_EQ(picked(), "w1");
    hears(WorkerSpec("w1").slots(1).active(1));
    EXPECT_EQ(picked(), "pool_overloaded");
}

TEST_F(PickTest, OverloadBeginsAtNineTenthsOfTheSlots) {
    hears(WorkerSpec("w1").slots(10).active(8));
    EXPECT_EQ(picked(), "w1");
    hears(WorkerSpec("w1").slots(10).active(9));
    EXPECT_EQ(picked(), "pool_overloaded");
    hears(WorkerSpec("w1").active(1000));
    EXPECT_EQ(picked(), "w1") << "no slots named, no limit";
}

// ROUTE-08
TEST_F(PickTest, CpuAndGpuOverloadAreJudged) {
    const auto judged = [this](float cpu, float gpu) {
        Worker worker;
        worker.cpu_load = cpu;
        worker.gpu_utilization = gpu;
        return overloaded(worker, tunables);
    };
    EXPECT_TRUE(judged(95, 0));
    EXPECT_TRUE(judged(0, 95));
    EXPECT_TRUE(judged(90, 0));
    EXPECT_FALSE(judged(10, 10));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(judged(nan, 0));
    EXPECT_TRUE(judged(0, nan));
}

// ROUTE-09
TEST_F(PickTest, PoolsMustOfferWhatTheJobRequires) {
    routes(R"({"topics": {"job.default": ["both", "one", "none", "unlisted"]},
               "pools": {"both": {"requires": ["linux", "gpu"]}, "one": {"requires": ["linux"]}, "none": {}}})");
    hears(WorkerSpec("w-both", "both").active(3));
    hears(WorkerSpec("w-one", "one").active(2));
    hears(WorkerSpec("w-none", "none").active(1));
    EXPECT_EQ(picked(), "w-none");
    request.mutable_meta()->add_requires_(" LINUX ");
    EXPECT_EQ(picked(), "w-one");
    request.mutable_meta()->add_requires_("gpu");
    EXPECT_EQ(picked(), "w-both");
    request.mutable_meta()->add_requires_("");
    EXPECT_EQ(picked(), "w-both");
    request.mutable_meta()->add_requires_("quantum");
    EXPECT_EQ(picked(), "no_pool_mapping");
}

// STALE-02
TEST(WorkerSubject, NamesTheWorkerItAddresses) {
    EXPECT_EQ(wire::worker_of("worker.a-7.jobs"), "a-7");
    EXPECT_EQ(wire::worker_of("job.bank.pay"), std::nullopt);
}

// STALE-03
TEST_F(PickTest, ASilentWorkerIsNotOffered) {
    hears(WorkerSpec("w1"));
    label("preferred_worker_id", "w1");
    now += 30s;
    EXPECT_EQ(picked(), "w1");
    now += 1ms;
    EXPECT_EQ(picked(), "no_workers");
}

// H-25
TEST_F(PickTest, JobsSentSinceTheLastHeartbeatCountAsLoad) {
    hears(WorkerSpec("w1").slots(2));
    hears(WorkerSpec("w2").slots(2).active(1));
    std::vector<std::string> chosen;
    for (int i = 0; i < 3; ++i) {
        chosen.push_back(picked());
        registry.note_dispatch(WorkerId(chosen.back()));
    }
    EXPECT_EQ(chosen, (std::vector<std::string>{"w1", "w1", "w2"}));
    EXPECT_EQ(picked(), "pool_overloaded");
    tunables.routing_inflight_correction = false;
    EXPECT_EQ(picked(), "w1");
}

cap::Heartbeat random_heartbeat(int number) {
    cap::Heartbeat heartbeat;
    heartbeat.set_worker_id("w" + std::to_string(number));
    heartbeat.set_pool(*rc::gen::element<std::string>("a", "b", "c"));
    heartbeat.set_active_jobs(*rc::gen::inRange(0, 6));
    heartbeat.set_max_parallel_jobs(*rc::gen::inRange(0, 6));
    heartbeat.set_cpu_load(static_cast<float>(*rc::gen::inRange(0, 110)));
    heartbeat.set_gpu_utilization(static_cast<float>(*rc::gen::inRange(0, 110)));
    (*heartbeat.mutable_labels())["placement.zone"] = *rc::gen::element<std::string>("x", "y");
    return heartbeat;
}

// Whoever is picked could take the job, and nobody who could was less loaded. Judged afresh from the heartbeats.
RC_GTEST_PROP(Pick, NeverAnUnfitWorkerAndNeverAMoreLoadedOne, ()) {
    const Tunables tunables;
    const MonoTime now{1h};
    Registry registry(30s);
    const RoutingTable table = routable(*parse_pools(R"({"topics": {"job.t": ["a", "b"]}})"));
    const auto zone = *rc::gen::element<std::string>("", "x", "y");
    cap::JobRequest request;
    request.set_topic("job.t");
    if (!zone.empty()) (*request.mutable_labels())["placement.zone"] = zone;

    struct Fit {
        std::string id;
        float score;
    };
    std::vector<Fit> fit;
    bool candidates = false;
    const int workers = *rc::gen::inRange(0, 8);
    for (int i = 0; i < workers; ++i) {
        const cap::Heartbeat heartbeat = random_heartbeat(i);
        const bool silent = *rc::gen::arbitrary<bool>();
        registry.on_heartbeat(heartbeat, silent ? now - 31s : now);
        const bool right_place = zone.empty() || heartbeat.labels().at("placement.zone") == zone;
        if (silent || heartbeat.pool() == "c" || !right_place) continue;
        candidates = true;
        const bool slots_left =
            heartbeat.max_parallel_jobs() == 0 ||
            static_cast<float>(heartbeat.active_jobs()) / static_cast<float>(heartbeat.max_parallel_jobs()) < 0.9F;
        if (!slots_left || heartbeat.cpu_load() >= 90 || heartbeat.gpu_utilization() >= 90) continue;
        fit.push_back({heartbeat.worker_id(), static_cast<float>(heartbeat.active_jobs()) +
                                                  heartbeat.cpu_load() / 100.0F +
                                                  heartbeat.gpu_utilization() / 100.0F});
    }

    const auto picked = pick_worker(request, table, registry, tunables, now);
    if (fit.empty()) {
        RC_ASSERT(!picked);
        RC_ASSERT(picked.error().reason == (candidates ? DispatchReason::pool_overloaded : DispatchReason::no_workers));
        return;
    }
    RC_ASSERT(picked);
    const auto chosen = std::ranges::find(fit, picked->text(), &Fit::id);
    RC_ASSERT(chosen != fit.end());
    for (const Fit& other : fit)
        RC_ASSERT(chosen->score < other.score || (chosen->score == other.score && picked->text() <= other.id));
}

TEST(Slots, AreTheFewestJobsWithWhichAWorkerIsOverloaded) {
    Worker worker;
    Tunables tunables;
    EXPECT_FALSE(slots_of(worker, tunables)) << "it sets no limit";
    for (const double utilization : {0.1, 0.5, 0.9, 0.95, 1.0, 1.5}) {
        tunables.overload_utilization = utilization;
        for (worker.max_parallel_jobs = 1; worker.max_parallel_jobs <= 300; ++worker.max_parallel_jobs) {
            const auto slots = static_cast<std::int32_t>(slots_of(worker, tunables).value_or(0));
            worker.active_jobs = slots;
            EXPECT_TRUE(overloaded(worker, tunables)) << worker.max_parallel_jobs << " at " << utilization;
            worker.active_jobs = slots - 1;
            EXPECT_TRUE(slots == 1 || !overloaded(worker, tunables))
                << worker.max_parallel_jobs << " at " << utilization;
        }
    }
}

TEST(Slots, JobsThatAWorkerHasFromElsewhereLeaveFewer) {
    Worker worker;
    worker.max_parallel_jobs = 8;
    worker.active_jobs = 5;
    EXPECT_EQ(countable_slots(worker, Tunables{}), 3) << "the store has counted none";
    worker.most_in_flight_before = 4;
    EXPECT_EQ(countable_slots(worker, Tunables{}), 7);
    worker.most_in_flight = 6;
    EXPECT_EQ(countable_slots(worker, Tunables{}), 8);
    worker.active_jobs = 100;
    EXPECT_EQ(countable_slots(worker, Tunables{}), 0);
}

RC_GTEST_PROP(DemandProperty, ItsQueueNamesItAndNoOther, ()) {
    const auto drawn = [] {
        Demand demand;
        demand.pools = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
        demand.labels = *rc::gen::arbitrary<std::vector<std::pair<std::string, std::string>>>();
        return demand;
    };
    const Demand one = drawn();
    const Demand other = drawn();
    const auto read = Demand::of_queue(one.queue());
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->pools == one.pools && read->labels == one.labels);
    RC_ASSERT((one.queue() == other.queue()) == (one.pools == other.pools && one.labels == other.labels));
    RC_ASSERT(!other.queue().starts_with(one.queue()) || one.queue() == other.queue());
}

TEST(Demand, WhatIsNoNameOfAQueueIsRefused) {
    for (const char* name : {"", ".", "1;", "1;7:default", "2;7:default.", "1;9:default.", "1;7:default4:zone.", "x;."})
        EXPECT_FALSE(Demand::of_queue(name)) << name;
}

}  // namespace
}  // namespace lockstep::engine
