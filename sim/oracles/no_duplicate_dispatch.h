// no_duplicate_dispatch: for one dispatch number at most one message reaches workers, counted at the subscribers as well as
// in the stream, and no job reaches workers twice. Workers of this world never repeat a job by themselves, so two arrivals
// are always the scheduler's doing. Of a job of which Redis has lost something nobody may know any more that it was sent.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoDuplicateDispatch final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "no_duplicate_dispatch"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void losing(const fakes::redis::Keyspace& before) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct First {
        std::string subject;
        std::string message_id;
        EventNumber event = 0;
    };
    struct Stored {
        std::uint64_t sequence = 0;  // in the stream
        EventNumber event = 0;
    };
    LostRecords lost_;
    std::map<std::string, First, std::less<>> delivered_;  // by job
    std::map<std::string, Stored, std::less<>> stored_;    // by message id
};

}  // namespace lockstep::sim
