// The judgement of one run: its model, the rules of each invariant, and what they found. It reports them to `Findings`.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string_view>

#include "sim/judge/findings.h"
#include "sim/judge/rules.h"

namespace lockstep::sim {

class Judgement final : private FactListener {
public:
    /// They outlive this.
    explicit Judgement(Findings& findings);

    /// The tunables outlive this.
    void add(std::string_view invariant, RuleFactory make, const engine::Tunables& tunables, bool is_on_trial = false);
    /// To be told of everything, before the oracles.
    [[nodiscard]] Model& model() { return model_; }
    [[nodiscard]] const Model& model() const { return model_; }
    /// In the order in which they were added.
    [[nodiscard]] const std::deque<Standing>& standings() const { return standings_; }

private:
    class Opinion;
    struct Obligation {
        Standing* standing;
        Observed about;
        Verdict::Judging judge;
    };
    void on_facts(std::span<const Fact> facts) override;
    void on_time(Time now) override;

    Findings& findings_;
    Model model_;
    std::deque<Standing> standings_;
    Rules rules_;
    std::multimap<Time, Obligation> owed_;  // by when they are due
};

}  // namespace lockstep::sim
