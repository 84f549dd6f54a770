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
            {"send", [this](auto& pointer) { send(pointer); }},
        });
    }
    void send(const std::string& pointer) {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("a");
        packet.mutable_job_request()->set_context_ptr(pointer);
        observe(EventKind::publish, "a", {.subject = "worker.w.jobs", .packet = &packet}, When::before);
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
    {"AReplicaMayStoreItFirst", "store=a:acme@other"},
    {"AStoredRequestKeepsItsTenant", "store=a:acme store=a:acme@other ok store=a:initech@other",
     "was acme's, and becomes initech's"},
    {"AJobIsNotSentWithTheDataOfAnotherTenant", "store=a:acme record=b:initech lock send=redis://res:b",
     "it is a job of acme, and is sent with res:b, which belongs to a job of initech"},
    {"ItsOwnAndThoseOfItsTenantItMayRead",
     "store=a:acme record=b:acme lock send=redis://ctx:b send=redis://ctx:a:redacted:1 send=art:b send=s3://b"},
    {"WhatGotItsTenantAfterTheLookIsNotLookedAt", "store=a:acme lock record=b:initech send=redis://res:b"},
    {"ACompensationRunsForTheTenantOfItsJob", "store=a:acme undo=a:initech undo=a:acme:initech",
     "undone by one of|undone by one of"},
};
using WallsTold = Told<TenantWalls>;
TEST_P(WallsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, WallsTold, ::testing::ValuesIn(kWalls), title_of);

constexpr const char* kNoPay = R"({"data":{"safety":{"denied_topics":["job.pay"]}}})";

/// A tenant that may not pay, and a replica that has the lock of one of its jobs.
struct BoundTenant : TenantWalls {
    BoundTenant() {
        define({
            {"begin", [this](auto& document) { begin(key_of(document), text_of(document)); }},
            {"document", [this](auto& of) { document(key_of(of), text_of(of)); }},
            {"asks", [this](auto& safety) { ask_with(safety); }},
            {"unlock", [this](auto&) { release("a"); }},
            {"expire", [this](auto&) { lock(EventKind::lock_expired, "a"); }},
        });
    }
    static std::string key_of(const std::string& document) { return document.substr(0, document.find('~')); }
    static std::string text_of(const std::string& document) { return document.substr(document.find('~') + 1); }
    void begin(const std::string& key, const std::string& text) {
        document(key, text);
        store("a", "acme");
        wait(1s);
        take_lock("a");
    }
    void ask_with(const std::string& safety) { ask("a", "acme", R"({"safety":)" + safety + "}"); }
};

constexpr Story kBounds[] = {
    {"PolicyIsToldWhatIsDeniedAbove",
     "begin=cfg:org:acme~{\"data\":{\"safety\":{\"denied_topics\":[\"job.pay\"]}}} "
     "asks={\"denied_topics\":[\"job.x\",\"job.pay\"]} ok times=1 asks={\"denied_topics\":[\"job.x\"]} ask=a:acme",
     "\"job.pay\" is denied|\"job.pay\" is denied"},
    // Its replica has tried the step before, and now asks as a rollback does that is to submit it; it does not know that the lock ran out.
    {"AReplicaWithoutTheLockAsksForARollback",
     "begin=cfg:org:acme~{\"data\":{\"safety\":{\"denied_topics\":[\"job.pay\"]}}} unlock ask=a:acme ok lock expire "
     "ask=a:acme",
     "\"job.pay\" is denied"},
    {"WhatIsAllowedAboveIsNotWidened",
     "begin=cfg:system:default~{\"data\":{\"safety\":{\"allowed_topics\":[\"job.a.*\"]}}} "
     "asks={\"allowed_topics\":[\"job.a.b\"]} asks={\"allowed_topics\":[\"job.a.*\"]} "
     "asks={\"allowed_topics\":[\"(nothing)\"]} ok asks={\"allowed_topics\":[]} asks={\"allowed_topics\":[\"job.*\"]} "
     "asks={\"allowed_topics\":[\"job.b\"]}",
     "a:|a:|a:"},
    {"ADocumentThatChangedSinceTheLockWasTakenMayCountInEitherForm",
     "begin=cfg:org:acme~{\"data\":{\"safety\":{\"denied_topics\":[\"job.pay\"]}}} wait=1s "
     "document=cfg:org:acme~{\"data\":{\"safety\":{\"denied_topics\":[\"job.y\"]}}} "
     "asks={\"denied_topics\":[\"job.pay\"]} asks={\"denied_topics\":[\"job.y\"]} ok wait=1s lock "
     "asks={\"denied_topics\":[\"job.pay\"]}",
     "\"job.y\" is denied"},
    {"ABrokenDocumentAllowsNothing",
     "document=cfg:org:acme~{\"data\":{\"safety\":{\"denied_topics\":[\"job.pay\"]}}} begin=cfg:org:acme~{ "
     "asks={\"denied_topics\":[\"job.pay\"]} ok asks={}",
     "a:"},
};
using BoundsTold = Told<BoundTenant>;
TEST_P(BoundsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, BoundsTold, ::testing::ValuesIn(kBounds), title_of);

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

}  // namespace
}  // namespace lockstep::sim
