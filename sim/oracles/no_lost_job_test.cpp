// Which acknowledged submissions may be gone where data was lost.
#include "sim/oracles/no_lost_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::redis::Hash;
using fakes::redis::Keyspace;

void set_state(Keyspace& keys, const std::string& job, std::string_view state) {
    const std::string key = "job:meta:" + job;
    Keyspace::Node* node = keys.find(key);
    keys.hash_set(node == nullptr ? keys.create<Hash>(key) : *node, "state", state);
}

class NoLostJobWithLoss : public ::testing::Test {
protected:
    NoLostJobWithLoss() {
        judge.watch(keys);
        keys.add_observer(oracle);
    }
    void submit(const std::string& job) {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_topic("job.default");
        const cap::BusPacket packet = engine::wire::make_packet(std::move(request), "trace", "gateway", {});
        const std::string id = "jobreq:" + job;
        fakes::Event stored = testing::event_of(EventKind::stored, job);
        stored.subject = engine::wire::kSubjectSubmit;
        stored.message_id = id;
        stored.packet = &packet;
        judge.tell(oracle, stored, {});
        fakes::Event told = testing::event_of(EventKind::submit, job, fakes::When::answered);
        told.flag = true;
        judge.tell(oracle, told, {});
    }
    void take_up(const std::string& job) {
        set_state(keys, job, "PENDING");
        judge.tell(oracle, testing::state_event(job, "", "PENDING"), {});
    }
    void cut_power() { befalls("nats.power_cut"); }
    void befalls(const char* name) {
        fakes::Event fault = testing::event_of(EventKind::fault, {});
        fault.name = name;
        fault.from = "begin";
        judge.tell(oracle, fault, {});
    }
    [[nodiscard]] std::vector<std::string> verdicts() {
        judge.found.clear();
        oracle.at_rest({.redis = keys, .quiet = true});
        return judge.found;
    }
    testing::KeepingJudge judge;
    NoLostJob oracle{judge};
    Keyspace keys;
};

TEST_F(NoLostJobWithLoss, ALeaderThatGoesBeforeAnyTickHasNotedItMayTakeAlongWhatItHad) {
    submit("a");
    befalls("nats.new_leader");
    EXPECT_THAT(verdicts(), ::testing::IsEmpty());
    submit("b");
    judge.hash_set(oracle, {}, "lockstep:durable:dur_cordum-scheduler__sys_job_submit", "leader", nullptr, "n1");
    befalls("nats.new_leader");
    ASSERT_EQ(verdicts().size(), 1U);
    EXPECT_TRUE(judge.found.front().starts_with("b: "));
}

TEST_F(NoLostJobWithLoss, ExcusesOnlyTheJobThatWasForgotten) {
    for (const char* job : {"a", "b"}) {
        submit(job);
        take_up(job);
    }
    EXPECT_EQ(verdicts().size(), 2U);
    keys.restore([this] { keys.remove(*keys.find("job:meta:a")); });
    ASSERT_EQ(verdicts().size(), 1U);
    EXPECT_TRUE(judge.found.front().starts_with("b: "));
}

TEST_F(NoLostJobWithLoss, APowerCutExcusesWhatOnlyTheStreamKnew) {
    submit("known");
    take_up("known");
    submit("stored");
    cut_power();
    submit("later");
    ASSERT_EQ(verdicts().size(), 2U);
    EXPECT_TRUE(judge.found[0].starts_with("known: "));
    EXPECT_TRUE(judge.found[1].starts_with("later: "));
}

}  // namespace
}  // namespace lockstep::sim
