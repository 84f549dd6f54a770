// What is remembered about messages: the marks of the bus guard, and messages acknowledged before their job was placed.
#include "engine/bus/message_pump.h"
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

constexpr const char* kDurable = "dur_cordum-scheduler__sys_job_submit";

class GuardedMessages : public SchedulerTest {
protected:
    /// Delivers one stream message, the same one each time.
    Fate deliver(const std::string& job, std::uint64_t count = 1, std::uint64_t sequence = 42) {
        const auto packet = engine::wire::make_packet(request_for(job), "t", "api-gateway", clock.now());
        const Fate fate = bus.deliver({.subject = "sys.job.submit",
                                       .payload = engine::wire::serialise(packet),
                                       .count = count,
                                       .sequence = sequence});
        loop.settle();
        return fate;
    }
    [[nodiscard]] std::string processed_key(std::uint64_t sequence = 42) const {
        return "cordum:bus:processed:CORDUM_SYS:" + std::to_string(sequence) + ":" + kDurable;
    }
    [[nodiscard]] bool exists(const std::string& key) { return *run({"EXISTS", key}).integer() == 1; }
};

// BUS-03, C-13, C-42
TEST_F(GuardedMessages, AMessageHandledToItsEndIsMarkedForItsConsumerForTwiceTheAckWait) {
    start();
    EXPECT_TRUE(deliver("j1")->acked());
    ASSERT_TRUE(exists(processed_key()));
    EXPECT_EQ(*run({"PTTL", processed_key()}).integer(), 20 * 60 * 1000);
    kernel.questions.clear();
    // Had it not been for the mark, the job would be taken for a new one.
    for (const char* key : {"job:meta:j1", "job:state:j1", "job:req:j1"}) run({"DEL", key});
    EXPECT_TRUE(deliver("j1", 2)->acked());
    EXPECT_TRUE(kernel.questions.empty());
    EXPECT_EQ(dispatches().size(), 1u);
}

// C-13: another consumer's mark does not count.
TEST_F(GuardedMessages, AnotherConsumersMarkSilencesNobody) {
    start();
    run({"SET", "cordum:bus:processed:CORDUM_SYS:42:dur_cordum-workflow-engine__sys_job_result", "1"});
    run({"SET", "cordum:bus:processed:CORDUM_SYS:42", "1"});
    EXPECT_TRUE(deliver("j1")->acked());
    EXPECT_EQ(dispatches().size(), 1u);
}

// C-13: the documented key, for one guarded consumer per stream.
TEST_F(GuardedMessages, AMarkForTheWholeStreamHasTheDocumentedNameAndCountsWhoeverWroteIt) {
    tunables.bus_guard_key_scope = "stream";
    start();
    EXPECT_TRUE(deliver("j1")->acked());
    EXPECT_TRUE(exists("cordum:bus:processed:CORDUM_SYS:42"));
    EXPECT_FALSE(exists(processed_key()));
    run({"SET", "cordum:bus:processed:CORDUM_SYS:43", "1"});
    EXPECT_TRUE(deliver("j2", 1, 43)->acked());
    EXPECT_EQ(dispatches().size(), 1u);
}

/// A workflow engine's end of the results: a consumer of its own, on the same store, guarded in the same way.
class OtherConsumer final : public engine::PacketHandler {
public:
    explicit OtherConsumer(const engine::Ports& ports)
        : context_(ports), letters_(ports.redis, ports.clock, context_.tunables, scripts_) {}

    void take(const engine::testing::DeliverySpec& spec, const Fate& fate) {
        pump_.on_delivery(engine::testing::make_delivery(spec, fate));
    }
    std::vector<std::string> heard;

private:
    engine::Task<engine::Disposition> handle(cap::BusPacket packet, engine::Origin) override {
        heard.push_back(packet.job_result().job_id());
        co_return engine::Disposition::done();
    }

    engine::Context context_;
    engine::StoreScripts scripts_;
    engine::DeadLetterStore letters_;
    engine::DeadLetters dead_letters_{context_, letters_};
    engine::MessagePump pump_{context_,      scripts_, letters_,
                              dead_letters_, *this,    "dur_cordum-workflow-engine__sys_job_result"};
};

