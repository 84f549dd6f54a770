#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"
#include "sim/spec/routing.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kPools =
    R"({"data":{"pools":{"topics":{"job.t":["a","b"]},"pools":{"b":{"requires":["GPU"]}}}}})";

using spec::Labels;
struct HeardWorker {
    const char* name;
    const char* pool = "a";
    int active = 0;
    float cpu = 0;
    Labels labels = {};
};
struct AskedFor {
    Labels labels = {};
    const char* needs = "";
};

struct RoutingRulesTest : RuleTest {
    RoutingRulesTest() : RuleTest(rules::routing_rules) {
        now = Time{100s};
        model().set_liveness_times({tunables.worker_ttl, tunables.hydrated_worker_ttl, tunables.snapshot_lock_ttl});
        read_settings(kPools);
    }

    void read_settings(const std::string& text) {
        set_text("cfg:system:default", text, Topology::kOperator);
        RuleTest::read_settings();
    }
    void hear(const HeardWorker& worker) {
        cap::BusPacket packet;
        auto& heartbeat = *packet.mutable_heartbeat();
        heartbeat.set_worker_id(worker.name);
        heartbeat.set_pool(worker.pool);
        heartbeat.set_active_jobs(worker.active);
        heartbeat.set_max_parallel_jobs(4);
        heartbeat.set_cpu_load(worker.cpu);
        for (const auto& [name, value] : worker.labels) (*heartbeat.mutable_labels())[name] = value;
        deliver(packet, kReplica);
    }
    void submit(const std::string& job, const AskedFor& asked = {}, fakes::NodeId client = kReplica) {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic("job.t");
        for (const auto& [name, value] : asked.labels) (*request.mutable_labels())[name] = value;
        if (*asked.needs != '\0') request.mutable_meta()->add_requires_(asked.needs);
        set_text("job:req:" + job, engine::wire::to_json(request), client);
        befall(EventKind::heartbeat, kOther);  // something comes between it and what follows
    }
    void call(const std::string& job, When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, job, {.outcome = outcome}, when);
    }
    void lock(EventKind change, const std::string& job, std::string_view token = {}) {
        observe(change, job, {.peer = kReplica, .name = token});
    }
    /// The job is handled up to the answer of policy.
    void take_up(const std::string& job, std::string_view token = {}) {
        lock(EventKind::lock_acquired, job, token);
        tell(event_of(EventKind::kernel_check, job, When::answered));
    }
    void choose(const std::string& job, const std::string& worker) {
        call(job, When::before);
        set_field(job, "ls_worker", worker);
        call(job, When::applied);
        call(job, When::answered);
    }
    void publish(const std::string& job, const std::string& subject) {
        observe(EventKind::publish, job, {.subject = subject}, When::before);
    }
    void give_back(const std::string& job) { lock(EventKind::lock_released, job); }
    void route(const std::string& job, const std::string& worker) {
        take_up(job);
        choose(job, worker);
        publish(job, "worker." + worker + ".jobs");
        give_back(job);
    }
    void turn_away(const std::string& job, const std::string& cause) {
        call(job, When::before);
        set_field(job, "ls_last_cause", cause);
        give_back(job);
    }
    /// The end of the job takes effect.
    void end(const std::string& job, const std::string& worker) {
        set_field(job, "worker_id", worker);
        call(job, When::applied);
    }
    void take_back(const std::string& job) {
        call(job, When::before);
        keys.act_for(kReplica);
        keys.hash_remove(*keys.find("job:meta:" + job), "ls_worker");
        call(job, When::applied);
    }
    /// The store refuses the job this worker.
    void refuse(const std::string& job, const std::string& worker) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            auto& slots = at<List>("lockstep:capacity:slots:" + worker);
            keys.list_insert(slots, 0, job);
            keys.list_remove(slots, 0);
        });
    }
    /// What is wrong with the route of a job, by workers that were heard just before.
    std::string routed(const std::vector<HeardWorker>& workers, const AskedFor& asked, const std::string& worker) {
        for (const HeardWorker& one : workers) hear(one);
        const std::string job = "routed" + std::to_string(++routed_);
        submit(job, asked);
        found.clear();
        route(job, worker);
        return found.empty() ? "" : std::exchange(found, {}).front();
    }

