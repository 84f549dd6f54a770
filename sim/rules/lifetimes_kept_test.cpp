#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::int64_t kNow = 1'700'000'000'000;

struct LifetimesKeptTest : RuleTest {
    LifetimesKeptTest() : RuleTest(rules::lifetimes_kept) {
        now = Time{std::chrono::milliseconds{kNow}};
        define({
            {"do",
             [this](auto& acts) {
                 command(by, [&] {
                     for (const auto& one : parts_of(acts, ';')) this->act(parts_of(one, ','));
                 });
             }},
            {"ack_wait", [this](auto& time) { tunables.bus_ack_wait = duration_of(time); }},
            {"another_ttl", [this](auto& time) { settings.add("job_meta_ttl", time); }},
        });
    }

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
    /// Of a command that does several, as `act,key,…`.
    void act(std::vector<std::string> of) {
        of.resize(4, "x");
        const auto expiry = [&] { return of[2] == "ever" ? kNever : in(duration_of(of[2])); };
        if (of[0] == "text") text(of[1], expiry(), of[3])();
        if (of[0] == "expire") expire(of[1], expiry())();
        if (of[0] == "field") field(of[1], of[2])();
        if (of[0] == "member") member(of[1])();
        if (of[0] == "entry") keys.list_insert(at<List>(of[1]), 0, "x");
        if (of[0] == "set") keys.set_add(at<fakes::redis::Set>(of[1]), "a");
    }
    static std::int64_t in(engine::Duration life) { return kNow + engine::to_millis(life); }
};

constexpr Story kLifetimes[] = {
    // The others have no end.
    {"WhatLivesAsLongAsDocumentedIsInOrder",
     "do=text,job:state:a,168h;text,dlq:entry:a,720h;text,cordum:scheduler:job:a,60s;text,cordum:bus:processed:S:1:d,"
     "20min;text,cordum:reconciler:default,60s;text,job:idempotency:t:k,2160h;text,job:a:output_decision,168h;text,res:"
     "a:redacted:0123456789abcdef,24h;text,lockstep:saga:lock:1:t:r,2min;text,cfg:system:default,ever "
     "do=member,job:recent;member,lockstep:saga:owed times=9"},
    {"AStringThatLivesTooShortOrTooLongIsObjectedTo",
     "do=text,job:state:a,24h do=text,cordum:scheduler:job:a,10min do=text,dlq:entry:a,ever",
     "job:state:a is to live for 604800000 ms, and was given 86400000|is to live for no longer than 60000 ms, and was "
     "given 600000|dlq:entry:a is not to be kept for ever"},
    {"AMarkOutlivesWhatMayComeAgain", "ack_wait=30min do=text,cordum:bus:processed:S:1:d,20min",
     "is to live for 3600000 ms"},
    {"WhatIsToBeKeptForEverGetsNoExpiry", "do=member,dlq:index do=expire,dlq:index,720h",
     "dlq:index is to be kept for ever"},
    // It may be put right by the same command; another field renews nothing.
    {"AJobsHashIsRenewedByAChangeOfState",
     "do=field,job:meta:a,state;expire,job:meta:a,168h do=expire,job:meta:a,1h;expire,job:meta:a,168h "
     "do=expire,job:meta:a,1h@gateway do=field,job:meta:a,attempts ok do=field,job:meta:a,state",
     "job:meta:a is to live for 604800000 ms, and was given 3600000"},
    {"AHashThatIsMadeAnewHasAnEnd", "do=field,job:meta:a,attempts", "job:meta:a is not to be kept for ever"},
    {"WhatOthersHaveLeftWithoutAnEndIsTheirs",
     "do=field,job:meta:a,state;text,job:state:a,ever@gateway do=field,job:meta:a,attempts"},
    {"WhatAReaderOfResultsKeepsIsItsOwn", "do=entry,result-reader:heard:a@second"},
    {"EveryUseOfATenantsLineRenewsIt",
     "do=member,lockstep:tenant:woken:t;expire,lockstep:tenant:woken:t,168h ok do=member,lockstep:tenant:slots:t",
     "lockstep:tenant:slots:t is not to be kept for ever"},
    {"NoWriteTakesAnExpiryAway", "do=text,ctx:a,1h@gateway do=text,ctx:a,ever", "ctx:a had an expiry"},
    {"AKeyOfAKindThatIsNotDocumentedIsObjectedTo",
     "do=text,gateway:own,ever@gateway do=text,gateway:own,1h;member,lockstep:new:a",
     "gateway:own is of no kind that redis-schema.md 12 names|lockstep:new:a is of no kind"},
    // The stack of a workflow is also other implementations'.
    {"HistoryTraceAndCompensationsOfARunExpireAsRecordsDo",
     "do=entry,job:events:a;expire,job:events:a,168h "
     "do=entry,lockstep:saga:4:acme:r;expire,lockstep:saga:4:acme:r,168h ok "
     "do=entry,job:events:b;entry,lockstep:saga:4:acme:s;set,trace:t do=entry,saga:travel:stack",
     "job:events:b is not to be kept for ever|lockstep:saga:4:acme:s is not|trace:t is not"},
    {"AJobsRecordsRunOutTogether",
     "do=text,job:req:a,1h;text,job:result_ptr:a,1h@gateway do=field,job:meta:a,trace_id;expire,job:meta:a,168h "
     "found=1 do=field,job:meta:a,state;expire,job:meta:a,168h;expire,job:req:a,168h",
     "job:req:a runs out 601200000 ms before job:meta:a|job:result_ptr:a runs out 601200000 ms before"},
    {"AnOpenCircuitIsOpenForItsTimeAndNoLonger",
     "do=text,cordum:cb:safety:failures,30s,1 found=1 do=text,cordum:cb:safety:failures,1h,2 "
     "do=text,cordum:cb:safety:failures,30s,3 found=1 do=text,cordum:cb:safety:failures,1h,4",
     "cordum:cb:safety:failures|no longer than 30000 ms"},
    {"WhereSchedulersHaveOtherSettingsAnyOfThemMayHold",
     "another_ttl=24h do=text,job:state:a,24h;text,job:state:b,168h ok do=text,job:state:a,12h;text,job:state:b,336h",
     "job:state:a|job:state:b"},
};
using LifetimesTold = Told<LifetimesKeptTest>;
TEST_P(LifetimesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, LifetimesTold, ::testing::ValuesIn(kLifetimes), title_of);

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

TEST_F(LifetimesKeptTest, WhatIsLeftOfALossIsKnown) {
    keys.restore([this] { keys.put_back("job:meta:a", {Hash{{"state", "RUNNING"}}, in(1h)}); });
    command(kReplica, field("job:meta:a", "attempts"));
    EXPECT_THAT(found, IsEmpty());
    command(kReplica, expire("job:meta:a", kNever));
    EXPECT_THAT(found, ElementsAre(HasSubstr("job:meta:a had an expiry")));
}

}  // namespace
}  // namespace lockstep::sim
