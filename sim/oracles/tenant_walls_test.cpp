#include "sim/oracles/tenant_walls.h"

#include <gmock/gmock.h>

#include "engine/wire/json.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;
using namespace std::chrono_literals;

class TenantWallsTest : public ::testing::Test {
protected:
    /// A request with these tenants in field, environment and metadata is stored, by a gateway or by a replica.
    void store(const std::string& job, const char* field, const char* env = "", const char* meta = "",
               fakes::NodeId by = Topology::kGateway) {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_tenant_id(field);
        if (*env != '\0') (*request.mutable_env())["tenant_id"] = env;
        request.mutable_meta()->set_tenant_id(meta);
        oracle.string_set(by, "job:req:" + job, nullptr, engine::wire::to_json(request), -1, -1);
    }
    void document(const std::string& key, const std::string& text) {
        oracle.string_set(Topology::kOperator, key, nullptr, text, -1, -1);
    }
    void pass(engine::Duration duration) {
        now += duration;
        tell(testing::event_of(fakes::EventKind::timer, ""));
    }
    void take_up(const std::string& job) {
        const std::string key = "cordum:scheduler:job:" + job;
        fakes::Event event = testing::event_of(fakes::EventKind::lock_acquired, job);
        event.key = key;
        event.node = kReplica;
        tell(event);
    }
    void give_back(const std::string& job) {
        const std::string key = "cordum:scheduler:job:" + job;
        fakes::Event event = testing::event_of(fakes::EventKind::lock_released, job);
        event.key = key;
        event.node = kReplica;
        tell(event);
    }
    void ask(const std::string& job, const std::string& tenant, const std::string& settings = "") {
        cap::PolicyCheckRequest question;
        question.set_tenant(tenant);
        question.set_effective_config(settings);
        const std::string bytes = question.SerializeAsString();
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, job, fakes::When::before);
        event.node = kReplica;
        event.payload = bytes;
        tell(event);
    }
    void undo(const std::string& job, const char* field, const char* env = "") {
        cap::BusPacket packet;
        packet.set_sender_id("cordum-scheduler-saga");
        auto& request = *packet.mutable_job_request();
        request.set_parent_job_id(job);
        request.set_tenant_id(field);
        if (*env != '\0') (*request.mutable_env())["tenant_id"] = env;
        fakes::Event event = testing::event_of(fakes::EventKind::publish, "comp-1", fakes::When::before);
        event.node = kReplica;
        event.subject = "sys.job.submit";
        event.packet = &packet;
        tell(event);
    }
    void tell(const fakes::Event& event) { judge.tell(oracle, event, now); }

    Time now{100s};
    testing::KeepingJudge judge;
    TenantWalls oracle{judge};
};

TEST_F(TenantWallsTest, AJobOfOneTenantThatStaysWithItIsSound) {
    store("a", " acme ", "acme", "acme");
    store("b", "");
    oracle.hash_set(kReplica, "job:meta:a", "tenant", nullptr, "acme");
    oracle.hash_set(kReplica, "job:meta:b", "tenant", nullptr, "default");
    oracle.set_added(kReplica, "job:tenant:active:acme", "a");
    oracle.zset_set(kReplica, "lockstep:tenant:slots:default", "b", nullptr, 1);
    ask("a", "acme");
    ask("b", "default");
    undo("a", "acme", "acme");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GT(oracle.exercised(), 0u);
}

TEST_F(TenantWallsTest, WhatAGatewayDoesIsItsOwnAffair) {
    store("a", "acme", "", "initech");
    oracle.hash_set(Topology::kGateway, "job:meta:a", "tenant", nullptr, "initech");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TenantWallsTest, AJobCountsForNobodyElse) {
    store("a", "acme");
    oracle.set_added(kReplica, "job:tenant:active:initech", "a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is a job of acme, and it counts as one of initech")));
}

TEST_F(TenantWallsTest, AJobTakesNobodyElsesSlot) {
    store("a", "acme");
    oracle.zset_set(kReplica, "lockstep:tenant:waiting:initech", "a", nullptr, 1);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("initech")));
}

// A stranger's submission was taken up first, and then the gateway records a job of its own under the same id.
TEST_F(TenantWallsTest, AJobCountsAsAGatewayHasNamedItUntilItIsTakenUpAgain) {
    store("a", "acme");
    take_up("a");
    oracle.hash_set(Topology::kGateway, "job:meta:a", "tenant", nullptr, "initech");
    oracle.set_added(kReplica, "job:tenant:active:initech", "a");
    oracle.zset_set(kReplica, "lockstep:tenant:slots:initech", "a", nullptr, 1);
    EXPECT_THAT(judge.found, IsEmpty());
    oracle.zset_set(kReplica, "lockstep:tenant:slots:umbrella", "a", nullptr, 1);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("umbrella")));
    judge.found.clear();
    take_up("a");
    oracle.set_added(kReplica, "job:tenant:active:initech", "a");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it counts as one of initech")));
}

