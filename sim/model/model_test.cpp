// When facts are delivered, and what the model makes of a keyspace that loses data.
#include "sim/model/model.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "fakes/redis/keyspace.h"

namespace lockstep::sim {
namespace {

using fakes::redis::Removal;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr fakes::NodeId kClient{5};

class ModelTest : public ::testing::Test, private EventClock, private FactListener {
protected:
    ModelTest() { keys.add_observer(model); }

    void set(std::string_view key, std::string_view field, std::string_view value) {
        ++events_;
        auto* hash = keys.find(key);
        keys.hash_set(hash != nullptr ? *hash : keys.create<fakes::redis::Hash>(key), field, value);
    }
    void begin() {
        const std::string_view words[] = {"EVALSHA"};
        keys.tell_command(kClient, words, 0);
    }
    void list_in(const std::string& index, const std::string& member) {
        auto* zset = keys.find(index);
        keys.zset_set(zset != nullptr ? *zset : keys.create<fakes::redis::SortedSet>(index), member, 1);
    }
    void befalls(std::string_view fault, std::string_view from = "begin") {
        model.on_event({.kind = fakes::EventKind::fault, .name = fault, .from = from}, {});
    }
    [[nodiscard]] Loss loss(std::string_view name) const {
        const Job* known = model.find(name);
        return known == nullptr ? Loss{} : known->lost;
    }
    [[nodiscard]] bool lost(std::string_view name) const { return loss(name).any(); }
    void end() { keys.tell_command(kClient, {}, 0); }
    [[nodiscard]] const Job& job(std::string_view name) const {
        return *std::ranges::find(model.jobs(), name, &Job::name);
    }

    std::vector<std::vector<std::string>> deliveries;  // of changes of state, as "from>to while it is"
    fakes::redis::Keyspace keys;
    Model model{*this, *this};

private:
    void on_facts(std::span<const Fact> facts) override {
        auto& delivered = deliveries.emplace_back();
        for (const Fact& fact : facts)
            if (const auto* change = fact.as<StateChanged>())
                delivered.push_back(std::string(to_string(change->from)) + ">" + std::string(to_string(change->to)) +
                                    " while " + std::string(to_string(change->job->state())));
    }
    EventNumber present() override { return events_; }
    [[nodiscard]] const Time& told_at() const override { return now_; }

