// The locks under which replicas take turns at looking for what was left lying, and what each replica can tell of the lock of the
// schedulers' reconciler.
#pragma once

#include <array>
#include <map>
#include <string_view>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

struct TickLock {
    enum class Kind : std::uint8_t { reconciler, replayer, delay_poller, run_reconciler };
    struct Tick {
        fakes::NodeId replica;  // invalid: none yet
        EventNumber event = 0;
        Since granted;  // the lock, last to it before that; event 0: never
    };
    std::string_view key;
    Kind kind{};
    fakes::NodeId granted_to;
    Since granted;  // taken or renewed, last
    bool held = false;
    bool clock_is_off = false;  // that of Redis has been tampered with since
    Tick last;
};

/// Of the reconciler's lock, as its ticker can tell.
struct TickHold {
    Time asked{};  // the latest call that names it
    Time granted_asked{};
    Time granted_answered{};
    EventNumber granted = 0;
    bool is_known = false;  // it has been granted, and the answer has come
    bool answer_is_due = false;
    EventNumber refused = 0;  // it was not given the lock when it last asked; 0: it was
};

class TickLocks {
public:
    /// Null for the key of anything else.
    [[nodiscard]] TickLock* find(std::string_view key);
    /// Null: the replica has not asked for the reconciler's lock on its present connection.
    [[nodiscard]] const TickHold* hold_of(fakes::NodeId replica) const;

    /// A lock event of that lock.
    void on_lock(TickLock& lock, const fakes::Event& event, Since now);
    void called(const TickLock& lock, const fakes::Event& call, Time now);
    /// Executed by Redis.
    void reached(const TickLock& lock, fakes::NodeId replica, EventNumber event);
    static void ticked(TickLock& lock, fakes::NodeId replica, EventNumber event);
    void clock_of_redis_set(bool drifts);
    /// What was sent on a connection that is gone may arrive later than what was sent after it.
    void connection_ended(fakes::NodeId replica) { holds_.erase(replica); }
    void data_lost();

private:
    using Kind = TickLock::Kind;
    std::array<TickLock, 4> locks_{
        {{.key = "cordum:reconciler:default", .kind = Kind::reconciler},
         {.key = "cordum:replayer:pending", .kind = Kind::replayer},
         {.key = "cordum:wf:delay:poller", .kind = Kind::delay_poller},
         {.key = "cordum:workflow-engine:reconciler:default", .kind = Kind::run_reconciler}}};
    std::map<fakes::NodeId, TickHold> holds_;
    bool drifts_ = false;  // the clock of Redis goes at another speed
};

}  // namespace lockstep::sim
