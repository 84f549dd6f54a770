#include "sim/world/trace.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "engine/wire/messages.h"
#include "sim/testing/simulation_fixture.h"
#include "sim/world/event_recorder.h"
#include "sim/world/trace_file.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::Event;

using TraceTest = testing::SimulationTest;

std::uint64_t digest_of(const std::vector<Event>& events) {
    Simulation sim(testing::small_scenario(), 1, {});
    for (const Event& event : events) sim.trace().emit(event);
    return sim.trace().digest();
}

TEST_F(TraceTest, ChangesItsDigestWithEveryFieldOfAnEvent) {
    const std::vector<void (*)(Event&)> changes{
        [](Event& e) { e.kind = fakes::EventKind::deliver; },
        [](Event& e) { e.when = fakes::When::before; },
        [](Event& e) { e.outcome = fakes::EventOutcome::unknown; },
        [](Event& e) { e.flag = true; },
        [](Event& e) { e.node = NodeId{1}; },
        [](Event& e) { e.peer = NodeId{1}; },
        [](Event& e) { e.subject = "x"; },
        [](Event& e) { e.job = "x"; },
        [](Event& e) { e.command = "x"; },
        [](Event& e) { e.script = "x"; },
        [](Event& e) { e.key = "x"; },
        [](Event& e) { e.name = "x"; },
        [](Event& e) { e.from = "x"; },
        [](Event& e) { e.to = "x"; },
        [](Event& e) { e.stream = "x"; },
        [](Event& e) { e.message_id = "x"; },
        [](Event& e) { e.payload = "x"; },
        [](Event& e) { e.sequence = 1; },
        [](Event& e) { e.number = 1; },
    };
    std::set<std::uint64_t> digests{digest_of({Event{}})};
    for (const auto change : changes) {
        Event event;
        change(event);
        digests.insert(digest_of({event}));
    }
    EXPECT_EQ(digests.size(), changes.size() + 1);
}

struct Told final : EventObserver {
    std::vector<std::pair<fakes::EventKind, fakes::JobNumber>> events;
    void on_event(const Event& event, Time /*now*/) override { events.emplace_back(event.kind, event.job_number); }
};

TEST_F(TraceTest, TellsAnObserverOfTheKindsThatItWants) {
    Told few;
    Told all;
    sim.trace().add_observer(few, {fakes::EventKind::submit, fakes::EventKind::metric});
    sim.trace().add_observer(all);
    for (const auto kind : {fakes::EventKind::submit, fakes::EventKind::deliver, fakes::EventKind::metric})
        tell(kind, "gateway");
    EXPECT_THAT(few.events, ::testing::ElementsAre(std::pair(fakes::EventKind::submit, 0U),
                                                   std::pair(fakes::EventKind::metric, 0U)));
    EXPECT_EQ(all.events.size(), 3U);
}

TEST_F(TraceTest, GivesEachNameOfAJobANumber) {
    Told told;
    sim.trace().add_observer(told);
    for (const char* job : {"a", "b", "", "a"}) tell(fakes::EventKind::state, "gateway", fakes::When::applied, {}, job);
    std::vector<fakes::JobNumber> numbers;
    for (const auto& [kind, number] : told.events) numbers.push_back(number);
    EXPECT_THAT(numbers, ::testing::ElementsAre(1U, 2U, 0U, 1U));
}

TEST_F(TraceTest, LeavesLogsAndMetricsOutOfTheDigest) {
    const std::uint64_t before = sim.trace().digest();
    tell(fakes::EventKind::log, "scheduler-0");
    tell(fakes::EventKind::metric, "scheduler-0");
    EXPECT_EQ(sim.trace().digest(), before);
    EXPECT_EQ(sim.trace().events(), 0U);
    EXPECT_EQ(events.lines.size(), 2U);
}

TEST_F(TraceTest, RecordsHashesOfTheEventsOfTheDigestAndOneOfThemWhole) {
    EventRecorder recorder({.hashes = true, .event = 3}, sim.topology());
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
    ASSERT_TRUE(recorded.event);
    EXPECT_EQ(recorded.event->node, "w-1");
    EXPECT_EQ(nlohmann::json::parse(recorded.event->text).at("event"), "result");
}

TEST_F(TraceTest, WritesOneJsonObjectPerEvent) {
    cap::BusPacket packet;
    packet.set_sender_id("gateway");
    packet.mutable_job_request()->set_job_id("job-1");
    Event event;
    event.kind = fakes::EventKind::publish;
    event.when = fakes::When::before;
    event.node = scheduler;
    event.subject = "sys.job.submit";
    event.payload = "\x01\x02";
    event.packet = &packet;
    std::string line;
    append_event_json(event, Time{1500ms}, sim.topology(), line);
    EXPECT_EQ(line,
              R"({"ns":1500000000,"event":"publish","when":"before","node":"scheduler-0","subject":"sys.job.submit",)"
              R"("packet":"JobRequest","packet_job":"job-1","sender":"gateway","bytes":2})");
    event.packet = nullptr;
    event.job = "quote \" newline \n";
    line.clear();
    append_event_json(event, Time{}, sim.topology(), line);
    const auto parsed = nlohmann::json::parse(line);
    EXPECT_EQ(parsed["hex"], "0102");
    EXPECT_EQ(parsed["job"], "quote \" newline \n");
}

TEST_F(TraceTest, ShowsTheTraceFileOnlyWhenItIsWhole) {
    const std::string path = ::testing::TempDir() + "trace_test.jsonl";
    std::remove(path.c_str());
    reports::AtomicFile file(path);
    {
        TraceFile trace(file, sim.topology());
        sim.trace().add_observer(trace);
        tell(fakes::EventKind::heartbeat, "w-0");
    }
    EXPECT_FALSE(std::ifstream(path).good());
    EXPECT_TRUE(file.finish());
    std::string line;
    std::ifstream written(path);
    std::getline(written, line);
    EXPECT_EQ(line, R"({"ns":0,"event":"heartbeat","node":"w-0"})");
    std::remove(path.c_str());
}

}  // namespace
}  // namespace lockstep::sim
