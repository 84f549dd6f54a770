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
    ResultFromItsWorker(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), sent_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "result_from_its_worker"; }
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    void on_result(fakes::NodeId client, std::string_view job, std::string_view worker);
    void on_success(fakes::NodeId client, std::string_view job);

    SentOut sent_;
    std::set<std::string, std::less<>> gates_;
};

}  // namespace lockstep::sim