private:
    int routed_ = 0;
};

TEST_F(RoutingRulesTest, TheLeastLoadedWorkerGoesFirst) {
    EXPECT_EQ(routed({{"v", "a", 1}, {"w", "a", 0, 50}}, {}, "w"), "");
    EXPECT_GT(times_exercised(), 0u);
    EXPECT_THAT(routed({{"v", "a", 1}, {"w"}}, {}, "v"), HasSubstr("w has 0.00 at most"));
    EXPECT_THAT(routed({{"v"}, {"w"}}, {}, "w"), HasSubstr("and v has 0.00")) << "the smallest id";
}

TEST_F(RoutingRulesTest, OnlyWorkersThatMayHaveTheJobGetIt) {
    cap::BusPacket handshake;
    handshake.mutable_handshake()->set_role(cap::COMPONENT_ROLE_WORKER);
    handshake.mutable_handshake()->set_component_id("u");
    deliver(handshake, kReplica);
    EXPECT_THAT(routed({}, {}, "u"), HasSubstr("has said nothing of its load"));
    EXPECT_THAT(routed({{"u", "a", 0, 90}}, {}, "u"), HasSubstr("overloaded"));
    EXPECT_THAT(routed({{"u", "c"}}, {}, "u"), HasSubstr("of pool \"c\""));
    const std::vector<HeardWorker> of_both{{"v", "a", 0, 0, {{"node.zone", "eu"}}},
                                           {"w", "b", 0, 0, {{"node.zone", "us"}}}};
    EXPECT_EQ(routed(of_both, {.needs = " gpu "}, "w"), "");
    EXPECT_THAT(routed(of_both, {.needs = "gpu"}, "v"), HasSubstr("of pool \"a\""));
    EXPECT_EQ(routed(of_both, {{{"node.zone", "us"}, {"colour", "red"}}}, "w"), "");
    EXPECT_THAT(routed(of_both, {{{"node.zone", "us"}}}, "v"), HasSubstr("does not carry the labels"));
}

TEST_F(RoutingRulesTest, APreferredWorkerGoesFirstAndAPreferredPoolAlone) {
    const std::vector<HeardWorker> workers{{"v"}, {"w", "b", 2}};
    EXPECT_EQ(routed(workers, {{{"preferred_worker_id", "w"}}}, "w"), "");
    EXPECT_EQ(routed(workers, {{{"preferred_pool", "b"}}}, "w"), "");
    EXPECT_THAT(routed(workers, {{{"preferred_pool", "b"}}}, "v"), HasSubstr("of pool \"a\""));
    EXPECT_THAT(routed({{"v"}, {"w", "a", 2}}, {{{"preferred_worker_id", "w"}}}, "v"),
                HasSubstr("which it prefers, is free"));
}

TEST_F(RoutingRulesTest, AWorkerThatKeepsASlotForAJobDoesSoInDataThatCameBack) {
    keys.restore([&] {
        keys.set_string("cfg:system:default", kPools, kNever);
        keys.hash_set(keys.create<Hash>("job:meta:routed1"), "ls_handed", "v");
    });
    EXPECT_EQ(routed({{"u"}, {"v", "a", 4}}, {}, "v"), "");
}

TEST_F(RoutingRulesTest, AJobGoesByTheSlotThatWasKeptForItWhenItWasAcquired) {
    hear({"v", "a", 1});
    hear({"w"});
    submit("j");
    set_field("j", "ls_handed", "v");
    take_up("j");
    by_command(kReplica, {"EVALSHA"}, [&] { keys.hash_remove(*keys.find("job:meta:j"), "ls_handed"); });
    choose("j", "v");
    EXPECT_THAT(found, IsEmpty());
    give_back("j");
    route("j", "v");
    EXPECT_THAT(found, ElementsAre(HasSubstr("w has 0.00 at most")));
}

