#include "engine/config/relations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {
namespace {

std::string own_name(std::string_view tunable) { return std::string(tunable); }

/// What is said of these settings, over the defaults.
std::vector<std::string> said_of(std::initializer_list<std::pair<std::string_view, std::string_view>> settings) {
    Tunables tunables;
    for (const auto& [name, value] : settings) EXPECT_TRUE(set_tunable(tunables, name, value)) << name;
    std::vector<std::string> said;
    for (const Relation& relation : relations())
        if (!relation.holds(tunables)) said.push_back(describe(relation, tunables, own_name));
    return said;
}

TEST(Relations, SpeakOfTunablesThatThereAre) {
    for (const Relation& relation : relations()) {
        EXPECT_NE(find_tunable(relation.first), nullptr) << relation.first;
        EXPECT_NE(find_tunable(relation.second), nullptr) << relation.second;
        EXPECT_TRUE(relation.times.empty() || find_tunable(relation.times) != nullptr) << relation.times;
    }
}

TEST(Relations, TheDefaultsKeepAllOfThem) { EXPECT_TRUE(said_of({}).empty()); }

TEST(Relations, ABrokenOneNamesBothSettingsTheReasonAndTheWayOut) {
    EXPECT_EQ(
        said_of({{"circuit_close_after", "9"}}),
        (std::vector<std::string>{"circuit_close_after 9 is more than circuit_half_open_max 3: the circuit to policy "
                                  "would never close again; ask for fewer successes or allow more probes"}));
    EXPECT_EQ(
        said_of({{"job_meta_ttl", "1h"}}),
        (std::vector<std::string>{
            "job_meta_ttl 1h is shorter than bus_ack_wait 10m × bus_max_deliver 100: a message that comes again after "
            "its "
            "job's records are gone runs the job once more; keep the records for longer or shorten the ack wait"}));
}

TEST(Relations, ReplicasHaveLessTimeThanWhoeverWaitsForThem) {
    EXPECT_TRUE(said_of({{"redis_replicas_patience", "10s"}}).empty()) << "nobody asks them";
    EXPECT_TRUE(said_of({{"redis_replicas", "1"}, {"redis_replicas_patience", "999ms"}}).empty());
    for (const auto& [name, value] :
         {std::pair{"redis_replicas_patience", "1s"}, std::pair{"store_op_timeout", "999ms"}}) {
        const auto said = said_of({{"redis_replicas", "1"}, {name, value}});
        ASSERT_FALSE(said.empty()) << name;
        EXPECT_NE(said.front().find("redis_replicas_patience"), std::string::npos) << said.front();
    }
}

// Each rule is broken by some setting, and by the least step over its edge.
TEST(Relations, EachIsHeldUpToItsEdge) {
    struct Edge {
        std::string_view first, second, name, kept, broken;
    };
    for (const Edge& edge : {Edge{"job_lock_ttl", "safety_timeout", "safety_timeout", "60s", "60001ms"},
                             Edge{"job_lock_ttl", "store_op_timeout", "store_op_timeout", "20s", "20001ms"},
                             Edge{"job_lock_ttl", "store_op_timeout", "store_op_timeout", "20s", "60001ms"},
                             Edge{"job_lock_ttl", "output_meta_timeout", "output_meta_timeout", "60s", "60001ms"},
                             Edge{"job_lock_ttl", "publish_timeout", "job_lock_ttl", "6s", "4999ms"},
                             Edge{"saga_lock_ttl", "saga_rollback_timeout", "saga_lock_ttl", "30s", "29999ms"},
                             Edge{"backoff_max", "backoff_base", "backoff_base", "30s", "30001ms"},
                             Edge{"circuit_close_after", "circuit_half_open_max", "circuit_close_after", "3", "4"},
                             Edge{"publish_resend_limit", "publish_timeout", "publish_timeout", "20s", "20001ms"},
                             Edge{"dispatch_timeout", "publish_resend_limit", "dispatch_timeout", "100s", "99999ms"},
                             Edge{"bus_processed_ttl", "bus_ack_wait", "bus_processed_ttl", "20m", "1199999ms"},
                             Edge{"job_meta_ttl", "bus_ack_wait", "job_meta_ttl", "1000m", "59999999ms"},
                             Edge{"job_meta_ttl", "running_timeout", "running_timeout", "168h", "604800001ms"},
                             Edge{"job_meta_ttl", "dispatch_timeout", "dispatch_timeout", "168h", "604800001ms"},
                             Edge{"snapshot_interval", "worker_ttl", "snapshot_interval", "29999ms", "30s"},
                             Edge{"hydrated_worker_ttl", "worker_ttl", "hydrated_worker_ttl", "30s", "30001ms"}}) {
        EXPECT_TRUE(said_of({{edge.name, edge.kept}}).empty()) << edge.name << " " << edge.kept;
        const auto said = said_of({{edge.name, edge.broken}});
        EXPECT_TRUE(std::ranges::any_of(said,
                                        [&](const std::string& text) {
                                            return text.starts_with(edge.first) &&
                                                   text.find(edge.second) != std::string::npos;
                                        }))
            << edge.name << " " << edge.broken;
    }
}

}  // namespace
}  // namespace lockstep::engine
