// What a run asked of its servers: commands and bytes of Redis, questions to policy, messages put off and delivered again, and
// how many came again at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/measure/measured_run.h"
#include "sim/measure/step_course.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class ServerLoad final : public EventObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::redis, fakes::EventKind::kernel_check,
                                               fakes::EventKind::output_check, fakes::EventKind::nak,
                                               fakes::EventKind::deliver};

    void on_event(const fakes::Event& event, Time now) override;
    /// `jobs`: what is given per job is divided by it.
    void report(MeasuredRun& run, std::uint64_t jobs, Time end, std::size_t steps) const;

private:
    void on_answer_of_policy(const fakes::Event& event);

    std::uint64_t commands_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t questions_ = 0;
    std::uint64_t naks_ = 0;
    std::vector<Time> again_;  // deliveries of a message that had been delivered before
    std::map<std::string, std::uint64_t, std::less<>> unanswered_in_a_row_;  // by node
    std::uint64_t longest_unanswered_ = 0;
};

}  // namespace lockstep::sim
