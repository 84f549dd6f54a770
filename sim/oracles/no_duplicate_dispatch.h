// no_duplicate_dispatch: for one dispatch number at most one message reaches workers, counted at the subscribers as well as
// in the stream, and no job reaches workers twice. Workers of this world never repeat a job by themselves, so two arrivals
// are always the scheduler's doing.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoDuplicateDispatch final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "no_duplicate_dispatch"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    struct First {
        std::string subject;
        std::string message_id;
        EventNumber event = 0;
    };
    struct Stored {
        std::uint64_t sequence = 0;  // in the stream
        EventNumber event = 0;
    };
    std::map<std::string, First, std::less<>> delivered_;  // by job
    std::map<std::string, Stored, std::less<>> stored_;    // by message id
};

}  // namespace lockstep::sim
