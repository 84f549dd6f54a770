#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct TenantWalls : RuleTest {
    TenantWalls() : RuleTest(rules::tenant_walls) { now = Time{100s}; }

    /// A request with these tenants in field, environment and metadata is stored, by a gateway or by a replica.
    void store(const std::string& job, const char* field, const char* env = "", const char* meta = "",
               fakes::NodeId by = Topology::kGateway) {
        cap::JobRequest request;
        request.set_job_id(job);
        request.set_tenant_id(field);
        if (*env != '\0') (*request.mutable_env())["tenant_id"] = env;
        request.mutable_meta()->set_tenant_id(meta);
        set_text("job:req:" + job, engine::wire::to_json(request), by);
    }
    void document(const std::string& key, const std::string& text) { set_text(key, text, Topology::kOperator); }
    void take_lock(const std::string& job) { lock(EventKind::lock_acquired, job); }
    void release(const std::string& job) { lock(EventKind::lock_released, job); }
    void lock(EventKind kind, const std::string& job) { observe(kind, job, {.key = "cordum:scheduler:job:" + job}); }
    void count(const std::string& tenant, const std::string& job) {
        keys.act_for(kReplica);
        keys.set_add(at<fakes::redis::Set>("job:tenant:active:" + tenant), job);
    }
    void list(const std::string& key, const std::string& job) {
        keys.act_for(kReplica);
        keys.zset_set(keys.create<SortedSet>(key), job, 1);
    }
    void ask(const std::string& job, const std::string& tenant, const std::string& settings = "") {
        cap::PolicyCheckRequest question;
        question.set_tenant(tenant);
        question.set_effective_config(settings);
        observe(EventKind::kernel_check, job, {.payload = question.SerializeAsString()}, When::before);
    }
    void undo(const std::string& job, const char* field, const char* env = "") {
        cap::BusPacket packet;
        packet.set_sender_id(std::string(kSagaSender));
        auto& request = *packet.mutable_job_request();
        request.set_parent_job_id(job);
        request.set_tenant_id(field);
        if (*env != '\0') (*request.mutable_env())["tenant_id"] = env;
        observe(EventKind::publish, "comp-1", {.subject = "sys.job.submit", .packet = &packet}, When::before);
    }
};

TEST_F(TenantWalls, AJobThatStaysWithItsTenantIsRight) {
    store("a", " acme ", "acme", "acme");
    store("b", "");
    set_field("a", "tenant", "acme");
    set_field("b", "tenant", "default");
    count("acme", "a");
    list("lockstep:tenant:slots:default", "b");
    ask("a", "acme");
    ask("b", "default");
    undo("a", "acme", "acme");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 7U);
}

TEST_F(TenantWalls, AGatewayMayWriteAnotherOne) {
    store("a", "acme", "", "initech");
    set_field("a", "tenant", "initech", Topology::kGateway);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(TenantWalls, TheRecordOfAJobNamesItsTenant) {
    store("a", "acme");
    set_field("a", "tenant", "initech");
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: it is a job of acme, and its record names initech")));
}

TEST_F(TenantWalls, AJobCountsForNoOtherTenant) {
    store("a", "acme");
    count("initech", "a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it is a job of acme, and it counts as one of initech")));
}

TEST_F(TenantWalls, AJobTakesNoSlotOfAnotherTenant) {
    for (const char* key : {"lockstep:tenant:waiting:initech", "lockstep:tenant:slots:initech"}) {
        found.clear();
        store("a", "acme");
        list(key, "a");
        EXPECT_THAT(found, ElementsAre(HasSubstr("it takes or awaits a slot of initech"))) << key;
    }
}

TEST_F(TenantWalls, AJobOfWhichSomeWasEvictedIsNotJudged) {
    store("a", "acme");
    set_field("a", "tenant", "acme");
    evict("job:meta:a");
    count("initech", "a");
    ask("a", "initech");
    undo("a", "initech");
    EXPECT_THAT(found, IsEmpty());
}

