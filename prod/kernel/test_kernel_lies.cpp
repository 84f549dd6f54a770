#include "prod/kernel/test_kernel_lies.h"

namespace lockstep::prod {

namespace {

template <Weather kWhen>
void never_runs(const Step& step, Observed& observed) {
    if (step.weather == kWhen) observed.ran = observed.ran_in_the_end = 0;
}

template <Weather kWhen>
void runs(const Step& step, Observed& observed) {
    if (step.weather == kWhen) observed.ran_in_the_end = 1;
}

template <Weather kWhen, int kStatus>
void answers_status(const Step& step, Observed& observed) {
    if (step.weather == kWhen) observed.answer = "status " + std::to_string(kStatus);
}

constexpr KernelLie kLies[] = {
    {"an outage is UNAVAILABLE", answers_status<Weather::no_answer, 14>},
    {"a late answer is CANCELLED", answers_status<Weather::slow, 1>},
    {"a broken connection is DEADLINE_EXCEEDED", answers_status<Weather::breaks_before, 4>},
    {"a refused connection is DEADLINE_EXCEEDED", answers_status<Weather::refused, 4>},
    {"a crash is INTERNAL", answers_status<Weather::crashes, 13>},
    {"an unknown service is INTERNAL", answers_status<Weather::no_such_service, 13>},
    {"a status of the handler is UNKNOWN", answers_status<Weather::status, 2>},
    {"the largest request is refused", answers_status<Weather::largest_request, 8>},
    {"a large answer is refused", answers_status<Weather::large_answer, 8>},
    {"a too large request is answered",
     [](const Step& step, Observed& observed) {
         if (step.weather == Weather::too_large_request) observed = {"ALLOW", 1, 1};
     }},
    {"the deadline ends the handler's work too", never_runs<Weather::slow>},
    {"a broken connection ends the handler's work", never_runs<Weather::breaks_before>},
    {"an answer that is lost was never made", never_runs<Weather::breaks_after>},
    {"a call without an answer has been carried out", runs<Weather::no_answer>},
    {"a crashed kernel carries on", runs<Weather::crashes>},
    {"a call after its deadline is made", runs<Weather::deadline_passed>},
    {"outputs are never withheld",
     [](const Step&, Observed& observed) {
         if (observed.answer == "QUARANTINE") observed.answer = "ALLOW";
     }},
    {"an attempt to connect takes 20 s", nullptr, {.connect_timeout = std::chrono::seconds(20)}},
};

class LyingSide final : public KernelSide {
public:
    explicit LyingSide(const KernelLie& lie) : lie_(lie), honest_(simulated_side(lie.config)) {}
    Observed observe(const Step& step) override {
        Observed observed = honest_->observe(step);
        if (lie_.bend != nullptr) lie_.bend(step, observed);
        return observed;
    }

private:
    const KernelLie& lie_;
    std::unique_ptr<KernelSide> honest_;
};

}  // namespace

std::span<const KernelLie> kernel_lies() { return kLies; }

std::unique_ptr<KernelSide> lying_side(const KernelLie& lie) { return std::make_unique<LyingSide>(lie); }

}  // namespace lockstep::prod
