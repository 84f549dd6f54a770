#include "sim/judge/judgement.h"

namespace lockstep::sim {

class Judgement::Opinion final : public Verdict {
public:
    Opinion(Judgement& judgement, Standing& standing, std::string_view paragraph, const Observed& observed)
        : judgement_(judgement), standing_(standing), paragraph_(paragraph), observed_(observed), job_(observed.job) {}
    void about(const Job* job) override { job_ = job; }
    void cite(std::string_view paragraph) override { paragraph_ = paragraph; }
    void expect_by(Time due, Judging judge) override {
        Obligation owed{&standing_, paragraph_, observed_, std::move(judge)};
        owed.about.job = job_;
        judgement_.owed_.emplace(due, std::move(owed));
    }

private:
    [[nodiscard]] std::string_view job() const { return job_ == nullptr ? "" : job_->name; }
    void count_exercised() override {
        ++standing_.exercised;
        if (job_ == nullptr) return;
        const auto number = static_cast<std::size_t>(job_->number);
        if (number >= judgement_.judged_.size()) judgement_.judged_.resize(number + 1);
        judgement_.judged_[number] = true;
    }
    void violated(EventNumber because, std::string detail) override {
        findings_.violated({.invariant = standing_.invariant,
                            .paragraph = paragraph_,
                            .here = observed_.event,
                            .earlier = because,
                            .node = observed_.node,
                            .job = job(),
                            .detail = std::move(detail)});
    }

    Judgement& judgement_;
    Findings& findings_ = judgement_.findings_;
    Standing& standing_;
    std::string_view paragraph_;
    const Observed& observed_;
    const Job* job_;
};

Judgement::Judgement(Findings& findings, Vantage from) : findings_(findings), model_(findings, *this), rules_(from) {}

void Judgement::add(std::string_view invariant, std::string_view paragraph, RuleFactory make,
                    const engine::Tunables& tunables) {
    rules_.begin(standings_.emplace_back(Standing{.invariant = invariant, .paragraph = paragraph}));
    make(rules_, tunables);
}

std::set<std::string> Judgement::unjudged() const {
    std::set<std::string> left;
    for (const Job& job : model_.jobs()) {
        const auto number = static_cast<std::size_t>(job.number);
        const bool is_judged = number < judged_.size() && judged_[number];
        if (job.causes.of(Asked::submit).called && !is_judged) left.emplace(job.name);
    }
    return left;
}

void Judgement::on_facts(std::span<const Fact> facts) {
    for (const Fact& fact : facts) {
        for (const auto& [standing, rule] : rules_.of(fact.number)) {
            Opinion opinion(*this, *standing, standing->paragraph, *fact.observed);
            rule(*fact.observed, model_, opinion);
        }
    }
}

void Judgement::on_time(Time now) {
    while (!owed_.empty() && owed_.begin()->first <= now) {
        Obligation due = std::move(owed_.extract(owed_.begin()).mapped());
        due.about.event = findings_.present();
        Opinion opinion(*this, *due.standing, due.paragraph, due.about);
        due.judge(model_, opinion);
    }
}

}  // namespace lockstep::sim
