#include "sim/cli/shrink_progress.h"

#include <fmt/format.h>

namespace lockstep::sim::cli {

void ShrinkProgress::watch(ShrinkOptions& options) {
    options.on_progress = [this](const ScenarioSize& size, std::uint64_t runs) {
        if (line_.due()) line_.draw(fmt::format("{} runs: {}", runs, to_string(size)));
    };
}

}  // namespace lockstep::sim::cli
