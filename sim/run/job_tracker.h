// What has become of the jobs so far, told by the events: which were submitted, and the state of each.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/world/trace.h"

namespace lockstep::sim {

class JobTracker final : public EventObserver {
public:
    void on_event(const fakes::Event& event, Time now) override;

    /// Jobs that have left no trace of an end: neither final nor waiting for an approval.
    [[nodiscard]] std::size_t unfinished() const { return unfinished_; }
    [[nodiscard]] std::size_t waiting_for_approval() const { return waiting_; }
    /// Jobs by state; submitted ones that Redis does not know yet under "".
    [[nodiscard]] std::map<std::string, std::int64_t> states() const;
    /// Empty for a job that Redis does not know.
    [[nodiscard]] std::string state_of(std::string_view job) const;

private:
    void enter(std::string_view job, std::string_view state);

    std::map<std::string, std::string, std::less<>> jobs_;
    std::size_t unfinished_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace lockstep::sim
