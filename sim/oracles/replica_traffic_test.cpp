#include "sim/oracles/replica_traffic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lockstep::sim {
namespace {

using Sending = ReplicaTraffic::Sending;
using End = ReplicaTraffic::End;
using Count = ReplicaTraffic::Count;

/// Keeps everything in two lists, and goes through both for each question.
struct Plain {
    std::vector<Sending> sendings;
    std::vector<End> ends;

    Sending* latest_of(const std::string& job) {
        const auto found = std::find_if(sendings.rbegin(), sendings.rend(), [&job](const Sending& candidate) {
            return candidate.job == job && !candidate.worker.empty();
        });
        return found == sendings.rend() ? nullptr : &*found;
    }

    [[nodiscard]] Count since(const WorkerReport& said, const std::string& worker,
                              const ReplicaTraffic::Moment& moment) const {
        Count count;
        for (const Sending& sending : sendings) {
            const bool its_own = sending.worker == worker;
            if ((!its_own && !sending.worker.empty()) || sending.first > moment.window.to) continue;
            const bool sure = its_own && sending.sent != 0 && !sending.doubtful;
            if (!sure && sending.first <= said.event) ++count.perhaps_taken_off;
            const bool off_again =
                sending.worker.empty() && sending.last < moment.window.from && sending.until < moment.from;
            const bool before = sending.last <= said.event && sending.until < said.at;
            if (before || off_again) continue;
            ++count.perhaps_sent;
            if (sure && sending.first > said.event && sending.last < moment.window.from) ++count.surely_sent;
        }
        for (const End& end : ends) {
            if (end.worker != worker || end.first > moment.window.to) continue;
            if (end.counted && *end.counted < said.at) continue;
            ++count.perhaps_ended;
            if (end.counted && *end.counted > said.at && *end.counted < moment.from) ++count.surely_ended;
        }
        return count;
    }
};

/// Several events happen at one instant.
Time at(EventNumber event) { return Time{std::chrono::seconds{event / 3}}; }

// Goal: looking only at what is newer than a worker's word counts what looking at everything counts. Method: jobs of few names go
// to few workers, and a question about a moment of the past or of now comes after each thing that happens.
RC_GTEST_PROP(ReplicaTraffic, CountsAsIfItWentThroughEverything, ()) {
    ReplicaTraffic traffic;
    Plain plain;
    const auto job = [] { return *rc::gen::element<std::string>("j1", "j2", "j3"); };
    const auto worker = [] { return *rc::gen::element<std::string>("w1", "w2"); };
    const auto command = [] { return *rc::gen::element<std::string>("EVALSHA end", "SET"); };
    const auto steps = *rc::gen::inRange<EventNumber>(1, 60);
    for (EventNumber now = 1; now <= steps; ++now) {
        switch (*rc::gen::inRange(0, 7)) {
            case 0:
            case 1: {
                Sending sending{.job = job(),
                                .worker = *rc::gen::element<std::string>("w1", "w1", "w2", ""),
                                .first = *rc::gen::inRange<EventNumber>(0, now + 1),
                                .last = now,
                                .at = at(now)};
                if (sending.worker.empty() && *rc::gen::arbitrary<bool>()) sending.until = at(now + 5);
                plain.sendings.push_back(sending);
                traffic.add(sending);
                break;
            }
            case 2: {
                const std::string name = job();
                Sending* known = plain.latest_of(name);
                if (known != nullptr) known->sent = now;
                RC_ASSERT((traffic.mark_sent(name, now) != nullptr) == (known != nullptr));
                break;
            }
            case 3: {
                const std::string name = job();
                Sending* known = plain.latest_of(name);
                if (known != nullptr) known->doubtful = true;
                RC_ASSERT((traffic.mark_doubtful(name) != nullptr) == (known != nullptr));
                break;
            }
            case 4: {
                const End end{worker(), job(), now, {}, at(now), {}, true};
                plain.ends.push_back(end);
                traffic.add(end);
                break;
            }
            case 5: {
                const std::string name = job();
                const std::string by = command();
                const bool awaited = *rc::gen::arbitrary<bool>();
                for (End& end : plain.ends) {
                    if (end.counted || !end.answerable || end.job != name || !end.command.empty()) continue;
                    end.command = by;
                    end.answerable = awaited;
                }
                traffic.recorded(name, by, awaited);
                RC_ASSERT(!traffic.has_unrecorded(name));
                break;
            }
            default: {
                const std::string name = job();
                const std::string by = command();
                const bool applied = *rc::gen::arbitrary<bool>();
                for (End& end : plain.ends) {
                    if (end.counted || !end.answerable || end.job != name || end.command != by) continue;
                    end.answerable = applied;
                    if (applied) end.counted = at(now);
                }
                traffic.answered(name, by, applied, at(now));
            }
        }
        WorkerReport said;
        said.event = *rc::gen::inRange<EventNumber>(0, now + 1);
        said.at = at(said.event);
        const auto from = *rc::gen::inRange<EventNumber>(0, now + 1);
        const ReplicaTraffic::Moment moment{{from, *rc::gen::inRange(std::max(from, said.event), now + 2)}, at(from)};
        const std::string about = worker();
        const Count ours = traffic.since(said, about, moment);
        const Count theirs = plain.since(said, about, moment);
        RC_ASSERT(ours.surely_sent == theirs.surely_sent);
        RC_ASSERT(ours.perhaps_sent == theirs.perhaps_sent);
        RC_ASSERT(ours.surely_ended == theirs.surely_ended);
        RC_ASSERT(ours.perhaps_ended == theirs.perhaps_ended);
        RC_ASSERT(ours.perhaps_taken_off == theirs.perhaps_taken_off);
    }
}

TEST(ReplicaTraffic, ForgetsWhatIsTooOld) {
    ReplicaTraffic traffic;
    for (EventNumber now = 3; now <= 9; now += 3) {
        traffic.add(Sending{.job = "j", .worker = "w", .first = now, .last = now, .at = at(now)});
        traffic.add(Sending{.job = "j", .worker = "", .first = now, .last = now, .at = at(now)});
        traffic.add(End{"w", "j", now, {}, at(now), {}, true});
        traffic.recorded("j", "SET", true);
        if (now < 9) traffic.answered("j", "SET", true, at(now));
    }
    const WorkerReport nothing;
    const auto left = [&] { return traffic.since(nothing, "w", {{0, 10}, at(10)}); };
    EXPECT_EQ(left().perhaps_sent, 6);
    EXPECT_EQ(left().perhaps_ended, 3);
    traffic.forget_before(at(6));
    EXPECT_EQ(left().perhaps_sent, 4);
    EXPECT_EQ(left().perhaps_ended, 2);
    EXPECT_NE(traffic.mark_doubtful("j"), nullptr);
    traffic.forget_before(at(12));
    EXPECT_EQ(left().perhaps_sent, 0);
    EXPECT_EQ(left().perhaps_ended, 0);
    EXPECT_EQ(traffic.mark_doubtful("j"), nullptr);
}

}  // namespace
}  // namespace lockstep::sim