TEST_F(TenantWallsTest, PolicyIsAskedAboutItAsItsTenants) {
    store("a", "acme");
    ask("a", "initech");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("asked as for initech")));
}

TEST_F(TenantWallsTest, WhoeverReadTheRequestBeforeItWasReplacedMayAskAboutThatOne) {
    store("a", "acme");
    take_up("a");
    pass(1s);
    store("a", "initech", "", "", Topology::kGateway);
    ask("a", "acme");
    EXPECT_THAT(judge.found, IsEmpty());
    pass(1s);
    take_up("a");
    ask("a", "acme");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("asked as for acme")));
}

TEST_F(TenantWallsTest, ARequestOfTwoTenantsIsNotAskedAbout) {
    store("a", "acme", "", "initech");
    ask("a", "acme");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its metadata says initech")));
}

TEST_F(TenantWallsTest, WhatIsStoredOfAJobDoesNotBecomeAnothersRequest) {
    store("a", "acme");
    store("a", "acme", "", "", kReplica);
    EXPECT_THAT(judge.found, IsEmpty());
    store("a", "initech", "", "", kReplica);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("was acme's, and becomes initech's")));
}

TEST_F(TenantWallsTest, ACompensationRunsAsTheTenantOfItsJob) {
    store("a", "acme");
    undo("a", "initech");
    undo("a", "acme", "initech");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("undone by one of"), HasSubstr("undone by one of")));
}

constexpr const char* kNoPay = R"({"data":{"safety":{"denied_topics":["job.pay"]}}})";

TEST_F(TenantWallsTest, WhatIsDeniedAboveIsToldToPolicy) {
    document("cfg:org:acme", kNoPay);
    store("a", "acme");
    pass(1s);
    take_up("a");
    ask("a", "acme", R"({"safety":{"denied_topics":["job.x","job.pay"]}})");
    EXPECT_THAT(judge.found, IsEmpty());
    ask("a", "acme", R"({"safety":{"denied_topics":["job.x"]}})");
    ask("a", "acme");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("\"job.pay\" is denied"), HasSubstr("\"job.pay\" is denied")));
}

// Its replica has tried the step before, and now asks as a rollback does that is to submit it.
TEST_F(TenantWallsTest, WhoeverDoesNotHoldTheJobAsksForARollback) {
    document("cfg:org:acme", kNoPay);
    store("a", "acme");
    pass(1s);
    take_up("a");
    give_back("a");
    ask("a", "acme");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up("a");
    ask("a", "acme");
    EXPECT_EQ(judge.found.size(), 1u);
}

TEST_F(TenantWallsTest, WhatIsAllowedAboveIsNotWidened) {
    document("cfg:system:default", R"({"data":{"safety":{"allowed_topics":["job.a.*"]}}})");
    store("a", "acme");
    pass(1s);
    take_up("a");
    for (const char* within : {R"(["job.a.b"])", R"(["job.a.*"])", R"~(["(nothing)"])~"})
        ask("a", "acme", std::string(R"({"safety":{"allowed_topics":)") + within + "}}");
    EXPECT_THAT(judge.found, IsEmpty());
    for (const char* wider : {"[]", R"(["job.*"])", R"(["job.b"])"})
        ask("a", "acme", std::string(R"({"safety":{"allowed_topics":)") + wider + "}}");
    EXPECT_EQ(judge.found.size(), 3u);
}

TEST_F(TenantWallsTest, ADocumentThatChangedSinceTheTakeUpMayCountInEitherForm) {
    document("cfg:org:acme", kNoPay);
    store("a", "acme");
    pass(1s);
    take_up("a");
    pass(1s);
    document("cfg:org:acme", R"({"data":{"safety":{"denied_topics":["job.y"]}}})");
    ask("a", "acme", R"({"safety":{"denied_topics":["job.pay"]}})");
    ask("a", "acme", R"({"safety":{"denied_topics":["job.y"]}})");
    EXPECT_THAT(judge.found, IsEmpty());
    pass(1s);
    take_up("a");
    ask("a", "acme", R"({"safety":{"denied_topics":["job.pay"]}})");
    EXPECT_EQ(judge.found.size(), 1u);
}

TEST_F(TenantWallsTest, ADocumentThatAFailoverHasLostBindsNobody) {
    document("cfg:org:acme", kNoPay);
    pass(1s);
    oracle.restored(fakes::redis::Keyspace{});
    store("a", "acme");
    pass(1s);
    take_up("a");
    ask("a", "acme");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(TenantWallsTest, ABrokenDocumentOpensNothing) {
    document("cfg:org:acme", kNoPay);
    document("cfg:org:acme", "{");
    store("a", "acme");
    pass(1s);
    take_up("a");
    ask("a", "acme", R"({"safety":{"denied_topics":["job.pay"]}})");
    EXPECT_THAT(judge.found, IsEmpty());
    ask("a", "acme", R"({"safety":{}})");
    EXPECT_EQ(judge.found.size(), 1u);
}

}  // namespace
}  // namespace lockstep::sim
