// What is known of the jobs of a run, kept once for all oracles: the state that Redis has of each. All else is the model's.
//
// It is told of everything before the oracles are: of a change they find it as it is afterwards, of the event of that change,
// which is told before it, as it was until then.
#pragma once

#include <string_view>

#include "fakes/redis/observer.h"
#include "sim/oracles/lost_records.h"
#include "sim/oracles/recorded_states.h"
#include "sim/oracles/request_reader.h"

namespace lockstep::sim {

class JobTable final : public fakes::redis::KeyspaceObserver {
public:
    /// The model outlives the table.
    explicit JobTable(const Model& model) : model_(model), lost_(model) {}

    [[nodiscard]] const RecordedStates& states() const { return states_; }
    [[nodiscard]] const Model& model() const { return model_; }
    [[nodiscard]] const Weather& weather() const { return model_.weather(); }
    [[nodiscard]] const LostRecords& lost() const { return lost_; }
    [[nodiscard]] const RequestReader& requests() const { return requests_; }

    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    const Model& model_;
    RecordedStates states_;
    LostRecords lost_;
    RequestReader requests_;
};

}  // namespace lockstep::sim