// The submission of another sender was handled first, and then the gateway records a job of its own under the same id.
TEST_F(TenantWalls, AJobCountsAsAGatewayHasNamedItUntilItsLockIsTakenAgain) {
    store("a", "acme");
    take_lock("a");
    set_field("a", "tenant", "initech", Topology::kGateway);
    count("initech", "a");
    list("lockstep:tenant:slots:initech", "a");
    EXPECT_THAT(found, IsEmpty());
    list("lockstep:tenant:slots:umbrella", "a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("umbrella")));
    found.clear();
    take_lock("a");
    list("lockstep:tenant:woken:initech", "a");
    EXPECT_THAT(found, ElementsAre(HasSubstr("a slot of initech")));
}

TEST_F(TenantWalls, PolicyIsAskedAboutItForItsTenant) {
    store("a", "acme");
    ask("a", "initech");
    EXPECT_THAT(found, ElementsAre(HasSubstr("asked as for initech")));
}

TEST_F(TenantWalls, AReplicaThatReadTheRequestBeforeItWasReplacedMayAskAboutThatOne) {
    store("a", "acme");
    take_lock("a");
    wait(1s);
    store("a", "initech");
    ask("a", "acme");
    EXPECT_THAT(found, IsEmpty());
    wait(1s);
    take_lock("a");
    ask("a", "acme");
    EXPECT_THAT(found, ElementsAre(HasSubstr("asked as for acme")));
}

TEST_F(TenantWalls, PolicyIsNotAskedAboutARequestOfTwoTenants) {
    store("a", "acme", "", "initech");
    ask("a", "acme");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its metadata says initech, and policy is asked about it")));
}

TEST_F(TenantWalls, AStoredRequestKeepsItsTenant) {
    store("a", "acme");
    store("a", "acme", "", "", kReplica);
    EXPECT_THAT(found, IsEmpty());
    store("a", "initech", "", "", kReplica);
    EXPECT_THAT(found, ElementsAre(HasSubstr("was acme's, and becomes initech's")));
}

TEST_F(TenantWalls, ACompensationRunsForTheTenantOfItsJob) {
    store("a", "acme");
    undo("a", "initech");
    undo("a", "acme", "initech");
    EXPECT_THAT(found, ElementsAre(HasSubstr("undone by one of"), HasSubstr("undone by one of")));
}

constexpr const char* kNoPay = R"({"data":{"safety":{"denied_topics":["job.pay"]}}})";

/// A tenant that may not pay, and a replica that has the lock of one of its jobs.
struct BoundTenant : TenantWalls {
    void begin(const std::string& key, const std::string& text) {
        document(key, text);
        store("a", "acme");
        wait(1s);
        take_lock("a");
    }
    void ask_with(const std::string& safety) { ask("a", "acme", R"({"safety":)" + safety + "}"); }
};

TEST_F(BoundTenant, PolicyIsToldWhatIsDeniedAbove) {
    begin("cfg:org:acme", kNoPay);
    ask_with(R"({"denied_topics":["job.x","job.pay"]})");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
    ask_with(R"({"denied_topics":["job.x"]})");
    ask("a", "acme");
    EXPECT_THAT(found, ElementsAre(HasSubstr("\"job.pay\" is denied"), HasSubstr("\"job.pay\" is denied")));
}

// Its replica has tried the step before, and now asks as a rollback does that is to submit it.
TEST_F(BoundTenant, AReplicaWithoutTheLockAsksForARollback) {
    begin("cfg:org:acme", kNoPay);
    release("a");
    ask("a", "acme");
    EXPECT_THAT(found, IsEmpty());
    take_lock("a");
    lock(EventKind::lock_expired, "a");
    ask("a", "acme");
    EXPECT_EQ(found.size(), 1U) << "it does not know that the lock ran out";
}

TEST_F(BoundTenant, WhatIsAllowedAboveIsNotWidened) {
    begin("cfg:system:default", R"({"data":{"safety":{"allowed_topics":["job.a.*"]}}})");
    for (const char* within : {R"(["job.a.b"])", R"(["job.a.*"])", R"~(["(nothing)"])~"})
        ask_with(std::string(R"({"allowed_topics":)") + within + "}");
    EXPECT_THAT(found, IsEmpty());
    for (const char* wider : {"[]", R"(["job.*"])", R"(["job.b"])"})
        ask_with(std::string(R"({"allowed_topics":)") + wider + "}");
    EXPECT_EQ(found.size(), 3U);
}

TEST_F(BoundTenant, ADocumentThatChangedSinceTheLockWasTakenMayCountInEitherForm) {
    begin("cfg:org:acme", kNoPay);
    wait(1s);
    document("cfg:org:acme", R"({"data":{"safety":{"denied_topics":["job.y"]}}})");
    ask_with(R"({"denied_topics":["job.pay"]})");
    ask_with(R"({"denied_topics":["job.y"]})");
    EXPECT_THAT(found, IsEmpty());
    wait(1s);
    take_lock("a");
    ask_with(R"({"denied_topics":["job.pay"]})");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(BoundTenant, ADocumentThatAFailoverHasLostDoesNotBind) {
    document("cfg:org:acme", kNoPay);
    wait(1s);
    model().restored(fakes::redis::Keyspace{});
    store("a", "acme");
    wait(1s);
    take_lock("a");
    ask("a", "acme");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(BoundTenant, ABrokenDocumentAllowsNothing) {
    document("cfg:org:acme", kNoPay);
    begin("cfg:org:acme", "{");
    ask_with(R"({"denied_topics":["job.pay"]})");
    EXPECT_THAT(found, IsEmpty());
    ask_with("{}");
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
