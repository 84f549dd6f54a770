// How a rule is written.
//
// A rule is a free function of a fact (sim/model/facts.h), the model (sim/model/model.h) and a verdict. It sees the model as the command
// left it; the fact says what was before. A rule may own a small state, which a run makes anew: a lambda that captures it.
//
//     void within_the_tenants_limit(const StateChanged& change, const Model& model, Verdict& verdict) {
//         if (change.to != State::scheduled) return;        // not its business
//         verdict.exercised(...);                           // the invariant could have been broken here
//         verdict.require(others < limit, because, "scheduled while {} of at most {} ...", others, limit);
//     }
//     void tenant_limit(Rules& rules, const engine::Tunables& tunables) { rules.add(within_the_tenants_limit); }
//
// 1. One file of sim/rules/ per invariant, its factory in sim/rules/rules.h and in the table of sim/rules/invariants.cpp.
// 2. A rule compares. What the documents allow next is a function of sim/spec/, which cites its paragraph; what can be known from
//    outside is a member of the model. A rule that keeps what another one could need belongs into the model.
// 3. Where data is lost, the model follows what Redis has kept, so that a rule has no case for it.
// 4. `require` is called where the rule applies, held or not; the message says what was observed and what is allowed. `because` is
//    the earlier event that makes the present one wrong, or 0. Where another paragraph than the table's says what is allowed, the rule
//    cites it: a page of engine/ with a section ("engine/wire/wire.md 8.2") or an anchor.
// 5. What is to have happened by a time is expected (`expect_by`), and what the run comes to is a rule over `AtRest`.
// 6. On real servers a rule runs where the fact that it wants can be seen, and all that it goes by besides: a rule that reads in the
//    model, or in a state that it shares, what other facts tell, names them: `rules.add<PolicyAnswered>(denied_by_policy)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/config/tunables.h"
#include "sim/model/model.h"

namespace lockstep::sim {

/// What a rule has to say about the fact that it is shown.
class Verdict {
public:
    virtual ~Verdict() = default;
    /// The invariant could have been broken here: a run in which it never could proves nothing about it.
    void exercised(bool when = true) {
        if (when) count_exercised();
    }
    /// A violation unless `holds`.
    template <class... Arguments>
    void require(bool holds, EventNumber because, fmt::format_string<Arguments...> message, Arguments&&... arguments) {
        if (!holds) violated(because, fmt::format(message, std::forward<Arguments>(arguments)...));
    }

    /// What is said from here on concerns this job, not that of the fact; null: none.
    virtual void about(const Job* job) = 0;
    /// What is said from here on comes from this paragraph, not from the one that the table names for the invariant.
    virtual void cite(std::string_view paragraph) = 0;

    using Judging = std::function<void(const Model&, Verdict&)>;
    /// What is to have happened by then, about the job and by the node of the fact. It is judged once: before anything that comes at
    /// `due` or later, or when all is quiet.
    virtual void expect_by(Time due, Judging judge) = 0;

protected:
    virtual void count_exercised() = 0;
    virtual void violated(EventNumber because, std::string detail) = 0;
};

/// From where a run is judged: by all that the simulator tells, or by what real servers show of themselves.
enum class Vantage : std::uint8_t { inside, outside };

/// One invariant in one run, and what came of it so far.
struct Standing {
    std::string_view invariant;
    std::string_view paragraph;  // of the documents, where a rule cites no other
    std::uint64_t exercised = 0;
    int rules = 0;     // that judge it
    int left_out = 0;  // that go by what cannot be seen from there
};

/// The rules of a run, by the facts that they want.
class Rules {
public:
    explicit Rules(Vantage from = Vantage::inside) : from_(from) {}

    struct Entry {
        Standing* standing;
        std::function<void(const Observed&, const Model&, Verdict&)> rule;
    };

    /// What is added from here on judges this invariant. It outlives the rules.
    void begin(Standing& standing) { standing_ = &standing; }
    /// A function, or a lambda, whose first parameter says which fact it wants. It goes by what `Besides` tell, too.
    template <class... Besides, class Function>
    void add(Function rule) {
        using Happened = typename Wanted<Function>::Fact;
        constexpr bool kSeenOutside = kIsSeenOutside<Happened> && (kIsSeenOutside<Besides> && ...);
        const bool runs = kSeenOutside || from_ == Vantage::inside;
        ++(runs ? standing_->rules : standing_->left_out);
        if (!runs) return;
        const std::size_t number = kFactNumber<Happened>;
        if (number >= entries_.size()) entries_.resize(number + 1);
        entries_[number].push_back(
            {standing_, [rule = std::move(rule)](const Observed& fact, const Model& model, Verdict& verdict) mutable {
                 rule(static_cast<const Happened&>(fact), model, verdict);
             }});
    }
    /// Of facts of this type, as FactList numbers them.
    [[nodiscard]] const std::vector<Entry>& of(std::size_t number) const {
        static const std::vector<Entry> kNone;
        return number < entries_.size() ? entries_[number] : kNone;
    }

private:
    template <class Function>
    struct Wanted : Wanted<decltype(&Function::operator())> {};
    template <class Happened>
    struct Wanted<void (*)(const Happened&, const Model&, Verdict&)> {
        using Fact = Happened;
    };
    template <class Lambda, class Happened>
    struct Wanted<void (Lambda::*)(const Happened&, const Model&, Verdict&)> {
        using Fact = Happened;
    };
    template <class Lambda, class Happened>
    struct Wanted<void (Lambda::*)(const Happened&, const Model&, Verdict&) const> {
        using Fact = Happened;
    };

    Vantage from_;
    Standing* standing_ = nullptr;
    std::vector<std::vector<Entry>> entries_;
};

/// Makes the rules of an invariant anew for a run. The tunables outlive them.
using RuleFactory = void (*)(Rules& rules, const engine::Tunables& tunables);

}  // namespace lockstep::sim
