#include "sim/search/cannot_happen.h"

#include <algorithm>
#include <array>

namespace lockstep::sim {

namespace {

using namespace coverage;

constexpr const char* kNoRuns = "workflow runs do not exist in this version, and nothing reads it";

constexpr std::array kList{
    CannotHappen{kTunable, "run_lock_ttl", kNoRuns},
    CannotHappen{kTunable, "delay_poller_interval", kNoRuns},
    CannotHappen{kTunable, "delay_persist_min", kNoRuns},
    CannotHappen{kTunable, "lock_on_abandon", "nothing reads it: a lock that cannot be renewed is given up in one way"},
};

}  // namespace

std::span<const CannotHappen> cannot_happen() { return kList; }

const CannotHappen* find_cannot_happen(const CoverageItem& item) {
    const auto* found = std::ranges::find_if(
        kList, [&item](const CannotHappen& entry) { return entry.group == item.group && entry.name == item.name; });
    return found == kList.end() ? nullptr : found;
}

}  // namespace lockstep::sim
