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
        define({
            {"hear", [this](auto& of) { hear_parts(parts_of(of, ':')); }},
            {"submit", [this](auto& job) { submit(job); }},
            {"take", [this](auto& of) { take_up(first(of), second(of)); }},
            {"lock", [this](auto& of) { lock(EventKind::lock_acquired, first(of), second(of)); }},
            {"expire", [this](auto& job) { lock(EventKind::lock_expired, job); }},
            {"choose", [this](auto& of) { choose(first(of), second(of)); }},
            {"undo", [this](auto& job) { take_back(job); }},
            {"back", [this](auto& job) { give_back(job); }},
            {"route", [this](auto& of) { route(first(of), second(of)); }},
            {"routed", [this](auto& worker) { route_next(worker); }},
            {"topic", [this](auto& job) { publish(job, "job.t"); }},
            {"refuse", [this](auto& of) { refuse(first(of), second(of)); }},
            {"answered", [this](auto& job) { call(job, When::answered); }},
            {"away",
             [this](auto& of) {
                 turn_away(first(of),
                           second(of) == "full" ? "pool_overloaded: each is busy" : "no_workers: no live worker");
             }},
            {"handed", [this](auto& of) { set_field(first(of), "ls_handed", second(of)); }},
            {"unhand",
             [this](auto& job) {
                 by_command(by, {"EVALSHA"}, [&] { keys.hash_remove(*keys.find("job:meta:" + job), "ls_handed"); });
             }},
            {"settings", [this](auto& json) { read_settings(json); }},
        });
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
    /// name, active jobs, pool, load of the processor
    void hear_parts(std::vector<std::string> of) {
        of.resize(4);
        const auto number = [](const std::string& text) { return text.empty() ? 0 : std::stoi(text); };
        hear({of[0].c_str(), of[2].empty() ? "a" : of[2].c_str(), number(of[1]), static_cast<float>(number(of[3]))});
    }
    void route_next(const std::string& worker) {
        const std::string job = "routed" + std::to_string(++routed_);
        submit(job);
        route(job, worker);
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

constexpr Story kRoutes[] = {
    {"TheLeastLoadedWorkerGoesFirst", "hear=v:1 hear=w:0::50 routed=w ok hear=v:1 hear=w routed=v",
     "w has 0.00 at most"},
    {"OfTwoTheSmallestId", "hear=v hear=w routed=w", "and v has 0.00"},
    {"AJobGoesByTheSlotThatWasKeptForItWhenItWasAcquired",
     "hear=v:1 hear=w submit=j handed=j:v take=j unhand=j choose=j:v ok back=j route=j:v", "w has 0.00 at most"},
    {"WhatHasBeenSentSinceTheHeartbeatCounts", "hear=v hear=w routed=v ok routed=w ok hear=w routed=v",
     "load of 1.00, and w has 0.00"},
    {"AHeartbeatWhileItChoosesMayOrMayNotCount",
     "hear=v:1 hear=w submit=v take=v hear=w:3 choose=v:v submit=w take=w hear=w choose=w:w"},
    // For all that is known, k had gone to w already.
    {"JobsThatMayBeOnTheirWayToAWorkerAreNoReasonAgainstAnother", "submit=k take=k hear=v:1 hear=w routed=v"},
    // It has been evicted, and its holder chooses in good faith; what it chose comes to nothing with its call. j may count for v, not for ever.
    {"AHandlerThatLostItsLockUnawaresMayStillChoose",
     "hear=v hear=w submit=j take=j expire=j +100ms routed=w ok +2min hear=v hear=w +100ms routed=w",
     "v has 0.00 at most"},
    {"AHandlerThatReleasedItsLockChoosesNoMore", "hear=v hear=w submit=j take=j back=j +100ms routed=w",
     "v has 0.00 at most"},
    // It may have been chosen before.
    {"APoolThatDrainsGetsNothingOnceThatWasRead",
     "hear=w submit=j take=j "
     "settings={\"data\":{\"pools\":{\"topics\":{\"job.t\":[\"a\"]},\"pools\":{\"a\":{\"status\":\"draining\"}}}}} "
     "choose=j:w ok routed=w",
     "no active pool"},
    // Its replica was frozen while the answer waited for it.
    {"AWorkerIsFullFromWhenItsReplicaHearsSo",
     "hear=w:3 submit=j take=j refuse=j:w +75s hear=w answered=j submit=k take=k away=k:full"},
    // Redis lost the lock twice, once with the refusal, and the handler's next call acquired it again.
    {"AHandlerThatWasRefusedAWorkerMayWaitThoughItsLockWasLostMeanwhile",
     "hear=v submit=j take=j:mine refuse=j:w expire=j +100ms lock=j:mine away=j:full"},
    {"AndNoOther", "hear=v submit=j take=j:mine refuse=j:w expire=j +100ms lock=j:anothers away=j:full",
     "worker v is free"},
    {"NoJobWaitsForAWorkerThatMayNotHaveIt",
     "hear=v::elsewhere submit=j take=j away=j:none ok submit=j take=j away=j:full", "and no worker may have it"},
    {"NoJobIsTurnedAwayFromAFreeWorker",
     "hear=v:4 submit=i take=i away=i:none hear=v:3 +30s submit=j take=j away=j:none ok hear=v:3 submit=k take=k "
     "away=k:none",
     "worker v is free"},
    {"OneTryDoesNotComeBackToAWorkerThatWasNotHeardSince",
     "hear=w submit=j take=j choose=j:w undo=j hear=w choose=j:w ok undo=j choose=j:w", "was not heard since"},
    {"AReplicaThatHasReadNoSettingsIsNotJudged", "down hear=v hear=w:1 routed=w"},
    {"OnItsTopicGoesOnlyWhatNoKnownWorkerMayHave",
     "hear=w::elsewhere +1s submit=i take=i topic=i back=i ok hear=x:4 +1s submit=j take=j topic=j back=j",
     "is only busy"},
    {"ANameThatStandsForMoreIsNoWorkers", "hear=w routed=w.x", "no name for one"},
};
using RoutesTold = Told<RoutingRulesTest>;
TEST_P(RoutesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, RoutesTold, ::testing::ValuesIn(kRoutes), title_of);

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

}  // namespace
}  // namespace lockstep::sim
