#include "sim/oracles/job_table.h"

#include <gtest/gtest.h>

#include "engine/wire/json.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

class JobTableTest : public ::testing::Test {
protected:
    JobTableTest() { judge.watch(keys); }

    void set(const char* field, const char* value) {
        auto* hash = keys.find("job:meta:J");
        keys.hash_set(hash != nullptr ? *hash : keys.create<fakes::redis::Hash>("job:meta:J"), field, value);
    }

    testing::KeepingJudge judge;
    fakes::redis::Keyspace keys;
};

TEST_F(JobTableTest, SaysWhatRedisHasOfAJobAndWhetherItLostAnyOfIt) {
    set("state", "DISPATCHED");
    EXPECT_EQ(judge.table.states().of("J"), "DISPATCHED");
    keys.remove(*keys.find("job:meta:J"), fakes::redis::Removal::evicted);
    EXPECT_TRUE(judge.table.lost().any_of("J"));
}

TEST(RequestReader, ReadsWhatIsARequestAndParsesItOnce) {
    cap::JobRequest request;
    request.set_job_id("J");
    request.set_topic("job.default");
    const std::string json = engine::wire::to_json(request);
    const RequestReader reader;
    const cap::JobRequest* read = reader.read(json);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->topic(), "job.default");
    EXPECT_EQ(reader.read(std::string(json)), read);
    EXPECT_EQ(reader.read("{\"job_id\": 5"), nullptr);
    EXPECT_EQ(reader.read(json)->job_id(), "J");
}

TEST(RecordedStates, AreInTheHashAndWithoutItUnderTheStateKey) {
    RecordedStates states;
    states.hash_set("job:meta:a", "state", "RUNNING");
    states.string_set("job:state:a", "DISPATCHED");
    EXPECT_EQ(states.of("a"), "RUNNING");
    states.key_removed("job:meta:a");
    EXPECT_EQ(states.of("a"), "DISPATCHED");
    states.key_removed("job:state:a");
    EXPECT_EQ(states.of("a"), "");
}

}  // namespace
}  // namespace lockstep::sim
