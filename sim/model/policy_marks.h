// The labels and variables by which policy and the scheduler tell a worker what was decided (engine/wire/policy_marks.h): which of them the
// submitter of one job wrote, and what policy's answers about it amount to. Part of the model of one job.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// A submitter's, and no answer of policy explains it.
struct ForeignMark {
    std::string name, value;
    EventNumber submitted = 0;
    std::string_view carrier;  // what carries it
};

class PolicyMarks {
public:
    void submitted(const cap::JobRequest& request, EventNumber event);
    void told(const cap::PolicyConstraints& constraints);

    /// The submitter wrote some.
    [[nodiscard]] bool any() const { return !submitted_.empty(); }
    [[nodiscard]] std::vector<ForeignMark> foreign_of(const cap::JobRequest& sent) const;
    [[nodiscard]] std::vector<ForeignMark> foreign_of(const cap::PolicyCheckRequest& question) const;
    [[nodiscard]] std::vector<ForeignMark> foreign_of(const cap_output::OutputCheckRequest& question) const;

private:
    using Mark = std::pair<std::string, std::string>;  // name and value
    class Search;

    std::map<Mark, EventNumber> submitted_;
    std::set<Mark> told_;
};

}  // namespace lockstep::sim
