#include "engine/wire/json.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct TenantWalls : RuleTest {
    TenantWalls() : RuleTest(rules::tenant_walls) {
        now = Time{100s};
        define({
            {"store", [this](auto& of) { store_parts(parts_of(of, ':')); }},
            {"record", [this](auto& of) { set_field(first(of), "tenant", second(of), by); }},
            {"count", [this](auto& of) { count(first(of), second(of)); }},
            {"list", [this](auto& of) { list("lockstep:tenant:" + of, "a"); }},
            {"ask", [this](auto& of) { ask(first(of), second(of)); }},
            {"undo", [this](auto& of) { undo(first(of), first(second(of)).c_str(), second(second(of)).c_str()); }},
            {"lock", [this](auto&) { take_lock("a"); }},
        });
    }

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
    void store_parts(std::vector<std::string> parts) {
        parts.resize(4);
        store(parts[0], parts[1].c_str(), parts[2].c_str(), parts[3].c_str(), by == kReplica ? Topology::kGateway : by);
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

constexpr Story kWalls[] = {
    {"AGatewayMayWriteAnotherOne", "store=a:acme::initech record=a:initech@gateway"},
    {"TheRecordOfAJobNamesItsTenant", "store=a:acme record=a:initech",
     "a: it is a job of acme, and its record names initech"},
    {"AJobCountsForNoOtherTenant", "store=a:acme count=initech:a",
     "it is a job of acme, and it counts as one of initech"},
    {"AJobTakesNoSlotOfAnotherTenant", "store=a:acme list=slots:initech", "it takes or awaits a slot of initech"},
    {"NorAwaitsOne", "store=a:acme list=waiting:initech", "it takes or awaits a slot of initech"},
    {"AJobOfWhichSomeWasEvictedIsNotJudged",
     "store=a:acme record=a:acme evict=job:meta:a count=initech:a ask=a:initech undo=a:initech"},
    // The submission of another sender was handled first, and then the gateway records a job of its own under the same id.
    {"AJobCountsAsAGatewayHasNamedItUntilItsLockIsTakenAgain",
     "store=a:acme lock record=a:initech@gateway count=initech:a list=slots:initech ok list=slots:umbrella lock "
     "list=woken:initech",
     "umbrella|a slot of initech"},
    {"PolicyIsAskedAboutItForItsTenant", "store=a:acme ask=a:initech", "asked as for initech"},
    {"AReplicaThatReadTheRequestBeforeItWasReplacedMayAskAboutThatOne",
     "store=a:acme lock wait=1s store=a:initech ask=a:acme ok wait=1s lock ask=a:acme", "asked as for acme"},
    {"PolicyIsNotAskedAboutARequestOfTwoTenants", "store=a:acme::initech ask=a:acme",
     "its metadata says initech, and policy is asked about it"},
    {"AStoredRequestKeepsItsTenant", "store=a:acme store=a:acme@other ok store=a:initech@other",
     "was acme's, and becomes initech's"},
    {"ACompensationRunsForTheTenantOfItsJob", "store=a:acme undo=a:initech undo=a:acme:initech",
     "undone by one of|undone by one of"},
};
using WallsTold = Told<TenantWalls>;
TEST_P(WallsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, WallsTold, ::testing::ValuesIn(kWalls), title_of);

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
