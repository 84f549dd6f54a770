#include "sim/faults/fault_plan.h"

#include <gmock/gmock.h>

#include <set>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "sim/testing/simulation_fixture.h"

namespace lockstep::sim {
namespace {

using fakes::CallFault;
using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct RecordingControls final : ServerControls {
    std::vector<std::string> calls;
    static std::string text(Duration d) { return std::to_string(d.count()); }
    void redis_restart(Duration loading) override { calls.push_back("redis_restart " + text(loading)); }
    void redis_failover(Duration lag, Duration takes) override {
        calls.push_back("redis_failover " + text(lag) + " " + text(takes));
    }
    void redis_two_primaries(Duration /*lag*/, std::vector<NodeId> clients) override {
        calls.emplace_back("redis_two_primaries");
        with_the_old = std::move(clients);
    }
    std::vector<NodeId> with_the_old;
    void redis_one_primary() override { calls.emplace_back("redis_one_primary"); }
    bool redis_replica_stalls() override {
        calls.emplace_back("redis_replica_stalls");
        return has_replica;
    }
    void redis_replica_goes_on() override { calls.emplace_back("redis_replica_goes_on"); }
    bool has_replica = true;
    std::uint64_t redis_script_flush() override { return 0; }
    std::uint64_t redis_evict(std::string_view keys) override {
        calls.push_back("redis_evict " + std::string(keys));
        return 3;
    }
    std::uint64_t redis_corrupt(std::string_view keys) override {
        calls.push_back("redis_corrupt " + std::string(keys));
        return 1;
    }
    void nats_restart(Duration down) override { calls.push_back("nats_restart " + text(down)); }
    std::uint64_t nats_new_leader(bool forgotten) override {
        calls.emplace_back(forgotten ? "nats_new_leader forgotten" : "nats_new_leader");
        return 2;
    }
    void nats_quorum_lost() override { calls.emplace_back("nats_quorum_lost"); }
    void nats_quorum_back() override { calls.emplace_back("nats_quorum_back"); }
    void nats_power_cut(Duration down) override { calls.push_back("nats_power_cut " + text(down)); }
    void config_update(const faults::ConfigUpdate& fault, std::function<void()> effective) override {
        calls.push_back("config_update " + fault.pools + " " + fault.timeouts);
        noticed.push_back(std::move(effective));
    }
    void reconfigure(fakes::NodeId node, const faults::Restarting& fault) override {
        calls.push_back("reconfigure " + std::to_string(node.value) + " " +
                        (fault.config.empty() ? fault.worker.pool.value_or("") : fault.config.at(0).first));
    }
    std::vector<std::function<void()>> noticed;
};

class FaultPlanTest : public testing::SimulationTest {
protected:
    FaultPlanTest() { sim.fault_plan().set_controls(controls); }

    void add(Fault fault) { sim.fault_plan().add(std::move(fault)); }
    Fault on_node(std::string_view kind, std::string target, Duration at, std::optional<Duration> duration = {}) {
        Fault made = fault(kind, at, duration);
        if (auto* whom = made.part<faults::Targeted>()) whom->target = std::move(target);
        return made;
    }
    Fault on_link(std::string_view kind, std::string a, std::string b, Duration at,
                  std::optional<Duration> duration = {}) {
        Fault made = fault(kind, at, duration);
        auto* link = made.part<faults::OfLink>();
        link->a = std::move(a);
        link->b = std::move(b);
        return made;
    }
    /// Placed on a publish of the actor.
    Fault on_publish(std::string_view kind, When when, std::optional<Duration> duration = {}) {
        Fault made = on_node(kind, "actor", 0s, duration);
        made.on.emplace();
        made.on->event = EventKind::publish;
        made.on->when = when;
        return made;
    }
    fakes::Faults& faults() { return sim.faults(); }

