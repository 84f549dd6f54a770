// Simulated kernels that lie: each does one thing that gRPC would not do. The comparison with the real one must catch
// every one of them.
#pragma once

#include <span>

#include "prod/kernel/test_kernel_sides.h"

namespace lockstep::prod {

struct KernelLie {
    const char* name;
    /// Changes what could be observed of an honest kernel to what could be of a lying one.
    void (*bend)(const Step& step, Observed& observed);
    fakes::KernelClientConfig config{};
};

[[nodiscard]] std::span<const KernelLie> kernel_lies();
/// A simulated side that tells this lie.
[[nodiscard]] std::unique_ptr<KernelSide> lying_side(const KernelLie& lie);

}  // namespace lockstep::prod
