// Submissions that their durable does not deliver: which of them are read from the stream, and when.
#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

namespace wire = engine::wire;

class UntakenSubmissionsTest : public SchedulerTest {
protected:
    UntakenSubmissionsTest() {
        tunables.reconciler_interval = 1s;
        tunables.bus_ack_wait = 20s;
        tunables.worker_ttl = 24h;
    }
    /// Into the stream, and to nobody.
    void stands(const cap::JobRequest& request) {
        stands(wire::serialise(wire::make_packet(request, "", "c", clock.now())));
    }
    void stands(std::string payload) {
        const engine::StreamSequence sequence = bus.store({"sys.job.submit", std::move(payload), {}, {}}).sequence;
        if (durable().in_hand++ == 0) durable().ack_floor = engine::StreamSequence(sequence.value() - 1);
    }
    /// What the durable of submissions says of itself.
    engine::ConsumerState& durable() { return bus.consumer_states["dur_cordum-scheduler__sys_job_submit"]; }
    Duration patience() const { return tunables.bus_ack_wait + tunables.reconciler_interval; }
};

TEST_F(UntakenSubmissionsTest, WhatHasNotComeWithinTheAckWaitIsTakenFromTheStream) {
    start();
    stands(request_for("a"));
    loop.run_for(patience() - 1s);
    EXPECT_EQ(state("a"), "") << "it may still come";
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "RUNNING");
    const std::size_t sent = bus.published.size();
    loop.run_for(10s);
    EXPECT_EQ(bus.published.size(), sent) << "it is known now";
}

TEST_F(UntakenSubmissionsTest, WhatCannotBeReadOrNamesNobodyIsPassedBy) {
    start();
    stands("\x01 no packet");
    stands(cap::JobRequest{});
    stands(request_for("a"));
    loop.run_for(patience() + 1s);
    EXPECT_EQ(state("a"), "RUNNING");
}

TEST_F(UntakenSubmissionsTest, NothingIsReadWhileNothingIsInHand) {
    start();
    stands(request_for("a"));
    durable() = {};
    int reads = 0;
    bus.on_read = [&reads](const std::string&, engine::StreamSequence) -> Outcome<std::optional<StoredMessage>> {
        ++reads;
        return std::optional<StoredMessage>();
    };
    loop.run_for(2 * patience());
    EXPECT_EQ(reads, 0);
    EXPECT_EQ(state("a"), "");
}

TEST_F(UntakenSubmissionsTest, WhatTheStoreMayHaveForgottenIsNotTakenAgain) {
    tunables.job_meta_ttl = 1h;
    start();
    stands(request_for("old"));
    durable() = {};
    loop.run_for(31min);
    stands(request_for("new"));
    durable() = {0, 2, {}};
    loop.run_for(patience() + 1s);
    EXPECT_EQ(state("old"), "");
    EXPECT_EQ(state("new"), "RUNNING");
}

TEST_F(UntakenSubmissionsTest, TheNextTickGoesOnWhereOneHasEnded) {
    start();
    for (int i = 0; i < 150; ++i) stands("\x01 no packet");
    stands(request_for("a"));
    loop.run_for(patience() + 500ms);
    EXPECT_EQ(state("a"), "");
    loop.run_for(2s);
    EXPECT_EQ(state("a"), "RUNNING");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
