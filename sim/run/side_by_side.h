// Work that several threads share, the calling one among them.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace lockstep::sim {

/// Calls `work` on as many threads, on one at least; ends when all have come back.
template <class Work>
void side_by_side(std::size_t threads, const Work& work) {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&work] { work(); });
    work();
}

}  // namespace lockstep::sim