// H-10, BUS-03: result_to_two_consumers. Whoever is first, the other one hears of the result too, and each hears of it once.
TEST_F(GuardedMessages, AResultReachesTheSchedulerAndAnotherConsumer) {
    start();
    OtherConsumer other({loop, clock, entropy, redis, bus, kernel, metrics, log});
    for (const bool scheduler_first : {true, false}) {
        const std::string job = scheduler_first ? "j1" : "j2";
        run_job(job);
        cap::JobResult result;
        result.set_job_id(job);
        result.set_status(cap::JOB_STATUS_SUCCEEDED);
        result.set_worker_id("w1");
        const engine::testing::DeliverySpec message{
            .subject = "sys.job.result",
            .payload = engine::wire::serialise(engine::wire::make_packet(std::move(result), "t", "w1", clock.now())),
            .count = 1,
            .sequence = scheduler_first ? 70U : 71U};
        for (const bool to_scheduler : {scheduler_first, !scheduler_first, true, false}) {
            const auto fate = to_scheduler ? bus.deliver(message) : std::make_shared<DeliveryFate>();
            if (!to_scheduler) other.take(message, fate);
            loop.settle();
            EXPECT_TRUE(fate->acked()) << job;
        }
        EXPECT_EQ(state(job), "SUCCEEDED");
    }
    EXPECT_EQ(other.heard, (std::vector<std::string>{"j1", "j2"}));
    EXPECT_EQ(metrics.value(Metric::jobs_completed, {"job.default", "JOB_STATUS_SUCCEEDED"}), 2);
}

// A server that lost its power gives the numbers of lost messages to others.
TEST_F(GuardedMessages, TheMarkOfALostMessageDoesNotSilenceTheOneThatHasItsNumberNow) {
    start();
    EXPECT_TRUE(deliver("j1")->acked());
    EXPECT_TRUE(deliver("j2")->acked());
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 2u);
}

// A replica of an older version marks without naming the content.
TEST_F(GuardedMessages, AMarkWithoutContentCountsForAnyMessage) {
    start();
    run({"SET", processed_key(), "1"});
    EXPECT_TRUE(deliver("j1")->acked());
    EXPECT_TRUE(dispatches().empty());
}

// H-09
TEST_F(GuardedMessages, TheMarkOutlivesALongerAckWait) {
    tunables.bus_ack_wait = 1h;
    start();
    deliver("j1");
    EXPECT_EQ(*run({"PTTL", processed_key()}).integer(), 2 * 60 * 60 * 1000);
}

// BUS-04
TEST_F(GuardedMessages, TheInFlightMarkIsThereWhileTheMessageIsHandledAndExpiresAfterACrash) {
    start();
    const std::string mark = "cordum:bus:inflight:CORDUM_SYS:42";
    kernel.latency = 1s;
    deliver("j1");
    EXPECT_TRUE(exists(mark));
    loop.run_for(5s);
    EXPECT_FALSE(exists(mark));
    deliver("j2", 1, 43);
    EXPECT_TRUE(exists("cordum:bus:inflight:CORDUM_SYS:43"));
    crash();
    loop.run_for(2min + 1s);
    EXPECT_FALSE(exists("cordum:bus:inflight:CORDUM_SYS:43"));
}

TEST_F(GuardedMessages, AMessageThatIsHandedBackIsNotMarked) {
    start();
    kernel.answer = [](const auto&) { return ScriptedKernel::says(cap::DECISION_TYPE_THROTTLE); };
    EXPECT_TRUE(deliver("j1")->handed_back(5s));
    EXPECT_FALSE(exists(processed_key()));
    EXPECT_FALSE(exists("cordum:bus:inflight:CORDUM_SYS:42"));
}

// C-11: whoever cannot ask for the mark cannot take the job's lock either.
TEST_F(GuardedMessages, WithoutAnAnswerAMessageIsHandedBackWhateverTheGuardsMode) {
    for (const char* mode : {"degrade", "nak"}) {
        tunables.bus_guard_on_error = mode;
        start();
        on_script(scripts.take_up, [] { return CallFault::unknown; });
        EXPECT_TRUE(deliver("j1")->handed_back(1s)) << mode;
        EXPECT_TRUE(kernel.questions.empty());
        crash();
    }
}

