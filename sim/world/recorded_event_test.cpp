#include "sim/world/recorded_event.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "sim/testing/simulation_fixture.h"
#include "sim/world/event_recorder.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::Event;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RecordedEventTest : public testing::SimulationTest {
protected:
    [[nodiscard]] RecordedEvent recorded(const Event& event, std::chrono::nanoseconds at = {}) const {
        std::string bytes;
        encode_event(event, Time{at}, bytes);
        EventRecorder recorder({.first = 1, .last = 1}, sim.topology());
        recorder.on_digested(1, bytes, event, Time{at});
        Recorded all = recorder.take();
        return std::move(all.events.at(0));
    }
};

TEST_F(RecordedEventTest, NamesExactlyTheFieldThatDiffers) {
    const std::vector<std::pair<std::string, void (*)(Event&)>> changes{
        {"event:", [](Event& e) { e.kind = fakes::EventKind::deliver; }},
        {"when:", [](Event& e) { e.when = fakes::When::before; }},
        {"outcome:", [](Event& e) { e.outcome = fakes::EventOutcome::unknown; }},
        {"flag:", [](Event& e) { e.flag = true; }},
        {"node: \"\", then \"nats\"", [](Event& e) { e.node = Topology::kNats; }},
        {"peer: -1, then 1", [](Event& e) { e.peer = NodeId{1}; }},
        {"subject: \"\", then \"x\"", [](Event& e) { e.subject = "x"; }},
        {"job:", [](Event& e) { e.job = "x"; }},
        {"command:", [](Event& e) { e.command = "x"; }},
        {"script:", [](Event& e) { e.script = "x"; }},
        {"key:", [](Event& e) { e.key = "x"; }},
        {"name:", [](Event& e) { e.name = "x"; }},
        {"from:", [](Event& e) { e.from = "x"; }},
        {"to:", [](Event& e) { e.to = "x"; }},
        {"stream:", [](Event& e) { e.stream = "x"; }},
        {"message_id:", [](Event& e) { e.message_id = "x"; }},
        {"payload: \"\", then \"x\\x01\"", [](Event& e) { e.payload = "x\x01"; }},
        {"sequence: 0, then 7", [](Event& e) { e.sequence = 7; }},
        {"number: 0, then -7", [](Event& e) { e.number = -7; }},
    };
    for (const auto& [line, change] : changes) {
        Event event;
        change(event);
        EXPECT_THAT(differing_fields(recorded({}), recorded(event)), ElementsAre(StartsWith(line)));
        EXPECT_THAT(differing_fields(recorded(event), recorded(event)), IsEmpty());
    }
    EXPECT_THAT(differing_fields(recorded({}), recorded({}, 5ms)), ElementsAre("time: 0, then 5000000"));
}

TEST_F(RecordedEventTest, ShowsLongTextsFromWhereTheyPart) {
    std::string first(200, 'a');
    std::string second = first;
    second[150] = 'b';
    Event a;
    a.payload = first;
    Event b;
    b.payload = second;
    EXPECT_THAT(differing_fields(recorded(a), recorded(b)),
                ElementsAre("payload: 200 and 200 bytes, different from byte 150: "
                            "\"…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…\", then "
                            "\"…aaaaaaaabaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…\""));
}

TEST_F(RecordedEventTest, SaysWhenTheBytesAreNone) {
    RecordedEvent cut = recorded({});
    cut.bytes.pop_back();
    EXPECT_THAT(differing_fields(cut, recorded({})), ElementsAre("not the bytes of an event"));
}

TEST_F(RecordedEventTest, RecordsTheEventsOfTheDigestUnderTheirNumbers) {
    EventRecorder recorder({.hashes = true, .first = 2, .last = 3}, sim.topology());
    sim.trace().set_digest_observer(recorder);
    tell(fakes::EventKind::heartbeat, "w-0");
    tell(fakes::EventKind::log, "w-0");  // not in the digest
    tell(fakes::EventKind::heartbeat, "w-1");
    tell(fakes::EventKind::result, "w-1");
    tell(fakes::EventKind::heartbeat, "w-0");
    const Recorded recorded = recorder.take();
    ASSERT_EQ(recorded.hashes.size(), 4U);
    EXPECT_EQ(recorded.hashes[0], recorded.hashes[3]);
    EXPECT_NE(recorded.hashes[0], recorded.hashes[1]);
    ASSERT_EQ(recorded.events.size(), 2U);
    EXPECT_EQ(recorded.events[0].number, 2U);
    EXPECT_EQ(recorded.events[0].node, "w-1");
    EXPECT_EQ(nlohmann::json::parse(recorded.events[1].text).at("event"), "result");
}

}  // namespace
}  // namespace lockstep::sim
