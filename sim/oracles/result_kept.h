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
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::core_publish, fakes::EventKind::deliver};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "result_kept"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;

private:
    using Pointers = std::map<std::string, EventNumber, std::less<>>;  // and when each was first said
    const LostRecords& lost_ = jobs().lost();
    /// By job: what its successful results said, as they were sent and as they arrived.
    std::map<std::string, Pointers, std::less<>> given_;
};

}  // namespace lockstep::sim
