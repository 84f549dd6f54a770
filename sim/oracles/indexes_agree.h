// indexes_agree: state hash, mirror, state index, tenant set, deadline index and event list of a job agree at rest, as far
// as the engine wrote them. A gateway creates its jobs outside the tenant set: such a job joins at its first transition.
// An index has no time to live: it may list a job whose hash has expired.
#pragma once

#include <set>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class IndexesAgree final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "indexes_agree"; }
    void at_rest(const RestView& view) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;

private:
    void check_job(const fakes::redis::Keyspace& keys, std::string_view job);
    void check_strays(const fakes::redis::Keyspace& keys);

    std::set<std::string, std::less<>> expired_;  // jobs
};

}  // namespace lockstep::sim
