#include "sim/scenario/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Cluster small_cluster() {
    Cluster cluster;
    cluster.schedulers = 2;
    cluster.workflow_engines = 1;
    cluster.result_readers = 2;
    WorkerGroup many;
    many.id = "w";
    many.count = 2;
    WorkerGroup single;
    single.id = "gpu";
    cluster.workers = {many, single};
    return cluster;
}

std::vector<std::string> names_of(const Topology& topology, std::span<const NodeId> nodes) {
    std::vector<std::string> names;
    for (const NodeId id : nodes) names.emplace_back(topology.name(id));
    return names;
}

TEST(Topology, NumbersServersThenReplicasThenWorkers) {
    const Topology topology(small_cluster());
    std::vector<std::string> names;
    for (const Topology::Entry& node : topology.nodes()) names.push_back(node.name);
    EXPECT_THAT(names, ElementsAre("redis", "nats", "kernel", "gateway", "operator", "scheduler-0", "scheduler-1",
                                   "workflow-0", "result-reader-0", "result-reader-1", "w-0", "w-1", "gpu"));
    EXPECT_EQ(topology.find("operator"), Topology::kOperator);
    EXPECT_EQ(topology.node(topology.find("w-1")).index, 1);
    EXPECT_EQ(topology.node(topology.find("gpu")).worker_group, 1);
}

TEST(Topology, ExpandsGroupsInTheOrderOfTheirNumbers) {
    const Topology topology(small_cluster());
    EXPECT_THAT(names_of(topology, topology.members("schedulers")), ElementsAre("scheduler-0", "scheduler-1"));
    EXPECT_THAT(names_of(topology, topology.members("result-readers")),
                ElementsAre("result-reader-0", "result-reader-1"));
    EXPECT_THAT(names_of(topology, topology.members("workers")), ElementsAre("w-0", "w-1", "gpu"));
    EXPECT_THAT(names_of(topology, topology.members("w")), ElementsAre("w-0", "w-1"));
    EXPECT_THAT(names_of(topology, topology.members("gpu")), ElementsAre("gpu"));
}

TEST(Topology, KnowsAnEmptyGroupButNoStranger) {
    Cluster cluster;
    const Topology topology(cluster);
    EXPECT_TRUE(topology.known("workflows"));
    EXPECT_THAT(topology.members("workflows"), IsEmpty());
    EXPECT_FALSE(topology.known("scheduler-7"));
    EXPECT_FALSE(topology.find("scheduler-7").valid());
}

TEST(Topology, ReportsNamesThatTwoNodesWouldShare) {
    Cluster cluster = small_cluster();
    cluster.workers[1].id = "w-0";
    EXPECT_THAT(Topology(cluster).clashes(), ElementsAre("w-0"));
    EXPECT_THAT(Topology(small_cluster()).clashes(), IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
