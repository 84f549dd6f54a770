#include "sim/cli/shrink_progress.h"

#include <fmt/format.h>

#include <ostream>

namespace lockstep::sim::cli {

void ShrinkProgress::watch(ShrinkOptions& options) {
    if (!environment_.progress) return;
    options.on_progress = [this](const ScenarioSize& size, std::uint64_t runs) { show(size, runs); };
}

void ShrinkProgress::clear() {
    if (environment_.progress) environment_.err << "\r\x1b[K" << std::flush;
}

void ShrinkProgress::show(const ScenarioSize& size, std::uint64_t runs) {
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ < std::chrono::milliseconds(200)) return;
    drawn_ = now;
    environment_.err << fmt::format("\r\x1b[K{} runs: {}", runs, to_string(size)) << std::flush;
}

}  // namespace lockstep::sim::cli
