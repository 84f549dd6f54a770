// nothing_leaks: at rest no lock, in-flight mark or handler is left beyond its time. The run goes on for longer than a job
// lock lives before this is asked, so a lock that is still there has been renewed by somebody who had no business to.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NothingLeaks final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "nothing_leaks"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;

private:
    std::map<std::string, EventNumber, std::less<>> granted_;  // lock -> when it was last taken or renewed
};

}  // namespace lockstep::sim
