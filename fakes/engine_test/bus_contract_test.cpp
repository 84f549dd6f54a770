// The contract of the bus port. Whatever is expected here holds in both worlds: see bus_server.h.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/runtime/scope.h"
#include "engine/wire/subjects.h"
#include "fakes/testing/bus_server.h"

namespace lockstep::fakes::engine_test {
namespace {

using namespace std::chrono_literals;
using engine::OutcomeKind;

constexpr const char* kSubmit = "sys.job.submit";
constexpr const char* kSys = "CORDUM_SYS";
constexpr const char* kJobs = "CORDUM_JOBS";

struct Kept final : engine::DeliverySink, engine::MessageSink {
    std::deque<std::unique_ptr<engine::Delivery>> deliveries;
    std::vector<std::string> messages;
    void on_delivery(std::unique_ptr<engine::Delivery> delivery) override { deliveries.push_back(std::move(delivery)); }
    void on_message(std::string_view, std::string_view payload) override { messages.emplace_back(payload); }
    std::unique_ptr<engine::Delivery> take() {
        auto first = std::move(deliveries.front());
        deliveries.pop_front();
        return first;
    }
};

template <class T>
engine::Task<void> keep(engine::Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
}

class BusContract : public ::testing::Test {
protected:
    void SetUp() override {
        server = start_bus_server();
        if (!server) GTEST_SKIP() << "nats-server is not installed";
        scope = std::make_unique<engine::Scope>(server->executor());
    }
    void TearDown() override { scope.reset(); }

    engine::Bus& bus() { return server->bus(); }
    engine::Bus& other() { return server->other(); }
    [[nodiscard]] engine::MonoTime in(engine::Duration delay) { return server->executor().monotonic() + delay; }
    bool until(const std::function<bool()>& done, engine::Duration limit = 20s) {
        return server->run_until(done, limit);
    }
    template <class T>
    T finish(engine::Task<T> task) {
        std::optional<T> result;
        scope->spawn(keep(std::move(task), result));
        EXPECT_TRUE(until([&] { return result.has_value(); }, 60s));
        return std::move(result).value();
    }
    engine::Outcome<engine::PublishAck> publish(const std::string& subject, const std::string& payload = "p",
                                                const std::string& id = "") {
        return finish(bus().publish(subject, payload, id, in(5s)));
    }
    std::uint64_t store(const std::string& subject, const std::string& payload = "p") {
        const auto ack = finish(other().publish(subject, payload, "", in(5s)));
        EXPECT_TRUE(ack.applied());
        return ack.applied() ? ack.value().sequence.value() : 0;
    }
    engine::StreamState stream_state(const char* stream) {
        const auto state = finish(other().stream_state(stream, in(5s)));
        EXPECT_TRUE(state.applied());
        return state.applied() ? state.value() : engine::StreamState{};
    }
    static engine::ConsumerSpec spec() {
        return {.stream = kSys,
                .subject = kSubmit,
                .queue = std::string(engine::wire::kQueueScheduler),
                .durable = engine::wire::durable_name(engine::wire::kQueueScheduler, kSubmit),
                .ack_wait = 1s,
                .max_deliver = 10,
                .max_ack_pending = 100};
    }
    static engine::ConsumerSpec patient() {
        auto wanted = spec();
        wanted.ack_wait = 10min;
        return wanted;
    }
    std::unique_ptr<engine::Consumption> consume(engine::Bus& by, Kept& sink, engine::ConsumerSpec with = spec()) {
        auto bound = finish(by.consume(std::move(with), sink, in(5s)));
        EXPECT_TRUE(bound.applied()) << (bound.applied() ? "" : bound.failure().detail);
        return bound.applied() ? std::move(bound).value() : nullptr;
    }
    /// Waiting, in hand, floor. It may lag behind the answers.
    using State = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
    std::optional<State> consumer_state() {
        const auto state = finish(other().consumer_state(kSys, spec().durable, in(5s)));
        EXPECT_TRUE(state.applied());
        if (!state.applied() || !state.value()) return std::nullopt;
        return State{state.value()->waiting, state.value()->in_hand, state.value()->ack_floor.value()};
    }
    void expect_state(State wanted, const char* when) {
        std::optional<State> last;
        const bool met = until_state(wanted, last);
        ASSERT_TRUE(last) << when;
        EXPECT_TRUE(met) << when << ": waiting " << std::get<0>(*last) << ", in hand " << std::get<1>(*last)
                         << ", floor " << std::get<2>(*last);
    }
    bool until_state(State wanted, std::optional<State>& last) {
        const engine::MonoTime limit = in(3s);
        while (server->executor().monotonic() < limit) {
            last = consumer_state();
            if (last == wanted) return true;
            pass(10ms);
        }
        return false;
    }
    /// What was under way has arrived.
    void pass(engine::Duration time) {
        const engine::MonoTime end = in(time);
        until([&] { return server->executor().monotonic() >= end; }, time + 1ms);
    }
    bool connected_again(std::uint64_t former) {
        return until([&] { return bus().connection().connected && bus().connection().id > former; });
    }

