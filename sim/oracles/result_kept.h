// result_kept: a SUCCEEDED job whose worker gave a result pointer has it in Redis, or the pointer to its redacted form.
// Of a job of which Redis has lost something another run may be the one that is heard.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class ResultKept final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "result_kept"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void losing(const fakes::redis::Keyspace& before) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    using Pointers = std::map<std::string, EventNumber, std::less<>>;  // and when each was first said
    LostRecords lost_;
    /// By job: what its successful results said, as they were sent and as they arrived.
    std::map<std::string, Pointers, std::less<>> given_;
};

}  // namespace lockstep::sim
