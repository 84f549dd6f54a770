// Holds what Redis contains against what a scenario expects of it: single values at a time or at the end, and dead letters at the
// end. The entries of dead letters are those that spec redis-schema, section 4, describes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/runtime/time.h"
#include "fakes/redis/keyspace.h"
#include "sim/run/result.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class ExpectedValues {
public:
    /// The expectations outlive it.
    explicit ExpectedValues(const Expectations& expect) : expect_(expect) {}

    /// When something is to be looked at before the end, ascending.
    [[nodiscard]] std::vector<Duration> moments() const;
    /// Takes down what is expected for this time. `now`: the clock of the server, by which keys expire.
    void look(Duration at, const fakes::redis::Keyspace& keys, engine::WallTime now);
    /// An outcome for each expectation, in the order of the file; what was expected for a time that the run has not come to does
    /// not hold.
    void judge(const fakes::redis::Keyspace& keys, engine::WallTime now, RunResult& result) const;

private:
    [[nodiscard]] std::string pointer_of(const char* part, std::size_t index) const;

    const Expectations& expect_;
    std::map<std::size_t, ExpectationOutcome> seen_;  // by place in the list
};

}  // namespace lockstep::sim
