// Why a job could not be dispatched this time. The names go into dead letters and logs (settings.md 2).
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::engine {

enum class DispatchReason : std::uint8_t {
    no_pool_mapping,
    no_workers,
    pool_overloaded,
    tenant_limit,
    stale_worker,
    dispatch_failed,  // anything else; the only one that is not worth another try
};

[[nodiscard]] constexpr std::string_view to_string(DispatchReason reason) {
    switch (reason) {
        case DispatchReason::no_pool_mapping: return "no_pool_mapping";
        case DispatchReason::no_workers: return "no_workers";
        case DispatchReason::pool_overloaded: return "pool_overloaded";
        case DispatchReason::tenant_limit: return "tenant_limit";
        case DispatchReason::stale_worker: return "stale_worker";
        case DispatchReason::dispatch_failed: return "dispatch_failed";
    }
    return "dispatch_failed";
}

[[nodiscard]] constexpr bool worth_another_try(DispatchReason reason) { return reason != DispatchReason::dispatch_failed; }

}  // namespace lockstep::engine
