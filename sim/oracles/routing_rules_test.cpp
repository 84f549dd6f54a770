#include "sim/oracles/routing_rules.h"

#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;
using namespace std::chrono_literals;

constexpr const char* kPools =
    R"({"data":{"pools":{"topics":{"job.t":["a","b"]},"pools":{"b":{"requires":["GPU"]}}}}})";

class RoutingRulesTest : public ::testing::Test {
protected:
    RoutingRulesTest() {
        judge.judgement.model().set_liveness_times(
            {tunables.worker_ttl, tunables.hydrated_worker_ttl, tunables.snapshot_lock_ttl});
        settings(kPools);
    }

    void settings(const std::string& text) {
        judge.string_set(oracle, Topology::kOperator, "cfg:system:default", nullptr, text, -1, -1);
        for (const fakes::When when : {fakes::When::applied, fakes::When::answered}) {
            fakes::Event event = testing::event_of(fakes::EventKind::redis, "", when);
            event.command = "GET";
            event.key = "cfg:system:default";
            tell(event);
        }
        now += 1s;
    }
    struct Said {
        int active = 0;
        int places = 4;
        float cpu = 0;
        std::map<std::string, std::string> labels = {};
    };
    void hear(const std::string& worker, const std::string& pool, Said said) {
        cap::BusPacket packet;
        auto& heartbeat = *packet.mutable_heartbeat();
        heartbeat.set_worker_id(worker);
        heartbeat.set_pool(pool);
        heartbeat.set_active_jobs(said.active);
        heartbeat.set_max_parallel_jobs(said.places);
        heartbeat.set_cpu_load(said.cpu);
        for (const auto& [name, value] : said.labels) (*heartbeat.mutable_labels())[name] = value;
        fakes::Event event = testing::event_of(fakes::EventKind::core_deliver, "");
        event.packet = &packet;
        tell(event);
    }
    void submit(const std::string& job, const std::map<std::string, std::string>& labels = {}, const char* needs = "") {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic("job.t");
        for (const auto& [name, value] : labels) (*request.mutable_labels())[name] = value;
        if (*needs != '\0') request.mutable_meta()->add_requires_(needs);
        judge.string_set(oracle, kReplica, "job:req:" + job, nullptr, engine::wire::to_json(request), -1, -1);
    }
    /// Takes the job up, up to policy's answer.
    void take_up(const std::string& job) {
        fakes::Event event = testing::event_of(fakes::EventKind::lock_acquired, job);
        event.key = "cordum:scheduler:job:";
        tell(event);
        tell(testing::event_of(fakes::EventKind::kernel_check, job, fakes::When::answered));
    }
    void choose(const std::string& job, const std::string& worker) {
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::before));
        judge.hash_set(oracle, kReplica, "job:meta:" + job, "ls_worker", nullptr, worker);
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::applied));
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::answered));
    }
    void send(const std::string& job, const std::string& worker) {
        fakes::Event event = testing::event_of(fakes::EventKind::publish, job, fakes::When::before);
        const std::string subject = "worker." + worker + ".jobs";
        event.subject = subject;
        tell(event);
    }
    void give_back(const std::string& job) {
        fakes::Event event = testing::event_of(fakes::EventKind::lock_released, job);
        event.peer = kReplica;
        tell(event);
    }
    void lose_lock(const std::string& job) {
        fakes::Event event = testing::event_of(fakes::EventKind::lock_expired, job);
        event.peer = kReplica;
        tell(event);
    }
    void route(const std::string& job, const std::string& worker) {
        take_up(job);
        choose(job, worker);
        send(job, worker);
        give_back(job);
    }
    void turn_away(const std::string& job, const std::string& cause) {
        take_up(job);
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::before));
        judge.hash_set(oracle, kReplica, "job:meta:" + job, "ls_last_cause", nullptr, cause);
        give_back(job);
    }
    void call(const std::string& job, fakes::When when, fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        fakes::Event event = testing::event_of(fakes::EventKind::redis, job, when);
        event.outcome = outcome;
        tell(event);
    }
    /// The job's end takes effect.
    void end(const std::string& job, const std::string& worker) {
        judge.hash_set(oracle, kReplica, "job:meta:" + job, "worker_id", nullptr, worker);
        call(job, fakes::When::applied);
    }
    void take_back(const std::string& job) {
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::before));
        judge.hash_removed(oracle, kReplica, "job:meta:" + job, "ls_worker", "");
        tell(testing::event_of(fakes::EventKind::redis, job, fakes::When::applied));
    }
    void tell(fakes::Event event) {
        event.node = kReplica;
        ++judge.number;
        judge.tell(oracle, event, now);
    }

    Time now{100s};
    engine::Tunables tunables;
    testing::KeepingJudge judge;
    RoutingRules oracle{judge, tunables};
};

