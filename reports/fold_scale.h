// A span of virtual time laid out over a width of 100 %, with the gaps in which nothing happens folded: each takes the same small
// share, however long it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/timeline.h"

namespace lockstep::reports {

class FoldScale {
public:
    /// Folds that reach beyond the span count with the part within it.
    FoldScale(const std::vector<Timeline::Fold>& folds, std::int64_t from_us, std::int64_t to_us);

    /// 0 at the beginning, 100 at the end.
    [[nodiscard]] double percent(std::int64_t us) const;
    /// Those within the span.
    [[nodiscard]] const std::vector<Timeline::Fold>& folds() const { return folds_; }
    /// A background of CSS that hatches the folds; empty without folds.
    [[nodiscard]] std::string background() const;

private:
    std::vector<Timeline::Fold> folds_;
    std::int64_t from_us_;
    std::int64_t to_us_;
    double fold_percent_ = 0;
    double percent_per_us_ = 0;
};

}  // namespace lockstep::reports