TEST_F(RoutingRulesTest, NoSlotIsKeptForJobsThatGaveTheirsBackTogetherOrAreForgotten) {
    hear({"v", "a", 1});
    hear({"w"});
    for (const std::string job : {"i", "j", "k"}) {
        submit(job);
        set_field(job, "topic", "job.t");
        set_field(job, "ls_handed", "v");
    }
    by_command(kReplica, {"EVALSHA"}, [&] {
        for (const char* key : {"job:meta:i", "job:meta:j", "job:meta:k"})
            keys.hash_remove(*keys.find(key), "ls_handed");
        keys.hash_set(*keys.find("job:meta:k"), "ls_handed", "v");
    });
    befall(EventKind::heartbeat, kOther);
    route("k", "v");
    EXPECT_THAT(found, IsEmpty()) << "it was given another one";
    route("i", "v");
    EXPECT_THAT(std::exchange(found, {}), ElementsAre(HasSubstr("w has 0.00 at most")));
    set_field("j", "ls_handed", "v");
    evict("job:meta:j");
    route("j", "v");
    EXPECT_THAT(found, ElementsAre(HasSubstr("w has 0.00 at most")));
}

TEST_F(RoutingRulesTest, AJobGoesByTheRequestThatItsHandlerHasRead) {
    hear({"v"});
    hear({"w", "b"});
    const AskedFor other{{{"preferred_pool", "b"}}};
    for (const bool is_handled : {true, false}) {
        submit("j", {}, Topology::kGateway);
        if (is_handled) take_up("j");
        submit("j", other, Topology::kGateway);
        if (!is_handled) take_up("j");
        choose("j", "v");
        give_back("j");
        EXPECT_EQ(found.empty(), is_handled);
    }
}

TEST_F(RoutingRulesTest, WhatHasBeenSentSinceTheHeartbeatCounts) {
    EXPECT_EQ(routed({{"v"}, {"w"}}, {}, "v"), "");
    EXPECT_EQ(routed({}, {}, "w"), "");
    EXPECT_THAT(routed({{"w"}}, {}, "v"), HasSubstr("load of 1.00, and w has 0.00"));
}

// Ended: how a replica learnt that two jobs of v have ended, of which it counts both at most.
TEST_F(RoutingRulesTest, WhatHasEndedSinceTheHeartbeatIsOffAgainWhereTheCallThatRecordedItWasAnswered) {
    const auto route_after = [&](const std::vector<HeardWorker>& workers, const auto& ended) {
        for (const HeardWorker& worker : workers) hear(worker);
        now += 1s;
        for (const char* job : {"i", "h"}) ended(job);
        now += 1s;
        return routed({}, {}, "w");
    };
    const auto answered = [&](const char* job) {
        call(job, When::before);
        end(job, "v");
        call(job, When::answered);
    };
    const auto given_up = [&](const char* job) {
        call(job, When::before);
        call(job, When::answered, EventOutcome::unknown);
        end(job, "v");
        call(job, When::before);
        call(job, When::answered);
    };
    const auto not_answered = [&](const char* job) {
        call(job, When::before);
        end(job, "v");
        call(job, When::answered, EventOutcome::unknown);
        call(job, When::before);
        call(job, When::answered);
    };
    EXPECT_THAT(route_after({{"v", "a", 2}, {"w", "a", 1}}, answered), HasSubstr("v has 0.00 at most"));
    EXPECT_EQ(route_after({{"v", "a", 2}, {"w"}}, given_up), "");
    EXPECT_EQ(route_after({{"v", "a", 2}, {"w"}}, not_answered), "");
}

TEST_F(RoutingRulesTest, AHeartbeatWhileItChoosesMayOrMayNotCount) {
    hear({"v", "a", 1});
    hear({"w"});
    for (const auto& [active, worker] : {std::pair(3, "v"), std::pair(0, "w")}) {
        submit(worker);
        take_up(worker);
        hear({"w", "a", active});
        choose(worker, worker);
    }
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RoutingRulesTest, JobsThatMayBeOnTheirWayToAWorkerAreNoReasonAgainstAnother) {
    submit("k");
    take_up("k");
    EXPECT_EQ(routed({{"v", "a", 1}, {"w"}}, {}, "v"), "") << "for all that is known, k had gone to w already";
}