// What is done without a commit is marked by a call of its own.
TEST_F(GuardedMessages, WithoutItsMarkAMessageThatIsDoneIsAcknowledgedAllTheSame) {
    start();
    run_job("j1");
    on_command("SET", "cordum:bus:processed:", [] { return CallFault::not_applied; });
    EXPECT_TRUE(deliver("j1")->acked());
    EXPECT_FALSE(exists(processed_key()));
}

TEST_F(GuardedMessages, OrItIsHandedBackIfSoConfigured) {
    tunables.bus_guard_on_error = "nak";
    start();
    run_job("j1");
    on_command("SET", "cordum:bus:processed:", [] { return CallFault::unknown; });
    EXPECT_TRUE(deliver("j1")->handed_back(2s));
}

// A mark of another type than a mark's is none, and holds nothing up.
TEST_F(GuardedMessages, AKeyOfAnotherTypeInTheMarksPlaceIsNoMark) {
    start();
    run({"RPUSH", processed_key(), "1"});
    EXPECT_TRUE(deliver("j1")->acked());
    EXPECT_EQ(state("j1"), "RUNNING");
}

// Taken up, committed, RUNNING; its lock taken, ended. Marks and locks ride along. What the scripts do for that is held here too: it
// is most of what Redis has to do for a job.
TEST_F(GuardedMessages, AJobIsDispatchedInThreeRoundTripsAndEndedInTwo) {
    start();
    struct Cost {
        std::size_t exchanges;
        std::size_t commands;
    };
    const auto cost = [&](const std::function<void()>& work) {
        const Cost before{redis.exchanges(), redis.database().commands_of_scripts()};
        work();
        return Cost{redis.exchanges() - before.exchanges, redis.database().commands_of_scripts() - before.commands};
    };
    const Cost dispatched = cost([&] { EXPECT_TRUE(deliver("j1")->acked()); });
    EXPECT_EQ(state("j1"), "RUNNING");
    const Cost ended = cost([&] { EXPECT_TRUE(result("j1", cap::JOB_STATUS_SUCCEEDED)->acked()); });
    EXPECT_EQ(state("j1"), "SUCCEEDED");
    EXPECT_EQ(dispatched.exchanges, 3U);
    EXPECT_EQ(dispatched.commands, 42U);
    EXPECT_EQ(ended.exchanges, 2U);
    EXPECT_EQ(ended.commands, 25U);
}

// C-57, C-08, H-35
TEST_F(GuardedMessages, AfterTwentyDeliveriesTheJobIsTriedFromTheStoreWhenItIsDue) {
    start();
    kernel.answer = [](const auto&) { return ScriptedKernel::unreachable(); };
    EXPECT_TRUE(deliver("j1", 19)->handed_back(5s));
    loop.run_for(31s);
    EXPECT_TRUE(deliver("j1", 20)->acked());
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_NE(field("j1", "ls_next_attempt_at"), "");
    kernel.questions.clear();
    loop.run_for(4s);
    EXPECT_TRUE(kernel.questions.empty());
    kernel.answer = nullptr;
    heartbeat("w1");
    loop.run_for(2s);
    EXPECT_EQ(state("j1"), "RUNNING");
    EXPECT_EQ(dispatches().size(), 1u);
}

// C-57: what waits fills the window of unacknowledged messages, and a full window would stop every healthy one.
TEST_F(GuardedMessages, NoMoreThanAQuarterOfTheWindowWaits) {
    tunables.bus_max_ack_pending = 16;
    start();
    kernel.answer = [](const auto&) { return ScriptedKernel::says(cap::DECISION_TYPE_THROTTLE); };
    for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(deliver("j" + std::to_string(i), 1, i)->handed_back(5s));
    EXPECT_TRUE(deliver("j5", 1, 5)->acked());
    loop.run_for(6s);
    EXPECT_TRUE(deliver("j6", 1, 6)->handed_back(5s));
}

// A replica that dies with parked jobs leaves them to the replayer.
TEST_F(GuardedMessages, AParkedJobOutlivesItsReplica) {
    start();
    kernel.answer = [](const auto&) { return ScriptedKernel::says(cap::DECISION_TYPE_THROTTLE); };
    EXPECT_TRUE(deliver("j1", 20)->acked());
    crash();
    kernel.answer = nullptr;
    loop.run_for(3min);
    start();
    for (int i = 0; i < 10; ++i) {
        heartbeat("w1");
        loop.run_for(10s);
    }
    EXPECT_EQ(state("j1"), "RUNNING");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
