#include "sim/cli/progress.h"

#include <fmt/format.h>

#include <string>

namespace lockstep::sim::cli {

void Progress::advance(bool failed) {
    ++done_;
    failed_ += failed ? 1 : 0;
    if (done_ >= total_)
        clear();
    else if (line_.due())
        draw();
}

void Progress::draw() {
    if (line_.in_log()) {
        line_.draw(fmt::format("{} of {} runs done, {} failed", done_, total_, failed_));
        return;
    }
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = total_ == 0 ? kWidth : done_ * kWidth / total_;
    const std::string failures = failed_ > 0 ? fmt::format("  {} failed", failed_) : "";
    line_.draw(fmt::format("[{}{}] {}/{}{}", std::string(filled, '#'), std::string(kWidth - filled, '.'), done_, total_,
                           failures));
}

}  // namespace lockstep::sim::cli
