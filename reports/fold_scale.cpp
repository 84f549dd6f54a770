#include "reports/fold_scale.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::reports {

namespace {

constexpr double kFoldPercent = 1.5;
constexpr double kAllFoldsPercentMax = 50;

}  // namespace

FoldScale::FoldScale(const std::vector<Timeline::Fold>& folds, std::int64_t from_us, std::int64_t to_us)
    : from_us_(from_us), to_us_(std::max(to_us, from_us + 1)) {
    std::int64_t open_us = to_us_ - from_us_;
    for (Timeline::Fold fold : folds) {
        fold = {std::max(fold.from_us, from_us_), std::min(fold.to_us, to_us_)};
        if (fold.from_us >= fold.to_us) continue;
        folds_.push_back(fold);
        open_us -= fold.to_us - fold.from_us;
    }
    const double count = static_cast<double>(folds_.size());
    if (!folds_.empty())
        fold_percent_ = open_us == 0 ? 100 / count : std::min(kFoldPercent, kAllFoldsPercentMax / count);
    if (open_us > 0) percent_per_us_ = (100 - fold_percent_ * count) / static_cast<double>(open_us);
}

double FoldScale::percent(std::int64_t us) const {
    us = std::clamp(us, from_us_, to_us_);
    double out = 0;
    std::int64_t at = from_us_;
    for (const Timeline::Fold& fold : folds_) {
        if (fold.from_us >= us) break;
        out += static_cast<double>(fold.from_us - at) * percent_per_us_;
        if (us < fold.to_us)
            return out + fold_percent_ * static_cast<double>(us - fold.from_us) /
                             static_cast<double>(fold.to_us - fold.from_us);
        out += fold_percent_;
        at = fold.to_us;
    }
    return out + static_cast<double>(us - at) * percent_per_us_;
}

std::string FoldScale::background() const {
    if (folds_.empty()) return {};
    std::string stops = "transparent 0";
    for (const Timeline::Fold& fold : folds_) {
        const double from = percent(fold.from_us);
        const double to = percent(fold.to_us);
        stops += fmt::format(",transparent {0:.2f}%,var(--fold) {0:.2f}%,var(--fold) {1:.2f}%,transparent {1:.2f}%",
                             from, to);
    }
    return fmt::format("linear-gradient(90deg,{})", stops);
}

}  // namespace lockstep::reports
