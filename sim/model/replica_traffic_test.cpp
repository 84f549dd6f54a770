#include "sim/model/replica_traffic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/model/job.h"

namespace lockstep::sim {
namespace {

using Load = ReplicaTraffic::Load;

constexpr engine::Duration kUnaware = std::chrono::seconds{1};

/// Several events happen at one instant.
Time at(EventNumber event) { return Time{std::chrono::seconds{event / 3}}; }
Since since(EventNumber event) { return {event, at(event)}; }

/// Keeps everything in two lists, and goes through both for each question.
struct Plain {
    struct Counted : ReplicaTraffic::Sending {
        WorkerNumber worker = 0;  // 0: not known
        Time until = kBeforeAll;
    };
    struct Ended {
        WorkerNumber worker = 0;
        const Job* job = nullptr;
        EventNumber recorded = 0;
        std::optional<Time> counted;
        StateReads::CallKind call = 0;
        bool answerable = true;
    };
    std::vector<Counted> sendings;
    std::vector<Ended> ends;

    Counted* latest(WorkerNumber worker, const Job* job) {
        const auto found = std::find_if(sendings.rbegin(), sendings.rend(),
                                        [&](const Counted& one) { return one.job == job && one.worker == worker; });
        return found == sendings.rend() ? nullptr : &*found;
    }
    [[nodiscard]] Load load(WorkerNumber worker, const WorkerReport& said, const Choice& choice) const {
        std::int64_t surely_sent = 0, perhaps_sent = 0, taken_off = 0, surely_ended = 0, perhaps_ended = 0;
        for (const Counted& one : sendings) {
            if ((one.worker != worker && one.worker != 0) || one.first > choice.to) continue;
            const bool sure = one.worker != 0 && one.is_sent && !one.is_doubtful;
            taken_off += !sure && one.first <= said.event ? 1 : 0;
            const bool off_again = one.worker == 0 && one.last.event < choice.from && one.until < choice.from_at;
            if (off_again || (one.last.event <= said.event && one.until < said.at)) continue;
            ++perhaps_sent;
            surely_sent += sure && one.first > said.event && one.last.event < choice.from ? 1 : 0;
        }
        for (const Ended& end : ends) {
            if (end.worker != worker || end.recorded > choice.to || (end.counted && *end.counted < said.at)) continue;
            ++perhaps_ended;
            surely_ended += end.counted && *end.counted > said.at && *end.counted < choice.from_at ? 1 : 0;
        }
        const std::int64_t least = std::max<std::int64_t>(0, surely_sent - taken_off) - perhaps_ended;
        return {std::max<std::int64_t>(0, said.facts.active_jobs + least),
                std::max<std::int64_t>(0, said.facts.active_jobs + perhaps_sent - surely_ended)};
    }
};

// Goal: looking only at what is newer than a worker's report counts what looking at everything counts. Method: a few jobs go to a few
// workers, and a question about a moment of the past or of now comes after each thing that happens.
RC_GTEST_PROP(ReplicaTraffic, CountsAsIfItWentThroughEverything, ()) {
    ReplicaTraffic traffic;
    Plain plain;
    const std::array<Job, 3> jobs;
    const auto steps = *rc::gen::inRange<EventNumber>(1, 60);
    for (EventNumber now = 1; now <= steps; ++now) {
        const Job* job = &jobs[*rc::gen::inRange<std::size_t>(0, jobs.size())];
        const auto worker = *rc::gen::inRange<WorkerNumber>(1, 3);
        const auto call = *rc::gen::inRange<StateReads::CallKind>(1, 3);
        const bool flag = *rc::gen::arbitrary<bool>();
        const auto first = *rc::gen::inRange<EventNumber>(0, now + 1);
        Plain::Counted* known = plain.latest(worker, job);
        switch (*rc::gen::inRange(0, 8)) {
            case 0:
            case 1:
                plain.sendings.push_back({{job, first, since(now)}, worker});
                traffic.chosen(worker, job, first, since(now));
                break;
            case 2:
                plain.sendings.push_back({{nullptr, first, since(now)}, 0, flag ? kBeforeAll : at(now) + kUnaware});
                traffic.may_have_chosen(first, since(now), flag);
                break;
            case 3:
                if (known != nullptr) known->is_sent = true;
                traffic.sent(worker, job);
                break;
            case 4:
                if (known != nullptr) known->is_doubtful = true;
                RC_ASSERT(traffic.doubt(worker, job).has_value() == (known != nullptr));
                break;
            case 5:
                plain.ends.push_back({worker, job, now});
                traffic.ended(worker, job, since(now));
                break;
            case 6:
                for (Plain::Ended& end : plain.ends) {
                    if (end.counted || !end.answerable || end.job != job || end.call != 0) continue;
                    end.call = call;
                    end.answerable = flag;
                }
                traffic.recorded(job, call, flag);
                break;
            default:
                for (Plain::Ended& end : plain.ends) {
                    if (end.counted || !end.answerable || end.job != job || end.call != call) continue;
                    end.answerable = flag;
                    if (flag) end.counted = at(now);
                }
                traffic.answered(job, call, flag, at(now));
        }
        WorkerReport said;
        static_cast<Since&>(said) = since(*rc::gen::inRange<EventNumber>(0, now + 1));
        said.facts.active_jobs = *rc::gen::inRange(0, 20);
        const auto from = *rc::gen::inRange<EventNumber>(0, now + 1);
        const Choice choice{.from = from,
                            .to = *rc::gen::inRange(std::max(from, said.event), now + 2),
                            .from_at = at(from),
                            .made = now};
        const Load ours = traffic.load(worker, said, choice, kUnaware);
        const Load theirs = plain.load(worker, said, choice);
        RC_ASSERT(ours.least == theirs.least);
        RC_ASSERT(ours.most == theirs.most);
    }
}

TEST(ReplicaTraffic, ForgetsWhatIsTooOld) {
    ReplicaTraffic traffic;
    const Job job;
    for (EventNumber now = 3; now <= 9; now += 3) {
        traffic.chosen(1, &job, now, since(now));
        traffic.may_have_chosen(now, since(now), true);
        traffic.ended(1, &job, since(now));
        traffic.recorded(&job, 1, true);
        if (now < 9) traffic.answered(&job, 1, true, at(now));
    }
    WorkerReport said;
    said.facts.active_jobs = 10;
    const auto left = [&] { return traffic.load(1, said, {.to = 10, .from_at = at(10), .made = 10}, kUnaware); };
    const auto expect = [&](Time too_old, std::int64_t least, std::int64_t most) {
        traffic.forget_before(too_old);
        EXPECT_EQ(left().least, least);
        EXPECT_EQ(left().most, most);
    };
    expect(at(0), 7, 14);
    expect(at(6), 8, 13);
    expect(at(12), 10, 10);
    EXPECT_FALSE(traffic.doubt(1, &job));
}

}  // namespace
}  // namespace lockstep::sim