// It has been evicted, and its holder chooses in good faith; what it chose comes to nothing with its call.
TEST_F(RoutingRulesTest, AHandlerThatLostItsLockUnawaresMayStillChoose) {
    hear({"v"});
    hear({"w"});
    submit("j");
    take_up("j");
    lock(EventKind::lock_expired, "j");
    now += 100ms;
    EXPECT_EQ(routed({}, {}, "w"), "") << "j may count for v";
    now += 2 * tunables.job_lock_ttl;
    hear({"v"});
    hear({"w"});
    now += 100ms;
    EXPECT_THAT(routed({}, {}, "w"), HasSubstr("v has 0.00 at most")) << "not for ever";
}

TEST_F(RoutingRulesTest, AHandlerThatReleasedItsLockChoosesNoMore) {
    hear({"v"});
    hear({"w"});
    submit("j");
    take_up("j");
    give_back("j");
    now += 100ms;
    EXPECT_THAT(routed({}, {}, "w"), HasSubstr("v has 0.00 at most"));
}

TEST_F(RoutingRulesTest, APoolThatDrainsGetsNothingOnceThatWasRead) {
    hear({"w"});
    submit("j");
    take_up("j");
    read_settings(R"({"data":{"pools":{"topics":{"job.t":["a"]},"pools":{"a":{"status":"draining"}}}}})");
    choose("j", "w");
    EXPECT_THAT(found, IsEmpty()) << "it may have been chosen before";
    EXPECT_THAT(routed({}, {}, "w"), HasSubstr("no active pool"));
}

// Its replica was frozen while the answer waited for it.
TEST_F(RoutingRulesTest, AWorkerIsFullFromWhenItsReplicaHearsSo) {
    hear({"w", "a", 3});
    submit("j");
    take_up("j");
    refuse("j", "w");
    now += 75s;
    hear({"w"});
    call("j", When::answered);
    submit("k");
    take_up("k");
    turn_away("k", "pool_overloaded: the one live worker is overloaded");
    EXPECT_THAT(found, IsEmpty());
}

// Redis lost the lock twice, once with the refusal, and the handler's next call acquired it again (draw 74 with loss of data).
TEST_F(RoutingRulesTest, AHandlerThatWasRefusedAWorkerMayWaitThoughItsLockWasLostMeanwhile) {
    for (const char* token : {"mine", "another's"}) {
        hear({"v"});
        submit("j");
        take_up("j", "mine");
        refuse("j", "w");
        lock(EventKind::lock_expired, "j");
        now += 100ms;
        lock(EventKind::lock_acquired, "j", token);
        turn_away("j", "pool_overloaded: each worker that was picked is full");
        EXPECT_EQ(found.size(), token == std::string_view("mine") ? 0u : 1u);
    }
}

TEST_F(RoutingRulesTest, NoJobWaitsForAWorkerThatMayNotHaveIt) {
    hear({"v", "elsewhere"});
    for (const char* cause : {"no_workers: none serves it", "pool_overloaded: each is busy"}) {
        submit("j");
        take_up("j");
        turn_away("j", cause);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("and no worker may have it")));
}

TEST_F(RoutingRulesTest, NoJobIsTurnedAwayFromAFreeWorker) {
    const auto hear_and_turn_away = [&](int active, engine::Duration wait, const std::string& job) {
        hear({"v", "a", active});
        now += wait;
        submit(job);
        take_up(job);
        turn_away(job, "no_workers: no live worker");
    };
    hear_and_turn_away(4, 0s, "busy");
    hear_and_turn_away(3, tunables.worker_ttl, "silent");
    EXPECT_THAT(found, IsEmpty());
    hear_and_turn_away(3, 0s, "free");
    EXPECT_THAT(found, ElementsAre(HasSubstr("worker v is free")));
}

