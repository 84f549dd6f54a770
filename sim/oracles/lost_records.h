// Of which jobs Redis has lost something, by name. Oracles excuse these jobs, and no others.
#pragma once

#include <string_view>

#include "sim/model/model.h"

namespace lockstep::sim {

class LostRecords {
public:
    explicit LostRecords(const Model& model) : model_(model) {}

    /// Any record of the job, at any time.
    [[nodiscard]] bool any_of(std::string_view job) const { return of(job).any(); }
    /// The same, by a restart or a failover.
    [[nodiscard]] bool taken_back(std::string_view job) const { return of(job).taken_back(); }
    /// Its hash or one of its places, while others of its records were kept: they may contradict each other from then on.
    [[nodiscard]] bool in_part(std::string_view job) const {
        const Job* known = model_.find(job);
        return known != nullptr && known->is_torn;
    }

private:
    [[nodiscard]] Loss of(std::string_view job) const {
        const Job* known = model_.find(job);
        return known == nullptr ? Loss{} : known->lost;
    }
    const Model& model_;
};

}  // namespace lockstep::sim