    EventNumber events_ = 0;
    Time now_{};
};

TEST_F(ModelTest, AJobThatIsRoutedWithoutASlotNamesNoWorker) {
    keys.act_for(kClient);
    for (const char* handed : {"w", ".", ".1200"}) set("job:meta:j", "ls_handed", handed);
    EXPECT_NE(model.number_of("w"), 0U);
    EXPECT_EQ(model.number_of("."), 0U);
    EXPECT_EQ(model.number_of(".1200"), 0U);
    EXPECT_EQ(job("j").kept_free, 0U);
}

TEST_F(ModelTest, FactsOfOneCommandComeTogetherAfterIt) {
    begin();
    set("job:meta:a", "state", "SCHEDULED");
    set("job:meta:a", "state", "DISPATCHED");
    EXPECT_THAT(deliveries, IsEmpty());
    end();
    EXPECT_THAT(deliveries,
                ElementsAre(ElementsAre(">SCHEDULED while DISPATCHED", "SCHEDULED>DISPATCHED while DISPATCHED")));
}

TEST_F(ModelTest, WhatBelongsToNoCommandComesAtOnce) {
    set("job:meta:a", "state", "PENDING");
    EXPECT_THAT(deliveries, ElementsAre(ElementsAre(">PENDING while PENDING")));
}

TEST_F(ModelTest, ACommandWhoseEndIsNotToldEndsWithTheNextOne) {
    begin();
    set("job:meta:a", "state", "PENDING");
    begin();
    EXPECT_THAT(deliveries, SizeIs(1));
}

TEST_F(ModelTest, CountsTheJobsOfATenantAlsoWhereItChangesOrIsLost) {
    const auto count = [this](std::string_view name) {
        return std::pair(job(name).tenant->active, job(name).tenant->waiting);
    };
    set("job:meta:a", "state", "RUNNING");
    set("job:meta:b", "state", "PENDING");
    EXPECT_EQ(count("a"), std::pair(1, 1)) << "both are of the default tenant";
    EXPECT_EQ(Model::active(*job("a").tenant, job("a")), 0);
    set("job:meta:a", "tenant", "acme");
    EXPECT_EQ(count("a"), std::pair(1, 0));
    EXPECT_EQ(count("b"), std::pair(0, 1));
    list_in("job:index:running", "a");
    keys.remove(*keys.find("job:index:running"), Removal::evicted);
    EXPECT_TRUE(job("a").is_torn);
    EXPECT_EQ(count("a"), std::pair(0, 0));
}

TEST_F(ModelTest, GoesOnFromWhatRedisHasKept) {
    set("job:meta:a", "ls_worker", "w");
    set("job:meta:a", "state", "SUCCEEDED");
    keys.set_string("job:state:b", "RUNNING", fakes::redis::kNever);
    EXPECT_EQ(job("a").end.state, State::succeeded);
    EXPECT_TRUE(job("b").dispatch.out);
    keys.restore([this] {
        keys.remove(*keys.find("job:state:b"));
        keys.hash_set(*keys.find("job:meta:a"), "state", "RUNNING");
    });
    EXPECT_EQ(job("a").end.state, State::absent);
    EXPECT_EQ(job("a").state(), State::running);
    EXPECT_EQ(model.name_of(job("a").dispatch.worker), "w");
    EXPECT_FALSE(job("b").dispatch.out);
}

TEST_F(ModelTest, AFailoverLosesTheJobsThatItTakesBackAndNoOthers) {
    for (const char* key : {"job:meta:kept", "job:meta:changed", "job:meta:gone"}) set(key, "state", "RUNNING");
    for (const char* name : {"kept", "unlisted"}) list_in("job:index:pending", name);
    keys.restore([this] {
        set("job:meta:changed", "state", "PENDING");
        keys.remove(*keys.find("job:meta:gone"));
        set("job:meta:back", "state", "PENDING");
        keys.zset_remove(*keys.find("job:index:pending"), "unlisted");
    });
    EXPECT_FALSE(lost("kept"));
    for (const char* name : {"changed", "gone", "back", "unlisted"}) {
        EXPECT_TRUE(loss(name).taken_back()) << name;
        EXPECT_FALSE(job(name).is_torn) << name << ": what it has of it agrees";
    }
}

TEST_F(ModelTest, OfSingleKeysOnlyTheHashAndPlacesOfAJobCountAsLost) {
    for (const char* key : {"job:meta:a", "job:meta:b", "job:meta:c"}) set(key, "state", "SUCCEEDED");
    for (const char* key : {"job:req:copy", "cordum:scheduler:job:lock"})
        keys.set_string(key, "{}", fakes::redis::kNever);
    list_in("job:index:pending", "listed");
    for (const char* key : {"job:meta:a", "job:req:copy", "job:index:pending", "cordum:scheduler:job:lock"})
        keys.remove(*keys.find(key), Removal::evicted);
    keys.remove(*keys.find("job:meta:b"), Removal::expired);
    keys.remove(*keys.find("job:meta:c"));
    for (const char* name : {"a", "listed"}) EXPECT_TRUE(loss(name).of_single_keys && job(name).is_torn) << name;
    for (const char* name : {"b", "c", "copy", "lock"}) EXPECT_FALSE(lost(name)) << name;
    for (const char* key : {"job:result_ptr:cut", "job:req:copy"}) {
        keys.set_string(key, "redis://res:a", fakes::redis::kNever);
        keys.set_string(key, "redis:", fakes::redis::kNever);
    }
    EXPECT_TRUE(lost("cut"));
    EXPECT_FALSE(lost("copy")) << "a job is given up whose request cannot be read";
}

TEST_F(ModelTest, WhatRedisHasLostOfTheResultsOfARunIsNotKnown) {
    const auto result = [this](const char* key) { return model.runs().results_at(key); };
    for (const char* key : {"wf:run:r", "res:r:a@1", "res:r:b@1"}) keys.set_string(key, "{}", fakes::redis::kNever);
    ASSERT_NE(result("res:r:a@1"), nullptr);
    keys.remove(*keys.find("res:r:a@1"), Removal::evicted);
    EXPECT_EQ(result("res:r:a@1"), nullptr);
    EXPECT_NE(result("res:r:b@1"), nullptr);
    keys.restore([this] { keys.set_string("wf:run:r", "{}", fakes::redis::kNever); });
    EXPECT_EQ(result("res:r:b@1"), nullptr);
}

TEST_F(ModelTest, WhatARestartTakesIsNoFailovers) {
    const auto take_back = [this](std::string_view key) {
        set(key, "state", "DISPATCHED");
        keys.restore([&] { set(key, "state", "PENDING"); });
    };
    befalls("redis.two_primaries");
    befalls("redis.two_primaries", "end");  // and no turn had to change any more
    befalls("redis.restart");
    take_back("job:meta:a");
    EXPECT_TRUE(loss("a").by_restart);
    befalls("redis.failover");
    take_back("job:meta:b");
    EXPECT_FALSE(loss("b").by_restart);
    EXPECT_TRUE(loss("b").by_failover);
}

TEST_F(ModelTest, AWordOfAWorkerThatNoReplicaHeardIsNoSignOfLife) {
    cap::BusPacket packet;
    packet.mutable_heartbeat()->set_worker_id("w");
    fakes::Event event{.kind = fakes::EventKind::core_deliver, .subject = "sys.heartbeat", .packet = &packet};
    model.on_event(event, {});
    event.node = kClient;
    EXPECT_THAT(model.workers_of(kClient), IsEmpty());
    model.on_event(event, {});
    EXPECT_THAT(model.workers_of(kClient), ::testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace lockstep::sim
