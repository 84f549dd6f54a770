#include "sim/page/noise.h"

#include <gmock/gmock.h>

#include "sim/explain/test_history.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;

/// A call of a script with the first word of Redis' answer.
void call(TestHistory& told, std::string_view answer) {
    for (const When when : {When::before, When::applied, When::answered}) {
        const EventIndex event = told.add({.kind = EventKind::redis,
                                           .when = when,
                                           .peer = TestHistory::kRedis,
                                           .job = "a",
                                           .script = "commit",
                                           .key = "job:meta:a"});
        if (when != When::before) told.history.events[event].reply = told.history.texts.add(answer);
    }
}

TEST(Noise, IsACallOfAScriptThatRedisDidNotKnow) {
    TestHistory told;
    call(told, "-NOSCRIPT No matching script.");
    call(told, "OK");
    call(told, "-ERR no NOSCRIPT here");
    EXPECT_THAT(noise_of(told.history, Causality(told.history)),
                ElementsAre(true, true, true, false, false, false, false, false, false));
}

TEST(Noise, IsAReportOfProgress) {
    TestHistory told;
    for (const EventKind kind : {EventKind::ack, EventKind::in_progress, EventKind::nak})
        told.add({.kind = kind, .when = When::before, .peer = TestHistory::kNats, .subject = "sys.job.submit"});
    EXPECT_THAT(noise_of(told.history, Causality(told.history)), ElementsAre(false, true, false));
}

}  // namespace
}  // namespace lockstep::sim
