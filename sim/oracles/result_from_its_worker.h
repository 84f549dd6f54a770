// result_from_its_worker: no result changes a job that was not sent out, or was sent to another worker (engine/delivery-semantics.md,
// "Whose word counts"). A job's hash names the worker by whose result it ended; at that instant the job is DISPATCHED or RUNNING,
// and the dispatch names the same worker, or none. And no job becomes SUCCEEDED without having been sent out, gates excepted.
//
// What a result does to a job that has ended is for one_terminal_result.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/oracles/oracle.h"
#include "sim/oracles/sent_out.h"

namespace lockstep::sim {

class ResultFromItsWorker final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{};
    ResultFromItsWorker(Judge& judge, const engine::Tunables& tunables)
        : Oracle(judge), any_worker_(tunables.results_from_any_worker) {}
    [[nodiscard]] std::string_view invariant() const override { return "result_from_its_worker"; }
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;

private:
    void on_result(fakes::NodeId client, std::string_view job, std::string_view worker);
    /// `state`: what it was until now.
    void on_success(fakes::NodeId client, std::string_view job, std::string_view state);

    const SentOut& sent_ = jobs().sent();
    const RecordedStates& recorded_ = jobs().states();
    const bool any_worker_;
    std::set<std::string, std::less<>> gates_;
};

}  // namespace lockstep::sim
