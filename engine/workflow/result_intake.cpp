#include "engine/workflow/result_intake.h"

#include <algorithm>
#include <utility>

#include "engine/runs/job_names.h"
#include "engine/store/job_state.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

/// Between two looks at a job whose scheduler has not recorded its end yet.
constexpr Duration kLookPauseMin = std::chrono::milliseconds{10};
constexpr Duration kLookPauseMax = std::chrono::milliseconds{200};
/// After so many deliveries the reconciler is left to find the end: whose result the scheduler refuses may never end by it.
constexpr std::uint64_t kDeliveriesMax = 10;

}  // namespace

Task<Disposition> ResultIntake::handle(cap::BusPacket packet, Origin origin) {
    if (!packet.has_job_result() || origin.subject != wire::kSubjectResult) co_return Disposition::done();
    const std::string job = packet.job_result().job_id();
    const auto of = parse_run_job(job);
    if (!of || !state_of_result(packet.job_result().status())) co_return Disposition::done();
    switch (co_await look_at(JobId(job))) {
        case JobIs::over: break;
        // A scheduler records a job before anybody can work on it: there is nothing to wait for, however many of these arrive.
        case JobIs::not_recorded: context_.ports.log.reached("run_result_of_no_job"); co_return Disposition::done();
        case JobIs::unknown: co_return Disposition::hand_back(context_.tunables.retry_delay_store);
        case JobIs::open:
            if (origin.deliveries < kDeliveriesMax)
                co_return Disposition::hand_back(context_.tunables.retry_delay_busy);
            context_.ports.log.reached("run_result_left_to_look");
            co_return Disposition::done();
    }
    std::vector<std::string> jobs{job};
    switch (co_await visits_.visit(of->run, std::move(jobs))) {
        case Visited::done:
        case Visited::absent: co_return Disposition::done();
        case Visited::busy:
        case Visited::overtaken: co_return Disposition::hand_back(context_.tunables.retry_delay_busy);
        case Visited::unreachable: break;
    }
    co_return Disposition::hand_back(context_.tunables.retry_delay_store);
}

Task<ResultIntake::JobIs> ResultIntake::look_at(JobId job) {
    const MonoTime give_up = context_.ports.clock.in(context_.tunables.lock_wait);
    Duration pause = kLookPauseMin;
    while (true) {
        const auto state = co_await store_.job_state(job);
        if (!state.applied()) co_return JobIs::unknown;
        if (state.value().empty()) co_return JobIs::not_recorded;
        const auto known = parse_job_state(state.value());
        if (known && is_terminal(*known)) co_return JobIs::over;
        if (context_.ports.clock.monotonic() >= give_up) co_return JobIs::open;
        co_await context_.ports.clock.sleep(pause);
        pause = std::min(2 * pause, kLookPauseMax);
    }
}

}  // namespace lockstep::engine
