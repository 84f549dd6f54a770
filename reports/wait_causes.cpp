#include "reports/wait_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep::reports {

namespace {

constexpr std::array kKinds{WaitKind{"w-turn", "its turn"},
                            WaitKind{"w-policy", "the safety kernel"},
                            WaitKind{"w-worker", "a worker"},
                            WaitKind{"w-retry", "retry back-off"},
                            WaitKind{"w-tenant", "its tenant's limit"},
                            WaitKind{"w-approval", "an approval"},
                            WaitKind{"at-sent", "sent to a worker"},
                            WaitKind{"at-work", "executed"}};
constexpr const WaitKind& kRetry = kKinds[3];

struct Cause {
    std::string_view name;
    std::size_t kind;
    bool says_more;  // than the label
};
constexpr std::array kCauses{
    Cause{"its_turn", 0, false},        Cause{"policy", 1, false},      Cause{"policy_does_not_answer", 1, true},
    Cause{"policy_throttles", 1, true}, Cause{"no_workers", 2, true},   Cause{"no_pool_mapping", 2, true},
    Cause{"pool_overloaded", 2, true},  Cause{"stale_worker", 2, true}, Cause{"another_try", 3, false},
    Cause{"tenant_limit", 4, false},    Cause{"approval", 5, false},    Cause{"dispatched", 6, false},
    Cause{"running", 7, false}};

const Cause* cause_named(std::string_view name) {
    const auto found = std::ranges::find(kCauses, name, &Cause::name);
    return found == kCauses.end() ? nullptr : &*found;
}

}  // namespace

std::span<const WaitKind> wait_kinds() { return kKinds; }

std::string_view style_of_stretch(std::string_view what) {
    const Cause* cause = cause_named(what);
    return cause == nullptr ? kRetry.style : kKinds[cause->kind].style;
}

std::string label_of_stretch(std::string_view what) {
    const Cause* cause = cause_named(what);
    const WaitKind& kind = cause == nullptr ? kRetry : kKinds[cause->kind];
    if (cause != nullptr && !cause->says_more) return std::string(kind.label);
    return fmt::format("{} ({})", kind.label, what);
}

bool is_wait(std::string_view what) { return what != "dispatched" && what != "running"; }

}  // namespace lockstep::reports
