#include "sim/cli/progress.h"

#include <fmt/format.h>

#include <ostream>
#include <string>

namespace lockstep::sim::cli {

void Progress::advance(bool failed) {
    ++done_;
    failed_ += failed ? 1 : 0;
    if (!enabled_) return;
    const auto now = std::chrono::steady_clock::now();
    if (done_ < total_ && drawn_ && now - last_ < std::chrono::milliseconds{100}) return;
    last_ = now;
    draw();
    if (done_ >= total_) clear();
}

void Progress::clear() {
    if (!enabled_ || !drawn_) return;
    out_ << "\r\x1b[K" << std::flush;
    drawn_ = false;
}

void Progress::draw() {
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = total_ == 0 ? kWidth : done_ * kWidth / total_;
    out_ << fmt::format("\r\x1b[K[{}{}] {}/{}", std::string(filled, '#'), std::string(kWidth - filled, '.'), done_,
                        total_);
    if (failed_ > 0) out_ << fmt::format("  {} failed", failed_);
    out_ << std::flush;
    drawn_ = true;
}

}  // namespace lockstep::sim::cli
