// Oracles: each watches one invariant from outside the engine, on events and on the keyspace, and knows nothing of how the
// engine works. Names and meanings are the user's contract (`lockstep list invariants`).
//
// 1. An oracle counts how often the situation arose in which its invariant could have been broken: a run in which it never
//    did has proved nothing about it.
// 2. Safety is judged as it happens; what can only be judged when all is quiet, in `at_rest`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/config/pinned_settings.h"
#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "fakes/redis/keyspace.h"
#include "fakes/redis/observer.h"
#include "sim/judge/judgement.h"
#include "sim/model/tunables_in_force.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// Takes down what an oracle found. The first violation stops the run.
class Judge : public Findings {
public:
    /// `detail` is one sentence that names the two facts which contradict each other: the present event, and `earlier`.
    virtual void violated(std::string_view invariant, fakes::NodeId node, std::string_view job, std::string detail,
                          EventNumber earlier) = 0;
    /// The same of an event, `here`, that broke the rule before the present one showed it.
    void violated_at(EventNumber /*here*/, std::string_view invariant, fakes::NodeId node, std::string_view job,
                     std::string detail, EventNumber earlier) override {
        violated(invariant, node, job, std::move(detail), earlier);
    }
    /// What is known of the run. It hears everything before the oracles do.
    [[nodiscard]] virtual const Model& model() const = 0;
    /// What is being told has put an invariant to the test.
    virtual void exercised() {}
};

/// The world when all is quiet, or when the time is over.
struct RestView {
    const fakes::redis::Keyspace& redis;
    bool quiet = false;  // nothing is left to happen; false: the scenario's duration ran out
};

/// Each oracle has a constant `kWanted`, the kinds of events that it is told of. Of the keyspace it is told what it overrides.
class Oracle : public EventObserver, public fakes::redis::KeyspaceObserver {
public:
    explicit Oracle(Judge& judge) : judge_(judge) {}

    [[nodiscard]] virtual std::string_view invariant() const = 0;
    /// What it is to be told of.
    struct Wants {
        fakes::EventKinds events;
        fakes::redis::KeyspaceChanges changes{};
    };
    [[nodiscard]] const Wants& wants() const { return wants_; }
    [[nodiscard]] std::uint64_t exercised() const { return exercised_; }

    void on_event(const fakes::Event& /*event*/, Time /*now*/) override {}
    virtual void at_rest(const RestView& /*view*/) {}

protected:
    void exercise() {
        ++exercised_;
        judge_.exercised();
    }
    [[nodiscard]] const Model& model() const { return judge_.model(); }
    /// What Redis has lost of the job. Oracles excuse jobs of which it lost something, and no others.
    [[nodiscard]] Loss loss_of(std::string_view job) const {
        const Job* known = model().find(job);
        return known == nullptr ? Loss{} : known->lost;
    }
    /// When the last event was told, also one of a kind that this oracle has not asked for.
    [[nodiscard]] const Time& told_at() const { return judge_.told_at(); }
    /// For keeping with a fact that a later one may contradict.
    [[nodiscard]] EventNumber present() const { return judge_.present(); }
    /// For a change of the keyspace that has no event of its own: what is told next belongs to the same command.
    [[nodiscard]] EventNumber upcoming() const { return judge_.present() + 1; }
    void violated(fakes::NodeId node, std::string_view job, std::string detail, EventNumber earlier = 0) {
        judge_.violated(invariant(), node, job, std::move(detail), earlier);
    }

    /// Of an event before the present one.
    void violated_at(EventNumber here, fakes::NodeId node, std::string_view job, std::string detail,
                     EventNumber earlier = 0) {
        judge_.violated_at(here, invariant(), node, job, std::move(detail), earlier);
    }

private:
    template <class Judging, class... Arguments>
    friend std::unique_ptr<Oracle> make_oracle(Arguments&&... arguments);

    Judge& judge_;
    Wants wants_;
    std::uint64_t exercised_ = 0;
};

/// An oracle that knows what it is to be told of.
template <class Judging, class... Arguments>
[[nodiscard]] std::unique_ptr<Oracle> make_oracle(Arguments&&... arguments) {
    auto made = std::make_unique<Judging>(std::forward<Arguments>(arguments)...);
    made->wants_ = {Judging::kWanted, fakes::redis::changes_heard_by<Judging>()};
    return made;
}

/// Every oracle that can judge by these tunables, in the order of the catalogue. The judge and the tunables outlive them.
/// `pinned`: what an operator has set.
[[nodiscard]] std::vector<std::unique_ptr<Oracle>> make_oracles(Judge& judge, TunablesInForce& tunables,
                                                                engine::PinnedSettings pinned = {});

/// Adds the rules of all invariants that have some and can be judged by these tunables; of those only the ones that are named, if any is.
/// The tunables outlive them. `timeouts`: the document that the schedulers start with, as timeouts.yaml, in JSON; empty where they have none.
void add_rules(Judgement& judgement, TunablesInForce& tunables, std::string_view timeouts = {},
               std::span<const std::string_view> only = {});

}  // namespace lockstep::sim