TEST_F(RoutingRulesTest, TheLeastLoadedWorkerIsTheRightOne) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {.active = 0, .cpu = 50});
    submit("j");
    route("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
}

TEST_F(RoutingRulesTest, ABusierWorkerIsWrong) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {.active = 0});
    submit("j");
    route("j", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("w has 0.00 at most")));
}

TEST_F(RoutingRulesTest, EqualLoadsGoToTheSmallestId) {
    hear("v", "a", {});
    hear("w", "a", {});
    submit("j");
    route("j", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and v has 0.00")));
}

TEST_F(RoutingRulesTest, AWorkerThatKeepsASlotForAJobDoesSoInDataThatCameBack) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {.active = 0});
    fakes::redis::Keyspace keys;
    keys.set_string("cfg:system:default", kPools, fakes::redis::kNever);
    keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:j"), "ls_handed", "v");
    judge.restored(oracle, keys);
    submit("j");
    route("j", "v");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RoutingRulesTest, WhoTookAJobUpGoesByTheSlotThatWasKeptForItThen) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {.active = 0});
    submit("j");
    judge.hash_set(oracle, kReplica, "job:meta:j", "ls_handed", nullptr, "v");
    take_up("j");
    judge.hash_removed(oracle, kReplica, "job:meta:j", "ls_handed", "v");
    oracle.command(kReplica, {}, 0);
    choose("j", "v");
    EXPECT_THAT(judge.found, IsEmpty());
    route("j", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("w has 0.00 at most")));
}

TEST_F(RoutingRulesTest, WhatHasBeenSentSinceTheHeartbeatCounts) {
    hear("v", "a", {});
    hear("w", "a", {});
    for (const char* job : {"j", "k", "l"}) submit(job);
    route("j", "v");
    route("k", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    hear("w", "a", {});
    route("l", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("load of 1.00, and w has 0.00")));
}

TEST_F(RoutingRulesTest, WhatHasEndedSinceTheHeartbeatIsOffAgain) {
    hear("v", "a", {.active = 2});
    hear("w", "a", {.active = 1});
    submit("j");
    now += 1s;
    for (const char* job : {"i", "h"}) {
        call(job, fakes::When::before);
        end(job, "v");
        call(job, fakes::When::answered);
    }
    now += 1s;
    route("j", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("v has 0.00 at most")));
}

