// Results of jobs as news for their runs (workflow.md 6.1). A result message says only that a job may have ended: how it has, the
// job's record says once the scheduler has written it (H-18), and the run is told then.
#pragma once

#include <string>

#include "engine/bus/message_pump.h"
#include "engine/config/context.h"
#include "engine/workflow/run_store.h"
#include "engine/workflow/run_visits.h"

namespace lockstep::engine {

class ResultIntake final : public PacketHandler {
public:
    /// All arguments outlive the intake.
    ResultIntake(const Context& context, RunStore& store, RunVisits& visits)
        : context_(context), store_(store), visits_(visits) {}

private:
    [[nodiscard]] Task<Disposition> handle(cap::BusPacket packet, Origin origin) override;
    enum class JobIs : std::uint8_t { over, open, not_recorded, unknown };
    /// Waits a little for the scheduler, which has the same message in hand.
    [[nodiscard]] Task<JobIs> look_at(JobId job);

    const Context& context_;
    RunStore& store_;
    RunVisits& visits_;
};

}  // namespace lockstep::engine
