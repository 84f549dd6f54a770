// What is known of the jobs of a run, kept once for all oracles: the state that Redis has of each, what Redis has lost of it, to
// whom it is sent out, and who holds its lock.
//
// It is told of everything before the oracles are: of a change they find it as it is afterwards, of the event of that change,
// which is told before it, as it was until then.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fakes/redis/observer.h"
#include "sim/oracles/lost_records.h"
#include "sim/oracles/recorded_states.h"
#include "sim/oracles/request_reader.h"
#include "sim/oracles/sent_out.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class Judge;

class JobTable final : public EventObserver, public fakes::redis::KeyspaceObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::lock_acquired, fakes::EventKind::lock_released,
                                               fakes::EventKind::lock_expired, fakes::EventKind::fault};

    /// The judge says which event is the present one, and outlives the table.
    explicit JobTable(Judge& judge) : judge_(judge) {}

    [[nodiscard]] const RecordedStates& states() const { return states_; }
    [[nodiscard]] const LostRecords& lost() const { return lost_; }
    [[nodiscard]] const SentOut& sent() const { return sent_; }
    [[nodiscard]] const RequestReader& requests() const { return requests_; }
    /// Who holds the lock of the job that the event is about; not valid: nobody.
    [[nodiscard]] fakes::NodeId holder_of(const fakes::Event& event) const;

    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void losing(const fakes::redis::Keyspace& before) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    [[nodiscard]] EventNumber upcoming() const;

    Judge& judge_;
    RecordedStates states_;
    LostRecords lost_;
    SentOut sent_{states_};
    RequestReader requests_;
    std::vector<fakes::NodeId> holders_;  // by job
};

}  // namespace lockstep::sim