TEST_F(RoutingRulesTest, WhoHasGivenTheCallUpMayNotCountWhatItRecorded) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {});
    submit("j");
    now += 1s;
    call("i", fakes::When::before);
    call("i", fakes::When::answered, fakes::EventOutcome::unknown);
    end("i", "v");
    call("i", fakes::When::before);
    call("i", fakes::When::answered);
    now += 1s;
    route("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RoutingRulesTest, WhoIsNotAnsweredMayNotCountWhatItRecorded) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {});
    submit("j");
    now += 1s;
    call("i", fakes::When::before);
    end("i", "v");
    call("i", fakes::When::answered, fakes::EventOutcome::unknown);
    call("i", fakes::When::before);
    call("i", fakes::When::answered);
    now += 1s;
    route("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RoutingRulesTest, AHeartbeatWhileItChoosesMayOrMayNotCount) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {});
    submit("j");
    take_up("j");
    hear("w", "a", {.active = 3});
    choose("j", "v");
    EXPECT_THAT(judge.found, IsEmpty());
    submit("k");
    take_up("k");
    hear("w", "a", {.active = 0});
    choose("k", "w");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RoutingRulesTest, JobsThatMayBeOnTheirWayToAWorkerDoNotSpeakAgainstAnother) {
    hear("v", "a", {.active = 1});
    hear("w", "a", {});
    submit("j");
    submit("k");
    take_up("k");
    route("j", "v");
    EXPECT_THAT(judge.found, IsEmpty()) << "for all that is known, k had gone to w already";
}

// It has been evicted, and its holder chooses in good faith; what it chose comes to nothing with its call.
TEST_F(RoutingRulesTest, WhoeverHasLostALockWithoutAWordMayStillChoose) {
    hear("v", "a", {.active = 0});
    hear("w", "a", {.active = 0});
    for (const char* job : {"j", "k", "l"}) submit(job);
    take_up("j");
    lose_lock("j");
    now += 100ms;
    route("k", "w");
    EXPECT_THAT(judge.found, IsEmpty()) << "j may count for v";
    now += 2 * tunables.job_lock_ttl;
    hear("v", "a", {.active = 0});
    hear("w", "a", {.active = 0});
    now += 100ms;
    route("l", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("v has 0.00 at most"))) << "not for ever";
}

TEST_F(RoutingRulesTest, WhoeverHasGivenALockBackChoosesNoMore) {
    hear("v", "a", {.active = 0});
    hear("w", "a", {.active = 0});
    for (const char* job : {"j", "k"}) submit(job);
    take_up("j");
    give_back("j");
    now += 100ms;
    route("k", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("v has 0.00 at most")));
}

TEST_F(RoutingRulesTest, AnOverloadedWorkerGetsNothing) {
    hear("w", "a", {.cpu = 90});
    submit("j");
    route("j", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("overloaded")));
}

TEST_F(RoutingRulesTest, AWorkerOfAnotherPoolGetsNothing) {
    hear("w", "c", {});
    submit("j");
    route("j", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of pool \"c\"")));
}

TEST_F(RoutingRulesTest, WhatAJobRequiresItsPoolOffers) {
    hear("v", "a", {});
    hear("w", "b", {});
    submit("j", {}, " gpu ");
    route("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    submit("k", {}, "gpu");
    route("k", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of pool \"a\"")));
}

TEST_F(RoutingRulesTest, AWorkerCarriesTheLabelsThatConstrainPlacement) {
    hear("v", "a", {.labels = {{"node.zone", "eu"}}});
    hear("w", "a", {.labels = {{"node.zone", "us"}}});
    submit("j", {{"node.zone", "us"}, {"colour", "red"}});
    route("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    submit("k", {{"node.zone", "us"}});
    route("k", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("does not carry the labels")));
}

TEST_F(RoutingRulesTest, APreferredWorkerGoesFirstAndAPreferredPoolAlone) {
    hear("v", "a", {});
    hear("w", "b", {.active = 2});
    submit("j", {{"preferred_worker_id", "w"}});
    route("j", "w");
    submit("k", {{"preferred_pool", "b"}});
    route("k", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    submit("l", {{"preferred_pool", "b"}});
    route("l", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("of pool \"a\"")));
}

TEST_F(RoutingRulesTest, APreferredWorkerThatIsFreeIsNotPassedOver) {
    hear("v", "a", {});
    hear("w", "a", {.active = 2});
    submit("j", {{"preferred_worker_id", "w"}});
    route("j", "v");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("which it prefers, is free")));
}

