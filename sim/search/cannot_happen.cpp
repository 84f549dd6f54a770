#include "sim/search/cannot_happen.h"

#include <algorithm>
#include <array>

namespace lockstep::sim {

namespace {

using namespace coverage;

constexpr const char* kAnswersOrFails =
    "an RPC has an answer or fails, and who fails cannot know that the server has heard nothing";
constexpr const char* kOnlyWithoutTheQueue = "called only where the mechanism tenant_limit_atomicity is switched off";
constexpr const char* kByWayOfScheduled = "a dispatch enters SCHEDULED and DISPATCHED in one step, in this order";
constexpr const char* kOnlyAfterDispatched =
    "RUNNING is entered with the number of the dispatch, which stands there only while the job is DISPATCHED";
constexpr const char* kOnlyAfterADispatch = "a result of a job that is neither DISPATCHED nor RUNNING is refused";

constexpr std::array kList{
    CannotHappen{kTunable, "lock_on_abandon", "nothing reads it: a lock that cannot be renewed is given up in one way"},
    CannotHappen{kCall, "kernel_check: not applied", kAnswersOrFails},
    CannotHappen{kCall, "output_check: not applied", kAnswersOrFails},
    CannotHappen{kCall, "redis tenant_is_full: applied", kOnlyWithoutTheQueue},
    CannotHappen{kCall, "redis tenant_is_full: not applied", kOnlyWithoutTheQueue},
    CannotHappen{kCall, "redis tenant_is_full: unknown", kOnlyWithoutTheQueue},
    CannotHappen{kState, "(none) -> DISPATCHED", kByWayOfScheduled},
    CannotHappen{kState, "PENDING -> DISPATCHED", kByWayOfScheduled},
    CannotHappen{kState, "APPROVAL_REQUIRED -> DISPATCHED", kByWayOfScheduled},
    CannotHappen{kState, "(none) -> RUNNING", kOnlyAfterDispatched},
    CannotHappen{kState, "PENDING -> RUNNING", kOnlyAfterDispatched},
    CannotHappen{kState, "APPROVAL_REQUIRED -> RUNNING", kOnlyAfterDispatched},
    CannotHappen{kState, "SCHEDULED -> RUNNING", kOnlyAfterDispatched},
    CannotHappen{kState, "SCHEDULED -> SUCCEEDED", kOnlyAfterADispatch},
    CannotHappen{kState, "SCHEDULED -> OUTPUT_QUARANTINED", kOnlyAfterADispatch},
    CannotHappen{kBranch, "cancel_dropped",
                 "takes ten thousand cancellations, or four megabytes of ids, before Redis has answered one "
                 "(fakes/engine_test/lifecycle_test.cpp hands them in)"},
    CannotHappen{kBranch, "results_stream_made_anew",
                 "takes an operator who deletes a stream, which no fault does "
                 "(fakes/engine_test/unheard_results_test.cpp makes one anew)"},
};

}  // namespace

std::span<const CannotHappen> cannot_happen() { return kList; }

const CannotHappen* find_cannot_happen(const CoverageItem& item) {
    const auto* found = std::ranges::find_if(
        kList, [&item](const CannotHappen& entry) { return entry.group == item.group && entry.name == item.name; });
    return found == kList.end() ? nullptr : found;
}

}  // namespace lockstep::sim
