// For one dispatch number at most one message reaches workers, counted at the subscribers as well as in the stream, and no job
// reaches workers twice. Workers of this world never repeat a job by themselves, so two arrivals are always the scheduler's doing.
#include <map>
#include <memory>
#include <string>

#include "sim/rules/rules.h"
#include "sim/spec/sending_again.h"

namespace lockstep::sim::rules {

namespace {

/// The first of each that was seen.
struct SeenFirst {
    struct Arrival {
        std::string subject, message_id;
        EventNumber event = 0;
    };
    struct Place {
        std::uint64_t sequence = 0;
        EventNumber event = 0;
    };
    std::map<fakes::JobNumber, Arrival> arrivals;
    std::map<std::string, Place> places;  // in the stream, by message id
};

}  // namespace

void no_duplicate_dispatch(Rules& rules, const engine::Tunables& tunables) {
    const auto first = std::make_shared<SeenFirst>();
    rules.add([first, &tunables](const Arrived& arrived, const Model&, Verdict& verdict) {
        if (arrived.job == nullptr) return;
        verdict.exercised();
        const auto [found, is_first] = first->arrivals.try_emplace(
            arrived.job->number, SeenFirst::Arrival{arrived.subject, arrived.message_id, arrived.event});
        verdict.require(is_first || spec::may_be_forgotten(*arrived.job, tunables), found->second.event,
                        "the job arrived on {} as {} and before that on {} as {}", arrived.subject, arrived.message_id,
                        found->second.subject, found->second.message_id);
    });
    rules.add([first, &tunables](const DispatchStored& stored, const Model&, Verdict& verdict) {
        const auto [found, is_first] =
            first->places.try_emplace(stored.message_id, SeenFirst::Place{stored.sequence, stored.event});
        const bool excused = stored.job != nullptr && spec::may_be_forgotten(*stored.job, tunables);
        verdict.require(is_first || excused, found->second.event, "{} is in the stream at {} and at {}",
                        stored.message_id, found->second.sequence, stored.sequence);
    });
    rules.add([&tunables](const Sent& sent, const Model&, Verdict& verdict) {
        const Sendings::Unanswered& before = sent.unanswered;
        if (before.since.event == 0) return;
        verdict.exercised();
        verdict.cite("engine/wire/wire.md 8.4");
        const engine::Duration least = spec::least_wait_before(before, tunables);
        const engine::Duration waited = sent.at - before.since.at;
        verdict.require(waited >= least || spec::may_be_forgotten(*sent.job, tunables), before.since.event,
                        "{} is sent again {} ms after its fate became unknown: two looks at the stream take {} ms at "
                        "least",
                        sent.message_id, engine::to_millis(waited), engine::to_millis(least));
    });
}

}  // namespace lockstep::sim::rules