    std::unique_ptr<BusServer> server;
    std::unique_ptr<engine::Scope> scope;
};

TEST_F(BusContract, APublishIsStoredOnceForEachMessageId) {
    const auto first = publish(kSubmit, "one", "id-1");
    ASSERT_TRUE(first.applied());
    EXPECT_EQ(first.value().stream, kSys);
    EXPECT_EQ(first.value().sequence.value(), 1U);
    EXPECT_FALSE(first.value().duplicate);
    EXPECT_EQ(first.value().connection, 1U);
    const auto again = publish(kSubmit, "one", "id-1");
    ASSERT_TRUE(again.applied());
    EXPECT_TRUE(again.value().duplicate);
    EXPECT_EQ(again.value().sequence.value(), 1U);
    EXPECT_EQ(publish(kSubmit, "two", "id-2").value().sequence.value(), 2U);
    EXPECT_EQ(publish("worker.w.jobs").value().stream, kJobs);
}

TEST_F(BusContract, APublishWithoutAStreamIsUnknown) {
    const auto nobody = finish(bus().publish("elsewhere", "p", "", in(300ms)));
    ASSERT_EQ(nobody.kind(), OutcomeKind::unknown);
    EXPECT_EQ(nobody.unknown().connection, 1U);
}

TEST_F(BusContract, WithoutAConnectionNothingIsAppliedAndNothingIsBuffered) {
    server->disconnect();
    EXPECT_FALSE(bus().connection().connected);
    EXPECT_EQ(bus().connection().id, 1U) << "of the last one";
    EXPECT_EQ(publish(kSubmit).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(finish(bus().publish_core("sys.heartbeat", "p")).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(finish(bus().read_message(kSys, engine::StreamSequence(1), in(1s))).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(finish(bus().stream_state(kSys, in(1s))).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(finish(bus().consumer_state(kSys, "d", in(1s))).kind(), OutcomeKind::not_applied);
    Kept sink;
    EXPECT_EQ(finish(bus().consume(spec(), sink, in(1s))).kind(), OutcomeKind::not_applied);
    server->reconnect();
    ASSERT_TRUE(connected_again(1));
    EXPECT_EQ(bus().connection().id, 2U);
    EXPECT_EQ(publish(kSubmit).value().connection, 2U);
    EXPECT_EQ(stream_state(kSys).last_sequence.value(), 1U);
}

TEST_F(BusContract, AnAnswerThatIsLostIsUnknownAlthoughTheMessageIsStored) {
    server->lose_next_answer();
    const auto lost = finish(bus().publish(kSubmit, "p", "id", in(1s)));
    ASSERT_EQ(lost.kind(), OutcomeKind::unknown);
    EXPECT_EQ(lost.unknown().connection, 1U);
    EXPECT_EQ(stream_state(kSys).last_sequence.value(), 1U);
    ASSERT_TRUE(until([&] { return bus().connection().connected; }));
    const auto again = publish(kSubmit, "p", "id");
    ASSERT_TRUE(again.applied());
    EXPECT_TRUE(again.value().duplicate);
    EXPECT_EQ(again.value().sequence.value(), 1U);
}

TEST_F(BusContract, AStreamIsReadFromASequenceBySubjectOrNot) {
    const std::string bytes("\0\xff\r\n", 4);
    ASSERT_TRUE(publish("worker.a.jobs", bytes, "id-1").applied());
    store("worker.b.jobs", "second");
    store("worker.a.jobs", "third");
    const auto by_subject = finish(bus().read_stream(kJobs, "worker.a.jobs", engine::StreamSequence(2), in(5s)));
    ASSERT_TRUE(by_subject.applied() && by_subject.value());
    EXPECT_EQ(by_subject.value()->sequence.value(), 3U);
    EXPECT_EQ(by_subject.value()->subject, "worker.a.jobs");
    const auto first = finish(bus().read_stream(kJobs, "worker.a.jobs", engine::StreamSequence(0), in(5s)));
    ASSERT_TRUE(first.applied() && first.value());
    EXPECT_EQ(first.value()->message_id, "id-1");
    EXPECT_EQ(first.value()->payload, bytes);
    const auto any = finish(bus().read_stream(kJobs, "", engine::StreamSequence(2), in(5s)));
    ASSERT_TRUE(any.applied() && any.value());
    EXPECT_EQ(any.value()->subject, "worker.b.jobs");
    EXPECT_GE(any.value()->stored_at, first.value()->stored_at);
    const auto none = finish(bus().read_stream(kJobs, "worker.a.jobs", engine::StreamSequence(4), in(5s)));
    ASSERT_TRUE(none.applied());
    EXPECT_FALSE(none.value());
    EXPECT_EQ(finish(bus().read_stream("NOWHERE", "", engine::StreamSequence(1), in(5s))).kind(),
              OutcomeKind::not_applied);
}

TEST_F(BusContract, AMessageIsReadByItsNumber) {
    ASSERT_TRUE(publish("worker.a.jobs", "first", "id-1").applied());
    const auto found = finish(bus().read_message(kJobs, engine::StreamSequence(1), in(5s)));
    ASSERT_TRUE(found.applied() && found.value());
    EXPECT_EQ(found.value()->payload, "first");
    EXPECT_EQ(found.value()->subject, "worker.a.jobs");
    EXPECT_EQ(found.value()->message_id, "id-1");
    const auto none = finish(bus().read_message(kJobs, engine::StreamSequence(2), in(5s)));
    ASSERT_TRUE(none.applied());
    EXPECT_FALSE(none.value());
    EXPECT_EQ(finish(bus().read_message("NOWHERE", engine::StreamSequence(1), in(5s))).kind(),
              OutcomeKind::not_applied);
}

TEST_F(BusContract, AStreamTellsHowFarItGoes) {
    const auto empty = stream_state(kSys);
    EXPECT_EQ(empty.last_sequence.value(), 0U);
    EXPECT_NE(empty.created, engine::WallTime{});
    store(kSubmit);
    store(kSubmit);
    const auto two = stream_state(kSys);
    EXPECT_EQ(two.first_sequence.value(), 1U);
    EXPECT_EQ(two.last_sequence.value(), 2U);
    EXPECT_EQ(two.created, empty.created);
    EXPECT_EQ(finish(bus().stream_state("NOWHERE", in(5s))).kind(), OutcomeKind::not_applied);
}

TEST_F(BusContract, AStreamThatIsMadeAnewIsAnotherOne) {
    store(kSubmit);
    const auto before = stream_state(kSys);
    server->make_stream_anew(kSys);
    const auto after = stream_state(kSys);
    EXPECT_EQ(after.last_sequence.value(), 0U);
    EXPECT_NE(after.created, before.created);
    EXPECT_EQ(stream_state(kSys).created, after.created);
    EXPECT_EQ(store(kSubmit), 1U);
}

TEST_F(BusContract, AStreamIsTheSameAfterARestart) {
    store(kSubmit);
    const auto before = stream_state(kSys);
    server->restart();
    ASSERT_TRUE(until([&] { return other().connection().connected && other().connection().id == 2; }));
    EXPECT_EQ(stream_state(kSys).created, before.created);
    EXPECT_EQ(stream_state(kSys).last_sequence.value(), 1U);
}

TEST_F(BusContract, ADeliveryIsAcknowledgedOnceAndForAll) {
    Kept sink;
    const auto consumption = consume(bus(), sink);
    const auto sequence = store(kSubmit, "payload");
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    const auto delivery = sink.take();
    EXPECT_EQ(delivery->subject(), kSubmit);
    EXPECT_EQ(delivery->payload(), "payload");
    EXPECT_EQ(delivery->stream(), kSys);
    EXPECT_EQ(delivery->sequence().value(), sequence);
    EXPECT_EQ(delivery->delivery_count(), 1U);
    delivery->ack();
    delivery->nak(0s);
    pass(1500ms);
    EXPECT_TRUE(sink.deliveries.empty());
}

TEST_F(BusContract, WithoutAVerdictItComesAgainAfterTheAckWait) {
    Kept sink;
    const auto consumption = consume(bus(), sink);
    store(kSubmit);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 2; }));
    EXPECT_EQ(sink.deliveries[1]->sequence(), sink.deliveries[0]->sequence());
    EXPECT_EQ(sink.deliveries[1]->delivery_count(), 2U);
}

TEST_F(BusContract, ANakBringsItBackAtOnceOrLater) {
    Kept sink;
    const auto consumption = consume(bus(), sink, patient());
    store(kSubmit);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    sink.take()->nak(0s);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    EXPECT_EQ(sink.deliveries[0]->delivery_count(), 2U);
    const engine::MonoTime told = in(0s);
    sink.take()->nak(400ms);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    EXPECT_GE(server->executor().monotonic() - told, 390ms);
    EXPECT_EQ(sink.deliveries[0]->delivery_count(), 3U);
}

TEST_F(BusContract, ATermIsTheEnd) {
    Kept sink;
    const auto consumption = consume(bus(), sink);
    store(kSubmit);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    sink.take()->term();
    pass(1500ms);
    EXPECT_TRUE(sink.deliveries.empty());
}

TEST_F(BusContract, InProgressStartsTheAckWaitAfresh) {
    Kept sink;
    const auto consumption = consume(bus(), sink);
    store(kSubmit);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    const auto delivery = sink.take();
    for (int i = 0; i < 3; ++i) {
        pass(600ms);
        delivery->in_progress();
    }
    EXPECT_TRUE(sink.deliveries.empty());
    delivery->ack();
}

TEST_F(BusContract, ADurableWithOtherSettingsIsNotApplied) {
    Kept sink;
    const auto consumption = consume(bus(), sink);
    auto longer = spec();
    longer.ack_wait = 2s;
    const auto outcome = finish(bus().consume(longer, sink, in(5s)));
    EXPECT_EQ(outcome.kind(), OutcomeKind::not_applied);
    auto lost = spec();
    lost.stream = "NOWHERE";
    EXPECT_EQ(finish(bus().consume(lost, sink, in(5s))).kind(), OutcomeKind::not_applied);
}

TEST_F(BusContract, ADurableBelongsToTheFirstDeploymentThatReadsIt) {
    const auto owner = [this] {
        const auto state = finish(other().consumer_state(kSys, spec().durable, in(5s)));
        EXPECT_TRUE(state.applied() && state.value());
        return state.applied() && state.value() ? state.value()->deployment : "no answer";
    };
    Kept sink;
    consume(bus(), sink).reset();
    EXPECT_EQ(owner(), "") << "a durable of others names none";
    auto mine = spec();
    mine.deployment = "7f0c-mine";
    const auto consumption = consume(bus(), sink, mine);
    EXPECT_EQ(owner(), "7f0c-mine");
    auto theirs = spec();
    theirs.deployment = "theirs";
    const auto refused = finish(other().consume(theirs, sink, in(5s)));
    ASSERT_EQ(refused.kind(), OutcomeKind::not_applied);
    EXPECT_NE(refused.failure().detail.find("belongs to deployment 7f0c-mine"), std::string::npos)
        << refused.failure().detail;
    consume(other(), sink).reset();  // without a deployment nothing is compared
    consume(other(), sink, mine).reset();
    EXPECT_EQ(owner(), "7f0c-mine");
}

TEST_F(BusContract, AConsumerTellsWhatItHasStillToDo) {
    EXPECT_FALSE(consumer_state()) << "there is none yet";
    EXPECT_EQ(finish(other().consumer_state("NOWHERE", "d", in(5s))).kind(), OutcomeKind::not_applied);
    Kept sink;
    auto limited = patient();
    limited.max_ack_pending = 4;
    const auto consumption = consume(bus(), sink, limited);
    expect_state({0, 0, 0}, "before anything is stored");
    store("sys.job.result", "of another subject");  // 1
    for (int i = 0; i < 6; ++i) store(kSubmit);     // 2 to 7
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 4; }));
    expect_state({2, 4, 0}, "four handed out");
    sink.deliveries[2]->ack();  // 4
    expect_state({1, 4, 0}, "an ack out of order frees a place");
    sink.deliveries[0]->ack();  // 2
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 6; }));
    expect_state({0, 4, 2}, "the floor follows the first in hand");
    sink.deliveries[1]->term();  // 3
    expect_state({0, 3, 4}, "a term counts like an ack, and the floor jumps over what was settled");
    sink.deliveries[3]->nak(0s);  // 5
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 7; }));
    expect_state({0, 3, 4}, "what is delivered again is in hand");
    sink.deliveries[4]->nak(10min);  // 6
    sink.deliveries[6]->ack();       // 5, its second delivery
    expect_state({0, 2, 5}, "what waits for its next delivery is in hand");
    sink.deliveries[5]->ack();  // 7
    sink.deliveries[4]->ack();  // its answer has been given
    expect_state({0, 1, 5}, "a second answer counts for nothing");
}

