// When facts are delivered, and what the model makes of a keyspace that loses data.
#include "sim/model/model.h"

#include <gmock/gmock.h>

#include "fakes/redis/keyspace.h"

namespace lockstep::sim {
namespace {

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
            if (const auto* change = std::get_if<StateChanged>(&fact))
                delivered.push_back(std::string(to_string(change->from)) + ">" + std::string(to_string(change->to)) +
                                    " while " + std::string(to_string(change->job->state())));
    }
    EventNumber present() override { return events_; }
    [[nodiscard]] const Time& told_at() const override { return now_; }

    EventNumber events_ = 0;
    Time now_{};
};

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
    keys.zset_set(keys.create<fakes::redis::SortedSet>("job:index:running"), "a", 1);
    keys.remove(*keys.find("job:index:running"), fakes::redis::Removal::evicted);
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

}  // namespace
}  // namespace lockstep::sim
