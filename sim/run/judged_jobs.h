// Which of the jobs that were submitted have put an invariant to the test. The oracles stand between its two halves in the list
// of observers: the first learns whom the present event is about, the second that all have been told of it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "sim/world/trace.h"

namespace lockstep::sim {

class JudgedJobs final : public EventObserver {
public:
    void on_event(const fakes::Event& event, Time now) override;
    [[nodiscard]] EventObserver& told_to_all() { return end_; }

    /// An oracle says so of what is being told. What is about no job, or is no event, counts for none.
    void exercised();
    /// The same of a job that is known; empty: there is none.
    void exercised_by(std::string_view job);

    [[nodiscard]] std::set<std::string> unjudged() const;

private:
    class End final : public EventObserver {
    public:
        explicit End(std::string_view& present) : present_(present) {}
        void on_event(const fakes::Event& /*event*/, Time /*now*/) override { present_ = {}; }

    private:
        std::string_view& present_;
    };

    std::string_view present_;  // the job of the event that is being told
    std::set<std::string, std::less<>> submitted_, judged_;
    End end_{present_};
};

}  // namespace lockstep::sim
