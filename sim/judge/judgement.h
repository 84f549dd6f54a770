// The judgement of one run: its model, the rules of each invariant, and what they found. It reports them to `Findings`.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/judge/findings.h"
#include "sim/judge/rules.h"

namespace lockstep::sim {

class Judgement final : private FactListener {
public:
    /// They outlive this.
    explicit Judgement(Findings& findings, Vantage from = Vantage::inside);

    /// The tunables and the texts outlive this.
    void add(std::string_view invariant, std::string_view paragraph, RuleFactory make,
             const engine::Tunables& tunables);
    /// To be told of everything that it wants.
    [[nodiscard]] Model& model() { return model_; }
    [[nodiscard]] const Model& model() const { return model_; }
    /// In the order in which they were added; from outside also those without a rule.
    [[nodiscard]] const std::deque<Standing>& standings() const { return standings_; }
    /// Jobs that were submitted and have put no invariant to the test, by name.
    [[nodiscard]] std::set<std::string> unjudged() const;

private:
    class Opinion;
    struct Obligation {
        Standing* standing;
        std::string_view paragraph;
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
    std::vector<bool> judged_;              // by Job::number
};

}  // namespace lockstep::sim
