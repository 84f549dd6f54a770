// tenant_limit: when a job is committed SCHEDULED, fewer than its limit of other jobs of its tenant are SCHEDULED, DISPATCHED
// or RUNNING. The limit is the one that policy gave last with its answer about the job; a fail-open has none. States are those that Redis
// has kept: it cannot count what it has lost, nor apply a limit to it.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/recorded_states.h"

namespace lockstep::sim {

class TenantLimit final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::kernel_check};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "tenant_limit"; }
    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Job {
        std::string tenant = "default";  // a job without one is its
        std::string state;
        std::int64_t limit = 0;
        EventNumber changed = 0;  // when it came on its way
    };
    void check(fakes::NodeId client, const std::string& name, const Job& job);

    const RecordedStates& recorded_ = jobs().states();
    const LostRecords& lost_ = jobs().lost();
    std::map<std::string, Job, std::less<>> jobs_;
};

}  // namespace lockstep::sim
