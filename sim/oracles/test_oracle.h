// An oracle by itself: events are made by hand, and what it finds is kept.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/wire/messages.h"
#include "fakes/redis/keyspace.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim::testing {

inline constexpr fakes::NodeId kReplica{5};
inline constexpr fakes::NodeId kOther{6};
inline constexpr fakes::NodeId kWorker{7};

/// Tells an oracle of events and changes as a run does: the model before it, and the oracle of what it wants only.
class TellingJudge : public Judge {
public:
    Judgement judgement{*this};  // without rules: only its model is asked, and for what is lost

    void watch(fakes::redis::Keyspace& keys) { keys.add_observer(judgement.model()); }

    template <class Watching>
    void tell(Watching& oracle, fakes::Event event, Time now) {
        event.job_number = job_numbers_.number_of(event.job);
        told_at_ = now;
        if (event.kind == fakes::EventKind::fault || event.kind == fakes::EventKind::core_deliver)
            judgement.model().on_event(event, now);
        if (Watching::kWanted.contains(event.kind)) oracle.on_event(event, now);
        if (Weather::kWanted.contains(event.kind)) judgement.model().weather().on_event(event, now);
    }

    using Change = fakes::redis::KeyspaceObserver;
    void string_set(Change& oracle, fakes::NodeId client, std::string_view key, const std::string* before,
                    std::string_view after, std::int64_t expires_before, std::int64_t expires_at) {
        for (Change* told : all_told(oracle)) told->string_set(client, key, before, after, expires_before, expires_at);
    }
    void hash_set(Change& oracle, fakes::NodeId client, std::string_view key, std::string_view field,
                  const std::string* before, std::string_view after) {
        for (Change* told : all_told(oracle)) told->hash_set(client, key, field, before, after);
    }
    void key_removed(Change& oracle, fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) {
        for (Change* told : all_told(oracle)) told->key_removed(client, key, why, last, expires_at);
    }
    void restored(Change& oracle, const fakes::redis::Keyspace& now) {
        for (Change* told : all_told(oracle)) told->restored(now);
    }

    [[nodiscard]] const Time& told_at() const final { return told_at_; }
    [[nodiscard]] const Model& model() const final { return judgement.model(); }

private:
    [[nodiscard]] std::array<Change*, 2> all_told(Change& oracle) { return {&judgement.model(), &oracle}; }

    NameNumbers job_numbers_;
    Time told_at_{};
};

struct KeepingJudge final : TellingJudge {
    std::vector<std::string> found;  // "job: detail"
    EventNumber number = 0;          // of the event that was told last
    void violated(std::string_view, fakes::NodeId, std::string_view job, std::string detail, EventNumber) override {
        found.push_back(std::string(job) + ": " + detail);
    }
    EventNumber present() override { return number; }
};

inline fakes::Event event_of(fakes::EventKind kind, std::string_view job, fakes::When when = fakes::When::applied) {
    fakes::Event event;
    event.kind = kind;
    event.when = when;
    event.outcome = fakes::EventOutcome::applied;
    event.job = job;
    return event;
}

inline fakes::Event state_event(std::string_view job, std::string_view from, std::string_view to) {
    fakes::Event event = event_of(fakes::EventKind::state, job);
    event.from = from;
    event.to = to;
    return event;
}

/// Redis takes back what was known of one job, and nothing else; the oracle is told.
template <class Watching>
void take_back(TellingJudge& judge, Watching& oracle, const std::string& job) {
    fakes::redis::Keyspace keys;
    judge.watch(keys);
    keys.add_observer(oracle);
    keys.set_string("job:state:" + job, "RUNNING", fakes::redis::kNever);
    keys.restore([&] { keys.set_string("job:state:" + job, "PENDING", fakes::redis::kNever); });
}

}  // namespace lockstep::sim::testing