TEST_F(RoutingRulesTest, WhetherOthersWaitIsReadOfTheirQueuesToo) {
    const std::string turns = "lockstep:capacity:turns:1;1:a.", jobs = "lockstep:capacity:jobs:1;1:a.acme";
    const auto try_and_turn_away = [&](const std::string& job, const std::string& queue, auto meanwhile,
                                       const std::string& cause = "pool_overloaded: jobs that came earlier wait") {
        submit(job);
        take_up(job);
        meanwhile();
        if (!queue.empty()) set_field(job, "ls_queue", queue);
        turn_away(job, cause);
        return std::exchange(found, {});
    };
    const auto nothing = [] {};
    hear({"v"});
    for (const std::string& key : {turns, jobs}) keys.zset_set(at<SortedSet>(key), key == turns ? "acme" : "i", 1);
    EXPECT_THAT(try_and_turn_away("j", "1;1:b.", nothing), ElementsAre(HasSubstr("worker v is free")))
        << "they wait in another queue";
    EXPECT_THAT(try_and_turn_away("k", "1;1:a.", nothing), ElementsAre(HasSubstr("worker v is free")))
        << "its own place, and that of its tenant";
    keys.zset_set(at<SortedSet>(jobs), "h", 1);
    EXPECT_THAT(try_and_turn_away("l", "1;1:a.", nothing), IsEmpty());
    EXPECT_THAT(try_and_turn_away("m", "", nothing), IsEmpty()) << "which queue it would have been is not known";
    EXPECT_THAT(try_and_turn_away("n", "1;1:a.", nothing, "no_workers: no live worker"),
                ElementsAre(HasSubstr("worker v is free")));
    EXPECT_THAT(try_and_turn_away("o", "1;1:a.", [&] { keys.restore([&] { evict(jobs); }); }), IsEmpty());
    EXPECT_THAT(try_and_turn_away("p", "1;1:a.", [&] { evict(turns); }), ElementsAre(HasSubstr("worker v is free")))
        << "one place alone is left";
}

TEST_F(RoutingRulesTest, OneTryDoesNotComeBackToAWorkerThatWasNotHeardSince) {
    hear({"w"});
    submit("j");
    take_up("j");
    choose("j", "w");
    take_back("j");
    hear({"w"});
    choose("j", "w");
    EXPECT_THAT(found, IsEmpty());
    take_back("j");
    choose("j", "w");
    EXPECT_THAT(found, ElementsAre(HasSubstr("was not heard since")));
}

TEST_F(RoutingRulesTest, OneTryHasSoManyChoicesAndCountsOnce) {
    for (const char* worker : {"u", "v", "w", "x"}) hear({worker});
    submit("j");
    take_up("j");
    const auto choose_and_count = [&](const char* worker, const char* attempts) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            set_field("j", "ls_worker", worker);
            set_field("j", "attempts", attempts);
        });
    };
    for (const char* worker : {"u", "v", "w"}) {
        choose_and_count(worker, "1");
        take_back("j");
    }
    EXPECT_THAT(found, IsEmpty());
    choose_and_count("x", "2");
    EXPECT_THAT(found, ElementsAre(HasSubstr("4th worker"), HasSubstr("counted once more")));
}

TEST_F(RoutingRulesTest, AReplicaThatHasReadNoSettingsIsNotJudged) {
    befall(EventKind::node_down, kReplica);
    EXPECT_EQ(routed({{"v"}, {"w", "a", 1}}, {}, "w"), "");
}

TEST_F(RoutingRulesTest, OnItsTopicGoesOnlyWhatNoKnownWorkerMayHave) {
    const auto send_out = [&](const std::string& job) {
        now += 1s;
        submit(job);
        take_up(job);
        publish(job, "job.t");
        give_back(job);
    };
    hear({"w", "elsewhere"});
    send_out("j1");
    EXPECT_THAT(found, IsEmpty());
    hear({"x", "a", 4});
    send_out("j2");
    EXPECT_THAT(found, ElementsAre(HasSubstr("is only busy")));
}

TEST_F(RoutingRulesTest, ANameThatStandsForMoreIsNoWorkers) {
    EXPECT_THAT(routed({{"w"}}, {}, "w.x"), HasSubstr("no name for one"));
}

}  // namespace
}  // namespace lockstep::sim