TEST_F(BusContract, TheFloorOfAnIdleConsumerIsBehindAllThatItHasLookedAt) {
    Kept sink;
    const auto consumption = consume(bus(), sink, patient());
    store("sys.job.result");  // 1
    store(kSubmit);           // 2
    store("sys.job.result");  // 3
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    expect_state({0, 1, 0}, "one in hand");
    store(kSubmit);  // 4
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 2; }));
    sink.deliveries[1]->ack();
    expect_state({0, 1, 0}, "the last one acknowledged");
    sink.deliveries[0]->ack();
    expect_state({0, 0, 4}, "nothing in hand");
}

TEST_F(BusContract, WhatAPausedConsumerIsHandedArrivesAndTheRestWaits) {
    Kept sink;
    const auto consumption = consume(bus(), sink, patient());
    store(kSubmit);
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 1; }));
    consumption->pause();
    pass(100ms);
    for (int i = 0; i < 3; ++i) store(kSubmit);
    pass(100ms);
    EXPECT_EQ(sink.deliveries.size(), 1U);
    expect_state({3, 1, 0}, "paused");
    sink.deliveries[0]->ack();  // answers are sent all the same
    consumption->resume();
    ASSERT_TRUE(until([&] { return sink.deliveries.size() == 4; }));
    for (const auto& delivery : sink.deliveries) EXPECT_EQ(delivery->delivery_count(), 1U);
    expect_state({0, 3, 1}, "resumed");
}

