#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::int64_t kNow = 1'700'000'000'000;

struct LifetimesKeptTest : RuleTest {
    LifetimesKeptTest() : RuleTest(rules::lifetimes_kept) { now = Time{std::chrono::milliseconds{kNow}}; }

    auto text(std::string_view key, std::int64_t expires_at, std::string value = "x") {
        return [this, key, expires_at, value] { keys.set_string(key, value, expires_at); };
    }
    auto field(std::string_view key, std::string_view name, std::string_view value = "x") {
        return [this, key, name, value] { keys.hash_set(at<Hash>(key), name, value); };
    }
    auto member(std::string_view key) {
        return [this, key] { keys.zset_set(at<SortedSet>(key), "a", 1); };
    }
    auto expire(std::string_view key, std::int64_t expires_at) {
        return [this, key, expires_at] { keys.set_expiry(*keys.find(key), expires_at); };
    }
    static std::int64_t in(engine::Duration life) { return kNow + engine::to_millis(life); }
};

TEST_F(LifetimesKeptTest, WhatLivesAsLongAsDocumentedIsInOrder) {
    command(kReplica, text("job:state:a", in(168h)), text("dlq:entry:a", in(720h)),
            text("cordum:scheduler:job:a", in(60s)), text("cordum:bus:processed:S:1:d", in(20min)),
            text("cordum:reconciler:default", in(60s)), text("job:idempotency:t:k", in(2160h)),
            text("job:a:output_decision", in(168h)), text("res:a:redacted:0123456789abcdef", in(24h)),
            text("lockstep:saga:lock:1:t:r", in(2min)), text("cfg:system:default", kNever));
    command(kReplica, member("job:recent"), member("lockstep:saga:owed"));
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 9U) << "the others have no end";
}

TEST_F(LifetimesKeptTest, AStringThatLivesTooShortOrTooLongIsObjectedTo) {
    command(kReplica, text("job:state:a", in(24h)));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:state:a is to live for 604800000 ms, and was given 86400000")));
    command(kReplica, text("cordum:scheduler:job:a", in(10min)));
    EXPECT_THAT(found.back(), HasSubstr("is to live for no longer than 60000 ms, and was given 600000"));
    command(kReplica, text("dlq:entry:a", kNever));
    EXPECT_THAT(found.back(), HasSubstr("dlq:entry:a is not to be kept for ever"));
    EXPECT_EQ(found.size(), 3U);
}

TEST_F(LifetimesKeptTest, AMarkOutlivesWhatMayComeAgain) {
    tunables.bus_ack_wait = 30min;
    command(kReplica, text("cordum:bus:processed:S:1:d", in(20min)));
    EXPECT_THAT(found, ElementsAre(HasSubstr("is to live for 3600000 ms")));
}

TEST_F(LifetimesKeptTest, WhatIsToBeKeptForEverGetsNoExpiry) {
    command(kReplica, member("dlq:index"));
    command(kReplica, expire("dlq:index", in(720h)));
    EXPECT_THAT(found, ElementsAre(HasSubstr("dlq:index is to be kept for ever")));
}

