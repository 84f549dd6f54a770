// no_duplicate_dispatch: for one dispatch number at most one message reaches workers, counted at the subscribers as well as
// in the stream, and no job reaches workers twice. Workers of this world never repeat a job by themselves, so two arrivals
// are always the scheduler's doing. Of a job of which Redis has lost something nobody may know any more that it was sent.
//
// A message of whose fate its sender was not told is sent again only after two looks at the stream that lie `publish_settle` apart,
// and on another connection than the one that has carried it (wire.md 8.4). The looks cannot be seen from
// here, and the least time that they take can: a connection that has ended is made again after two seconds (wire.md 1). An
// eighth is forgiven, for a clock that goes too fast.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/lost_records.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoDuplicateDispatch final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::publish, fakes::EventKind::core_deliver, fakes::EventKind::stored};
    /// The tunables outlive the oracle.
    NoDuplicateDispatch(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "no_duplicate_dispatch"; }
    void on_event(const fakes::Event& event, Time now) override;

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
    /// A message on its way from one node.
    struct Sending {
        Time begun{};
        Time unanswered{};     // when its sender last gave up waiting for the answer
        bool unknown = false;  // it has
        bool cut_off = false;  // because the connection was gone
        bool refused = false;  // by the stream
        EventNumber event = 0;
    };

    /// Whether Redis has lost what would have told its replicas of the first one. A failover loses nothing of what replicas were
    /// required to have.
    [[nodiscard]] bool excused(std::string_view job) const {
        return tunables_.redis_replicas > 0 ? lost_.any_but_by_failover(job) : lost_.any_of(job);
    }
    void on_publish(const fakes::Event& event, Time now);
    void judge_again(const fakes::Event& event, const Sending& before, Time now);

    const engine::Tunables& tunables_;
    const LostRecords& lost_ = jobs().lost();
    std::map<std::pair<fakes::NodeId, std::string>, Sending> sendings_;  // by message id
    std::map<std::string, First, std::less<>> delivered_;                // by job
    std::map<std::string, Stored, std::less<>> stored_;                  // by message id
};

}  // namespace lockstep::sim