TEST_F(RoutingRulesTest, APoolThatDrainsGetsNothingOnceThatWasRead) {
    hear("w", "a", {});
    submit("j");
    take_up("j");
    settings(R"({"data":{"pools":{"topics":{"job.t":["a"]},"pools":{"a":{"status":"draining"}}}}})");
    choose("j", "w");
    EXPECT_THAT(judge.found, IsEmpty()) << "it may have been chosen before";
    submit("k");
    route("k", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no active pool")));
}

// It was frozen while the answer waited for it.
TEST_F(RoutingRulesTest, AWorkerIsFullFromWhenItsReplicaHearsSo) {
    hear("w", "a", {.active = 3});
    submit("j");
    take_up("j");
    oracle.list_inserted(kReplica, "lockstep:capacity:slots:w", 0, "j");
    oracle.list_removed(kReplica, "lockstep:capacity:slots:w", 0, "j");
    now += 75s;
    hear("w", "a", {});
    call("j", fakes::When::answered);
    submit("k");
    turn_away("k", "pool_overloaded: the one live worker is overloaded");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RoutingRulesTest, NobodyIsTurnedAwayFromAFreeWorker) {
    hear("v", "a", {.active = 4});
    submit("j");
    turn_away("j", "pool_overloaded: the one live worker is overloaded");
    EXPECT_THAT(judge.found, IsEmpty());
    hear("v", "a", {.active = 3});
    submit("k");
    turn_away("k", "no_workers: no live worker");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("worker v is free")));
}

TEST_F(RoutingRulesTest, WhereOthersWaitIsReadOfTheirQueuesToo) {
    const std::string turns = "lockstep:capacity:turns:1;1:a.";
    hear("v", "a", {.active = 0});
    submit("j");
    oracle.zset_set(kReplica, turns, "acme", nullptr, 1);
    turn_away("j", "pool_overloaded: jobs that came earlier wait");
    EXPECT_THAT(judge.found, IsEmpty());
    judge.key_removed(oracle, kReplica, turns, fakes::redis::Removal::evicted, {}, 0);
    submit("k");
    turn_away("k", "pool_overloaded: jobs that came earlier wait");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("worker v is free")));
}

TEST_F(RoutingRulesTest, OneTryDoesNotComeBackToAWorkerThatWasNotHeardSince) {
    hear("w", "a", {});
    submit("j");
    take_up("j");
    choose("j", "w");
    take_back("j");
    hear("w", "a", {});
    choose("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
    take_back("j");
    choose("j", "w");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("was not heard since")));
}

TEST_F(RoutingRulesTest, OneTryHasSoManyChoices) {
    for (const char* worker : {"u", "v", "w", "x"}) hear(worker, "a", {});
    submit("j");
    take_up("j");
    for (const char* worker : {"u", "v", "w"}) {
        choose("j", worker);
        take_back("j");
    }
    EXPECT_THAT(judge.found, IsEmpty());
    choose("j", "x");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("4th worker")));
}

TEST_F(RoutingRulesTest, WhoKnowsNoSettingsIsNotJudged) {
    fakes::Event down = testing::event_of(fakes::EventKind::node_down, "");
    tell(down);
    hear("v", "a", {});
    hear("w", "a", {.active = 1});
    submit("j");
    route("j", "w");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RoutingRulesTest, OnItsTopicGoesOnlyWhatNobodyKnowsAWorkerFor) {
    const auto send_out = [this](const std::string& job) {
        submit(job);
        take_up(job);
        fakes::Event event = testing::event_of(fakes::EventKind::publish, job, fakes::When::before);
        event.subject = "job.t";
        tell(event);
        give_back(job);
    };
    hear("w", "elsewhere", {});
    now += 1s;
    send_out("j1");
    EXPECT_THAT(judge.found, IsEmpty());
    hear("x", "a", {.active = 4});
    now += 1s;
    send_out("j2");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is only busy")));
}

TEST_F(RoutingRulesTest, ANameThatStandsForMoreIsNoWorkers) {
    hear("w", "a", {});
    now += 1s;
    submit("j");
    take_up("j");
    choose("j", "w.x");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no name for one")));
}

}  // namespace
}  // namespace lockstep::sim