TEST_F(LifetimesKeptTest, AJobsHashIsRenewedByAChangeOfState) {
    command(kReplica, field("job:meta:a", "state"), expire("job:meta:a", in(168h)));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, expire("job:meta:a", in(1h)), expire("job:meta:a", in(168h)));
    EXPECT_THAT(found, IsEmpty()) << "it is put right by the same command";
    command(Topology::kGateway, expire("job:meta:a", in(1h)));
    command(kReplica, field("job:meta:a", "attempts"));
    EXPECT_THAT(found, IsEmpty()) << "this renews nothing";
    command(kReplica, field("job:meta:a", "state"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:meta:a is to live for 604800000 ms, and was given 3600000")));
}

TEST_F(LifetimesKeptTest, AnExpiryThatOthersGiveARecordStandsUntilTheNotedTime) {
    const auto renewed = [&](std::string_view noted) {
        command(kReplica, field("job:meta:a", "state"), field("job:meta:a", "ls_kept", noted),
                expire("job:meta:a", in(168h)), text("job:req:a", in(168h)));
    };
    renewed("9 acme");
    command(Topology::kGateway, expire("job:meta:a", in(500h)));
    command(kReplica, field("job:meta:a", "state"));
    EXPECT_THAT(found, IsEmpty());
    renewed("10 acme");
    command(Topology::kGateway, expire("job:req:a", in(1h)));
    command(kReplica, field("job:meta:a", "state"));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, field("job:meta:a", "state"), field("job:meta:a", "ls_kept", "11 acme"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:req:a runs out 601200000 ms before")));
    command(Topology::kGateway, expire("job:meta:a", in(500h)));
    command(kReplica, field("job:meta:a", "state"), field("job:meta:a", "ls_kept", "11 others"));
    EXPECT_EQ(found.size(), 1U) << "the noted time is as before";
    command(kReplica, field("job:meta:a", "state"), field("job:meta:a", "ls_kept", "12 others"));
    EXPECT_EQ(found.size(), 3U);
}

TEST_F(LifetimesKeptTest, AHashThatIsMadeAnewHasAnEnd) {
    command(kReplica, field("job:meta:a", "attempts"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:meta:a is not to be kept for ever")));
}

TEST_F(LifetimesKeptTest, WhatOthersHaveLeftWithoutAnEndIsTheirs) {
    command(Topology::kGateway, field("job:meta:a", "state"), text("job:state:a", kNever));
    command(kReplica, field("job:meta:a", "attempts"));
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LifetimesKeptTest, EveryUseOfATenantsLineRenewsIt) {
    command(kReplica, member("lockstep:tenant:woken:t"), expire("lockstep:tenant:woken:t", in(168h)));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, member("lockstep:tenant:slots:t"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("lockstep:tenant:slots:t is not to be kept for ever")));
}

TEST_F(LifetimesKeptTest, NoWriteTakesAnExpiryAway) {
    command(Topology::kGateway, text("ctx:a", in(1h)));
    command(kReplica, text("ctx:a", kNever));
    EXPECT_THAT(found, ElementsAre(HasSubstr("ctx:a had an expiry")));
}

TEST_F(LifetimesKeptTest, AKeyOfAKindThatIsNotDocumentedIsObjectedTo) {
    command(Topology::kGateway, text("gateway:own", kNever));
    command(kReplica, text("gateway:own", in(1h)), member("lockstep:new:a"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("gateway:own is of no kind that redis-schema.md 12 names"),
                                   HasSubstr("lockstep:new:a is of no kind")));
}

TEST_F(LifetimesKeptTest, HistoryTraceAndCompensationsOfARunExpireAsRecordsDo) {
    const auto entry = [this](std::string_view key) {
        return [this, key] { keys.list_insert(at<List>(key), 0, "x"); };
    };
    const std::string_view kept[] = {"job:events:a", "lockstep:saga:4:acme:r"};
    for (const std::string_view key : kept) command(kReplica, entry(key), expire(key, in(168h)));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, entry("job:events:b"), entry("lockstep:saga:4:acme:s"),
            [this] { keys.set_add(at<fakes::redis::Set>("trace:t"), "a"); });
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:events:b is not to be kept for ever"),
                                   HasSubstr("lockstep:saga:4:acme:s is not"), HasSubstr("trace:t is not")));
    command(kReplica, entry("saga:travel:stack"));
    EXPECT_EQ(found.size(), 3U) << "that of a workflow is also other implementations'";
}

TEST_F(LifetimesKeptTest, ARunThatIsTakenBackFromItsEndKeepsItsKeysUntilItEndsAgain) {
    const auto seen = [this](std::int64_t expires_at) { return text("lockstep:wf:seen:r", expires_at); };
    command(kReplica, text("wf:run:r", kNever, R"({"id":"r","status":"succeeded"})"), seen(in(720h)));
    command(Topology::kGateway, text("wf:run:r", kNever, R"({"id":"r","status":"running"})"));
    command(kReplica, seen(kNever));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, text("wf:run:r", kNever, R"({"id":"r","status":"succeeded"})"), seen(in(720h)));
    command(kReplica, seen(kNever));
    EXPECT_THAT(found, ElementsAre(HasSubstr("lockstep:wf:seen:r had an expiry, and was left without one")));
}

TEST_F(LifetimesKeptTest, AJobsRecordsRunOutTogether) {
    command(Topology::kGateway, text("job:req:a", in(1h)), text("job:result_ptr:a", in(1h)));
    command(kReplica, field("job:meta:a", "trace_id"), expire("job:meta:a", in(168h)));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:req:a runs out 601200000 ms before job:meta:a")));
    found.clear();
    command(kReplica, field("job:meta:a", "state"), expire("job:meta:a", in(168h)), expire("job:req:a", in(168h)));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:result_ptr:a runs out 601200000 ms before")));
}

TEST_F(LifetimesKeptTest, AnOpenCircuitIsOpenForItsTimeAndNoLonger) {
    command(kReplica, text("cordum:cb:safety:failures", in(30s), "1"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("cordum:cb:safety:failures")));
    found.clear();
    command(kReplica, text("cordum:cb:safety:failures", in(1h), "2"));
    command(kReplica, text("cordum:cb:safety:failures", in(30s), "3"));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, text("cordum:cb:safety:failures", in(1h), "4"));
    EXPECT_THAT(found, ElementsAre(HasSubstr("no longer than 30000 ms")));
}

TEST_F(LifetimesKeptTest, WhereSchedulersHaveOtherSettingsAnyOfThemMayHold) {
    settings.add("job_meta_ttl", "24h");
    command(kReplica, text("job:state:a", in(24h)), text("job:state:b", in(168h)));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, text("job:state:a", in(12h)), text("job:state:b", in(336h)));
    EXPECT_EQ(found.size(), 2U);
}

TEST_F(LifetimesKeptTest, WhatIsLeftOfALossIsKnown) {
    keys.restore([this] { keys.put_back("job:meta:a", {Hash{{"state", "RUNNING"}}, in(1h)}); });
    command(kReplica, field("job:meta:a", "attempts"));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, expire("job:meta:a", kNever));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:meta:a had an expiry")));
}

}  // namespace
}  // namespace lockstep::sim