TEST_F(BusContract, APauseLeavesTheRestToTheOthersAndSurvivesReconnecting) {
    Kept paused, active;
    const auto first = consume(bus(), paused, patient());
    const auto second = consume(other(), active, patient());
    first->pause();
    server->break_connection();
    ASSERT_TRUE(connected_again(1));
    pass(100ms);
    for (int i = 0; i < 10; ++i) store(kSubmit);
    ASSERT_TRUE(until([&] { return active.deliveries.size() == 10; }));
    EXPECT_TRUE(paused.deliveries.empty());
    first->resume();
    pass(500ms);
    for (int i = 0; i < 60; ++i) store(kSubmit);
    ASSERT_TRUE(until([&] { return active.deliveries.size() + paused.deliveries.size() == 70; }));
    EXPECT_FALSE(paused.deliveries.empty());
}

TEST_F(BusContract, SubscriptionsAreThereAgainAfterReconnecting) {
    Kept heard, delivered;
    const auto core = bus().subscribe("sys.heartbeat", "", heard);
    const auto durable = consume(bus(), delivered, patient());
    server->break_connection();
    ASSERT_TRUE(connected_again(1));
    pass(100ms);
    ASSERT_TRUE(finish(other().publish_core("sys.heartbeat", "beat")).applied());
    store(kSubmit);
    EXPECT_TRUE(until([&] { return heard.messages.size() == 1 && delivered.deliveries.size() == 1; }));
}

TEST_F(BusContract, ConnectionsAreNumberedAndTheirServerIsNamed) {
    const auto first = bus().connection();
    EXPECT_TRUE(first.connected);
    EXPECT_EQ(first.id, 1U);
    EXPECT_FALSE(first.server.empty());
    EXPECT_EQ(first.max_payload, 1'048'576U);
    EXPECT_EQ(other().connection().server, first.server);
    server->break_connection();
    ASSERT_TRUE(connected_again(1));
    EXPECT_EQ(bus().connection().id, 2U);
    EXPECT_EQ(bus().connection().server, first.server) << "the same process";
    server->restart();
    ASSERT_TRUE(connected_again(2));
    EXPECT_EQ(bus().connection().id, 3U);
    EXPECT_NE(bus().connection().server, first.server) << "another process";
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