    RecordingControls controls;
    testing::Listener listener;
};

TEST_F(FaultPlanTest, CrashesANodeAndRestartsIt) {
    testing::TestProcess process;
    sim.lifecycle().host(scheduler, process);
    sim.start();
    add(on_node("crash", "scheduler-0", 10s, 20s));
    sim.run_for(15s);
    EXPECT_FALSE(sim.nodes().alive(scheduler));
    sim.run_for(1h);
    EXPECT_TRUE(sim.nodes().alive(scheduler));
    EXPECT_EQ(process.starts, 2);
    EXPECT_EQ(process.crashes, 1);
    EXPECT_EQ(only_count().armed, 1U);
    EXPECT_EQ(only_count().fired, 1U);
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, DoesNotCountTheCrashOfANodeThatIsDown) {
    crash(scheduler);
    add(on_node("crash", "scheduler-0", 1s));
    sim.run_for(2s);
    EXPECT_EQ(only_count().fired, 1U);
    EXPECT_EQ(only_count().effective, 0U);
}

TEST_F(FaultPlanTest, AsksANodeToEndAndStartsItAgainWhenItHas) {
    testing::TestProcess process;
    std::function<void()> ended;
    process.on_stop = [&](std::function<void()> end) { ended = std::move(end); };
    sim.lifecycle().host(scheduler, process);
    sim.start();
    add(on_node("stop", "scheduler-0", 10s, 5s));
    sim.run_for(12s);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(sim.nodes().alive(scheduler)) << "it is tidying up";
    sim.run_for(20s);
    EXPECT_EQ(process.starts, 1) << "its time to start again has come, and it has not ended";
    sim.after(scheduler, 1s, ended);
    sim.run_for(2s);
    EXPECT_EQ(process.crashes, 1);
    EXPECT_EQ(process.starts, 2);
    EXPECT_TRUE(sim.nodes().alive(scheduler));
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, OtherSettingsTakeEffectWithTheRestart) {
    testing::TestProcess process;
    sim.lifecycle().host(scheduler, process);
    sim.start();
    Fault stop = on_node("stop", "scheduler-0", 10s, 5s);
    stop.as<faults::Stop>().config = {{"job_lock_ttl", "30s"}};
    add(stop);
    sim.run_for(12s);
    EXPECT_THAT(controls.calls, IsEmpty());
    EXPECT_EQ(only_count().effective, 0U);
    sim.run_for(5s);
    EXPECT_THAT(controls.calls, ElementsAre("reconfigure " + std::to_string(scheduler.value) + " job_lock_ttl"));
    EXPECT_EQ(process.starts, 2);
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, AProcessWithNothingToTidyUpEndsAtOnce) {
    testing::TestProcess process;
    sim.lifecycle().host(scheduler, process);
    sim.start();
    add(on_node("stop", "scheduler-0", 10s, 5s));
    sim.run_for(12s);
    EXPECT_FALSE(sim.nodes().alive(scheduler));
    sim.run_for(5s);
    EXPECT_EQ(process.starts, 2);
}

TEST_F(FaultPlanTest, HealingStartsAgainWhatIsStillEnding) {
    testing::TestProcess process;
    std::function<void()> ended;
    process.on_stop = [&](std::function<void()> end) { ended = std::move(end); };
    sim.lifecycle().host(scheduler, process);
    sim.start();
    add(on_node("stop", "scheduler-0", 10s));
    sim.run_for(11s);
    sim.fault_plan().heal(FaultPlan::Heal::all);
    sim.after(scheduler, 1s, ended);
    sim.run_for(2s);
    EXPECT_EQ(process.starts, 2);
}

TEST_F(FaultPlanTest, ReportsAFaultWhoseTimeNeverCameAsArmedOnly) {
    add(on_node("crash", "scheduler-0", 1h));
    sim.run_for(1min);
    EXPECT_EQ(only_count().armed, 1U);
    EXPECT_EQ(only_count().fired, 0U);
}

TEST_F(FaultPlanTest, ExpandsGroups) {
    add(on_node("crash", "schedulers", 1s));
    sim.run_for(2s);
    EXPECT_FALSE(sim.nodes().alive(scheduler));
    EXPECT_FALSE(sim.nodes().alive(other));
    EXPECT_EQ(only_count().effective, 2U);
}

// The node must not send what it announced, but is destroyed only after its step.
TEST_F(FaultPlanTest, KillsTheActorOfAnEventAtTheEndOfItsStep) {
    add(on_publish("crash", When::before));
    bool lives = true;
    bool up_in_step = false;
    sim.after(scheduler, 1s, [&] {
        lives = tell(EventKind::publish, "scheduler-0", When::before);
        up_in_step = sim.nodes()[scheduler].up;
    });
    sim.run_for(2s);
    EXPECT_FALSE(lives);
    EXPECT_TRUE(up_in_step);
    EXPECT_FALSE(sim.nodes()[scheduler].up);
}

TEST_F(FaultPlanTest, HoldsBackWhatAPausedActorWasAboutToSend) {
    const auto connection = connect(scheduler, listener);
    add(on_publish("pause", When::before, 75s));
    std::vector<Duration> arrivals;
    sim.after(scheduler, 1s, [&] {
        EXPECT_TRUE(tell(EventKind::publish, "scheduler-0", When::before));
        connection->send_to_server([&] { arrivals.push_back(elapsed()); });
    });
    sim.run_for(10min);
    EXPECT_THAT(arrivals, ElementsAre(10ms + 1s + 75s + 1ms));
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, CountsAPauseThatHeldNothingAsWithoutEffect) {
    add(on_node("pause", "scheduler-0", 1s, 1s));
    sim.run_for(10s);
    EXPECT_EQ(only_count().fired, 1U);
    EXPECT_EQ(only_count().effective, 0U);
    EXPECT_EQ(events.count("resumed scheduler-0"), 1);
}

TEST_F(FaultPlanTest, CutsGroupsOffAndCountsWhatWaited) {
    const auto connection = connect(scheduler, listener);
    add(on_link("partition", "schedulers", "redis", 1s, 1min));
    int arrived = 0;
    sim.run_for(2s);
    connection->send_to_server([&] { ++arrived; });
    sim.run_for(10s);
    EXPECT_EQ(arrived, 0);
    sim.run_for(1min);
    EXPECT_EQ(arrived, 1);
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, CountsAPartitionThatNobodyMetAsWithoutEffect) {
    add(on_link("partition", "workers", "kernel", 1s, 1min));
    const auto connection = connect(scheduler, listener);
    sim.run_for(2s);
    connection->send_to_server([] {});
    sim.run_for(2min);
    EXPECT_EQ(only_count().fired, 1U);
    EXPECT_EQ(only_count().effective, 0U);
}

TEST_F(FaultPlanTest, MovesTimersWithTheClockThatDrifts) {
    Fault drift = on_node("clock_drift", "scheduler-0", 10s);
    drift.as<faults::ClockDrift>().ppm = 100'000;  // a tenth too fast
    add(drift);
    Duration fired{};
    sim.after(scheduler, 21s, [&] { fired = elapsed(); });
    sim.run_for(1min);
    EXPECT_EQ(fired, 20s);
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, HealingGivesAClockItsOwnDriftBackWhateverDisturbedIt) {
    const Drift own = sim.nodes()[scheduler].clock.drift();
    for (const auto& [at, ppm] : {std::pair{10s, 400'000.0}, std::pair{20s, -400'000.0}, std::pair{30s, 7.0}}) {
        Fault drift = on_node("clock_drift", "scheduler-0", at);
        drift.as<faults::ClockDrift>().ppm = ppm;
        add(drift);
    }
    sim.run_for(40s);
    EXPECT_EQ(sim.nodes()[scheduler].clock.drift(), Drift::from_ppm(7.0)) << "the last one counts";
    sim.fault_plan().heal(FaultPlan::Heal::all);
    EXPECT_EQ(sim.nodes()[scheduler].clock.drift(), own);
}

TEST_F(FaultPlanTest, ADriftThatEndsLeavesTheOneThatBeganLaterInForce) {
    Fault first = on_node("clock_drift", "scheduler-0", 10s, 20s);
    first.as<faults::ClockDrift>().ppm = 400'000;
    Fault second = on_node("clock_drift", "scheduler-0", 20s, 20s);
    second.as<faults::ClockDrift>().ppm = -400'000;
    add(first);
    add(second);
    sim.run_for(35s);
    EXPECT_EQ(sim.nodes()[scheduler].clock.drift(), Drift::from_ppm(-400'000));
    sim.run_for(10s);
    EXPECT_EQ(sim.nodes()[scheduler].clock.drift(), Drift{});
}

TEST_F(FaultPlanTest, JumpsTheWallAndLeavesTimersAlone) {
    Fault jump = on_node("clock_jump", "scheduler-0", 10s, 10s);
    jump.as<faults::ClockJump>().by = -1h;
    add(jump);
    Duration fired{};
    sim.after(scheduler, 15s, [&] { fired = elapsed(); });
    sim.run_for(16s);
    EXPECT_EQ(fired, 15s);
    EXPECT_EQ(sim.wall(scheduler), perfect_wall(sim.now()) - 1h);
    sim.run_for(10s);
    EXPECT_EQ(sim.wall(scheduler), perfect_wall(sim.now()));
}

TEST_F(FaultPlanTest, InjectsRedisErrorsIntoTheNamedCommandsOnly) {
    Fault errors = fault("redis.errors", 1s, 10s);
    errors.as<faults::RedisErrors>().outcome = "unknown";
    errors.as<faults::RedisErrors>().commands = {"evalsha"};
    add(errors);
    EXPECT_EQ(faults().redis_call(scheduler, "EVALSHA", {}), CallFault::none);
    sim.run_for(2s);
    EXPECT_EQ(faults().redis_call(scheduler, "GET", {}), CallFault::none);
    EXPECT_EQ(only_count().effective, 0U);
    EXPECT_EQ(faults().redis_call(scheduler, "EVALSHA", {}), CallFault::unknown);
    EXPECT_EQ(only_count().effective, 1U);
    sim.run_for(10s);
    EXPECT_EQ(faults().redis_call(scheduler, "EVALSHA", {}), CallFault::none);
}

TEST_F(FaultPlanTest, HitsExactlyAsManyCallsAsItSays) {
    Fault errors = fault("redis.errors", 1s, 10s);
    errors.as<faults::RedisErrors>().outcome = "lost";
    errors.as<faults::RedisErrors>().count = 2;
    add(errors);
    sim.run_for(2s);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(faults().redis_call(scheduler, "GET", {}), CallFault::lost);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(faults().redis_call(scheduler, "GET", {}), CallFault::none);
    EXPECT_EQ(only_count().effective, 2U);
}

TEST_F(FaultPlanTest, HitsOnlyTheScriptTheKeyAndTheJobThatItNames) {
    Fault errors = fault("redis.errors", 1s, 10s);
    errors.as<faults::RedisErrors>().outcome = "lost";
    errors.as<faults::RedisErrors>().script = "commit";
    errors.as<faults::RedisErrors>().key = "job:*";
    errors.as<faults::RedisErrors>().job = "a";
    add(errors);
    sim.run_for(2s);
    const auto call = [this](std::string_view script, std::string_view key, std::string_view job) {
        return faults().redis_call(scheduler, "EVALSHA", {.script = script, .key = key, .job = job, .payload = {}});
    };
    EXPECT_EQ(call("take_up", "job:meta:a", "a"), CallFault::none);
    EXPECT_EQ(call("commit", "cordum:x", "a"), CallFault::none);
    EXPECT_EQ(call("commit", "job:meta:b", "b"), CallFault::none);
    EXPECT_EQ(call("commit", "job:meta:a", "a"), CallFault::lost);
}

TEST_F(FaultPlanTest, HitsOnlyThePublishesAndChecksOfTheJobThatItNames) {
    Fault errors = fault("nats.publish_errors", 1s, 10s);
    errors.as<faults::NatsPublishErrors>().outcome = "lost";
    errors.as<faults::NatsPublishErrors>().job = "a";
    add(errors);
    Fault outage = fault("kernel.outage", 1s, 10s);
    outage.as<faults::KernelOutage>().job = "a";
    add(outage);
    sim.run_for(2s);
    const auto publish = [this](const std::string& job) {
        cap::JobRequest request;
        request.set_job_id(job);
        const std::string bytes = engine::wire::serialise(engine::wire::make_packet(request, "t", "s", {}));
        return faults().publish(scheduler, "sys.job.submit", {.script = {}, .key = {}, .job = {}, .payload = bytes});
    };
    EXPECT_EQ(publish("b"), CallFault::none);
    EXPECT_EQ(publish("a"), CallFault::lost);
    EXPECT_FALSE(faults().kernel_call({.script = {}, .key = {}, .job = "b", .payload = {}}).no_answer);
    EXPECT_TRUE(faults().kernel_call({.script = {}, .key = {}, .job = "a", .payload = {}}).no_answer);
}

TEST_F(FaultPlanTest, GivesACallEachOfItsEndsAndAnyWhereNoneIsNamed) {
    const auto ends = [this](const char* outcome) {
        Fault errors = fault("nats.publish_errors", elapsed(), 1s);
        errors.as<faults::NatsPublishErrors>().outcome = outcome;
        add(errors);
        sim.run_for(500ms);
        std::set<CallFault> out;
        for (int i = 0; i < 50; ++i) out.insert(faults().publish(scheduler, "sys.job.result", {}));
        sim.run_for(1s);
        return out;
    };
    EXPECT_EQ(ends("not_applied"), std::set{CallFault::not_applied});
    EXPECT_EQ(ends("unknown"), std::set{CallFault::unknown});
    EXPECT_EQ(ends("lost"), std::set{CallFault::lost});
    EXPECT_EQ(ends(""), (std::set{CallFault::not_applied, CallFault::unknown, CallFault::lost}));
}

// What plays no part in a failure can be taken away without disturbing the rest: shrinking lives on it.
TEST_F(FaultPlanTest, DrawsNothingThatShiftsTheDrawsOfAnotherKind) {
    const auto hits = [this](bool with_others) {
        Simulation world(testing::small_scenario(), 1, {});
        Fault lost = fault("nats.lost_acks", 0s);
        lost.as<faults::NatsLostAcks>().rate = 0.5;
        if (with_others) {
            for (const char* kind : {"kernel.errors", "redis.errors", "nats.publish_errors"})
                world.fault_plan().add(fault(kind, 0s));
        }
        world.fault_plan().add(lost);
        world.run_for(1s);
        std::vector<bool> out;
        for (int i = 0; i < 64; ++i) {
            (void)world.faults().kernel_call({});
            (void)world.faults().redis_call(scheduler, "GET", {});
            out.push_back(world.faults().lose_ack("sys.job.submit"));
        }
        return out;
    };
    EXPECT_EQ(hits(false), hits(true));
}

TEST_F(FaultPlanTest, KeepsToTheRate) {
    Fault lost = fault("nats.lost_acks", 0s);
    lost.as<faults::NatsLostAcks>().rate = 0.3;
    lost.as<faults::NatsLostAcks>().subject = "sys.>";
    add(lost);
    sim.run_for(1s);
    int hits = 0;
    for (int i = 0; i < 1000; ++i) hits += faults().lose_ack("sys.job.submit") ? 1 : 0;
    EXPECT_GT(hits, 240);
    EXPECT_LT(hits, 360);
    EXPECT_FALSE(faults().lose_ack("job.default"));
    EXPECT_EQ(only_count().effective, static_cast<std::uint64_t>(hits));
}

TEST_F(FaultPlanTest, AnswersEveryKindOfCall) {
    Fault latency = fault("redis.latency", 0s);
    latency.as<faults::RedisLatency>().latency = Distribution::constant(7ms);
    add(latency);
    Fault kernel = fault("kernel.errors", 0s);
    kernel.as<faults::KernelErrors>().status = 4;
    add(kernel);
    Fault decision = fault("output_policy.decision", 0s);
    decision.as<faults::OutputPolicyDecision>().decision = "quarantine";
    add(decision);
    for (const char* kind : {"redis.oom", "nats.duplicate", "nats.reorder", "nats.late_acks", "nats.drop_core",
                             "nats.garbled_delivery", "corrupt", "nats.publish_errors"}) {
        add(fault(kind, 0s));
    }
    add(fault("kernel.outage", 2s));
    for (const char* kind : {"worker.silence", "worker.zombie", "worker.overload"}) add(on_node(kind, "w-0", 0s));
    sim.run_for(1s);
    EXPECT_EQ(faults().redis_latency("GET", {}), 7ms);
    ASSERT_TRUE(faults().redis_out_of_memory());
    faults().redis_out_of_memory()->count();
    EXPECT_TRUE(faults().duplicate_delivery("a"));
    const fakes::Faults::HoldUp late = faults().reorder_delivery("a");
    EXPECT_GT(late.by, 0ns);
    late.effect.count();
    EXPECT_GT(faults().delay_ack("a"), 0ns);
    EXPECT_TRUE(faults().drop_core("a"));
    EXPECT_TRUE(faults().garble_delivery("a"));
    EXPECT_NE(faults().publish(scheduler, "a", {}), CallFault::none);
    std::string payload = "payload";
    EXPECT_TRUE(faults().corrupt("a", payload));
    EXPECT_NE(payload, "payload");
    EXPECT_EQ(faults().kernel_call({}).status, 4);
    const fakes::Faults::RpcFault output = faults().output_call({});
    EXPECT_EQ(output.decision, "quarantine");
    output.forced.count();
    EXPECT_TRUE(faults().worker_silent(node("w-0")));
    EXPECT_TRUE(faults().worker_zombie(node("w-0")));
    EXPECT_TRUE(faults().worker_overloaded(node("w-0")));
    EXPECT_FALSE(faults().worker_silent(node("w-1")));
    sim.run_for(2s);
    EXPECT_TRUE(faults().kernel_call({}).no_answer);
    for (const auto& count : sim.fault_plan().counts()) EXPECT_GE(count.effective, 1U) << count.kind;
}

TEST_F(FaultPlanTest, CountsNothingOfWhatAnOutageHides) {
    Fault slow = fault("kernel.latency", 0s);
    slow.as<faults::KernelLatency>().latency = Distribution::constant(1s);
    add(slow);
    for (const char* kind : {"kernel.errors", "kernel.flap", "kernel.outage"}) add(fault(kind, 0s));
    sim.run_for(1s);
    EXPECT_TRUE(faults().kernel_call({}).no_answer);
    for (const auto& count : sim.fault_plan().counts())
        EXPECT_EQ(count.effective, count.kind == "kernel.outage" ? 1U : 0U) << count.kind;
}

TEST_F(FaultPlanTest, LeavesToTheServerWhetherItChangedAnything) {
    Fault decision = fault("kernel.decision", 0s);
    decision.as<faults::KernelDecision>().decision = "deny";
    add(decision);
    add(fault("nats.reorder", 0s));
    add(fault("redis.oom", 0s));
    sim.run_for(1s);
    EXPECT_EQ(faults().kernel_call({}).decision, "deny");
    EXPECT_GT(faults().reorder_delivery("a").by, 0ns);
    EXPECT_TRUE(faults().redis_out_of_memory());
    for (const auto& count : sim.fault_plan().counts()) EXPECT_EQ(count.effective, 0U) << count.kind;
}

TEST_F(FaultPlanTest, FlapsInHalfPeriods) {
    Fault flap = fault("kernel.flap", 1s, 1min);
    flap.as<faults::KernelFlap>().period = 10s;
    add(flap);
    sim.run_for(2s);
    EXPECT_EQ(faults().kernel_call({}).status, 14);
    sim.run_for(5s);
    EXPECT_EQ(faults().kernel_call({}).status, 0);
    sim.run_for(5s);
    EXPECT_EQ(faults().kernel_call({}).status, 14);
}

TEST_F(FaultPlanTest, CommandsServersAfterTheStep) {
    Fault restart = on_publish("nats.restart", When::applied, 5s);
    add(restart);
    std::size_t calls_in_step = 99;
    sim.after(scheduler, 1s, [&] {
        tell(EventKind::publish, "scheduler-0");
        calls_in_step = controls.calls.size();
    });
    sim.run_for(2s);
    EXPECT_EQ(calls_in_step, 0U);
    EXPECT_THAT(controls.calls, ElementsAre("nats_restart 5000000000"));
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, TellsServersWhatTheFileSays) {
    Fault evict = fault("redis.evict", 1s);
    evict.as<faults::RedisEvict>().keys = "job:*";
    Fault update = fault("config.update", 2s);
    update.as<faults::ConfigUpdate>().pools = "{}";
    add(evict);
    add(update);
    add(fault("redis.script_flush", 3s));
    Fault corrupt = fault("redis.corrupt", 3500ms);
    corrupt.as<faults::RedisCorrupt>().keys = "sys:*";
    add(corrupt);
    sim.run_for(4s);
    EXPECT_THAT(controls.calls, ElementsAre("redis_evict job:*", "config_update {} ", "redis_corrupt sys:*"));
    EXPECT_EQ(sim.fault_plan().counts()[0].effective, 3U);
    EXPECT_EQ(sim.fault_plan().counts()[1].effective, 0U) << "nobody has put it in force";
    controls.noticed.at(0)();
    EXPECT_EQ(sim.fault_plan().counts()[1].effective, 1U);
    EXPECT_EQ(sim.fault_plan().counts()[2].effective, 0U) << "no script was cached";
}

TEST_F(FaultPlanTest, CountsTheMessagesThatANewLeaderHides) {
    add(fault("nats.new_leader", 1s));
    Fault forgets = fault("nats.new_leader", 2s);
    forgets.as<faults::NatsNewLeader>().in_hand = "forgotten";
    add(forgets);
    sim.run_for(3s);
    EXPECT_THAT(controls.calls, ElementsAre("nats_new_leader", "nats_new_leader forgotten"));
    EXPECT_EQ(sim.fault_plan().counts()[0].effective, 2U);
    EXPECT_EQ(sim.fault_plan().counts()[1].effective, 2U);
}

TEST_F(FaultPlanTest, TakesTheQuorumAwayAtOnceAndGivesItBack) {
    add(on_publish("nats.no_quorum", When::applied, 5s));
    std::size_t calls_in_step = 99;
    sim.after(scheduler, 1s, [&] {
        tell(EventKind::publish, "scheduler-0");
        calls_in_step = controls.calls.size();
    });
    sim.run_for(5s);
    EXPECT_EQ(calls_in_step, 1U) << "what the server was about to answer, it does not answer any more";
    EXPECT_THAT(controls.calls, ElementsAre("nats_quorum_lost"));
    sim.run_for(2s);
    EXPECT_THAT(controls.calls, ElementsAre("nats_quorum_lost", "nats_quorum_back"));
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, StallsAReplicaWhereThereIsOne) {
    add(fault("redis.replica_stalls", 1s, 5s));
    controls.has_replica = false;
    add(fault("redis.replica_stalls", 2s, 1s));
    sim.run_for(500ms);
    EXPECT_THAT(controls.calls, IsEmpty());
    sim.run_for(1s);
    controls.has_replica = true;
    sim.run_for(6s);
    EXPECT_THAT(controls.calls, ElementsAre("redis_replica_stalls", "redis_replica_stalls", "redis_replica_goes_on",
                                            "redis_replica_goes_on"));
    EXPECT_EQ(sim.fault_plan().counts()[0].effective, 0U);
    EXPECT_EQ(sim.fault_plan().counts()[1].effective, 1U);
}

TEST_F(FaultPlanTest, LetsAnOldPrimaryGoOnForSome) {
    add(on_node("redis.two_primaries", "scheduler-0", 1s, 5s));
    sim.run_for(2s);
    EXPECT_THAT(controls.calls, ElementsAre("redis_two_primaries"));
    EXPECT_EQ(controls.with_the_old, std::vector{scheduler});
    sim.run_for(5s);
    EXPECT_THAT(controls.calls, ElementsAre("redis_two_primaries", "redis_one_primary"));
    EXPECT_EQ(only_count().effective, 1U);
}

TEST_F(FaultPlanTest, DoesNotCommandAServerThatIsDown) {
    crash(Topology::kRedis);
    add(fault("redis.restart", 1s, 1s));
    sim.run_for(2s);
    EXPECT_THAT(controls.calls, IsEmpty());
    EXPECT_EQ(only_count().effective, 0U);
}

TEST_F(FaultPlanTest, HealsEverythingAndStartsNothingNew) {
    add(on_node("crash", "scheduler-0", 1s));
    add(on_node("pause", "scheduler-1", 1s));
    add(on_link("partition", "workers", "nats", 1s));
    add(fault("redis.oom", 1s));
    add(on_node("crash", "w-0", 1min));
    sim.run_for(2s);
    sim.fault_plan().heal(FaultPlan::Heal::all);
    EXPECT_TRUE(sim.nodes().alive(scheduler));
    EXPECT_FALSE(sim.nodes().paused(other));
    EXPECT_FALSE(sim.network().links().cut(node("w-0"), Topology::kNats));
    EXPECT_FALSE(faults().redis_out_of_memory());
    sim.run_for(2min);
    EXPECT_TRUE(sim.nodes().alive(node("w-0")));
}

TEST_F(FaultPlanTest, LeavesDownWhatIsToStayDown) {
    add(on_node("crash", "scheduler-0", 1s, 10s));
    add(on_node("pause", "scheduler-1", 1s));
    sim.run_for(2s);
    sim.fault_plan().heal(FaultPlan::Heal::stay_down);
    sim.run_for(1min);
    EXPECT_FALSE(sim.nodes().alive(scheduler));
    EXPECT_FALSE(sim.nodes().paused(other));
}

TEST_F(FaultPlanTest, HealsOneOfTwoReplicasAsCore) {
    add(on_node("crash", "schedulers", 1s));
    add(on_link("partition", "workers", "nats", 1s));
    sim.run_for(2s);
    sim.fault_plan().heal(FaultPlan::Heal::core);
    sim.run_for(1min);
    EXPECT_NE(sim.nodes().alive(scheduler), sim.nodes().alive(other));
    EXPECT_NE(sim.network().links().cut(node("w-0"), Topology::kNats),
              sim.network().links().cut(node("w-1"), Topology::kNats));
}

}  // namespace
}  // namespace lockstep::sim
