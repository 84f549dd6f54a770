// Which replicas could not read the state of a job, and have not read it since. Part of the model of one job.
//
// 1. A read is the call that is given the job's lock, since its reply carries the state, or a plain read of the hash or the state key.
// 2. While one handler of a replica holds the lock on a good read, a failed read of another handler changes nothing.
// 3. Calls have no number: a reply belongs to a call of the same command and script. A failure is not the reply of the call that
//    got the lock where that call was executed and the failed one was not, or where another call of the same kind is in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

class StateReads {
public:
    using CallKind = std::uint64_t;  // a digest of command and script
    [[nodiscard]] static CallKind kind_of(const fakes::Event& call) {
        constexpr std::hash<std::string_view> kDigest;
        return kDigest(call.command) * 31 + kDigest(call.script);
    }

    void asked_for_lock(fakes::NodeId node, CallKind kind) { at(node).in_flight.push_back(kind); }
    void executed(fakes::NodeId node, CallKind kind);
    void lock_given(fakes::NodeId node) { at(node).given = Given::by_present_call; }
    void lock_changed_hands();
    struct Reply {
        CallKind kind = 0;
        fakes::EventOutcome outcome{};
        bool is_error = false;
        bool for_lock = false;  // of a call for the lock; else of a plain read
    };
    /// True: the state could not be read.
    bool answered(fakes::NodeId node, const Reply& reply, EventNumber event);
    /// The server did not know the script: the same call is made again with it.
    void to_be_repeated(fakes::NodeId node, CallKind kind) { finish_call(at(node), kind); }
    void node_down(fakes::NodeId node);

    /// Since when this replica could not read the state; 0: it could.
    [[nodiscard]] EventNumber unread_since(fakes::NodeId node) const;

private:
    enum class Given : std::uint8_t { nothing, by_present_call, by_call };
    struct Reader {
        fakes::NodeId node;
        std::vector<CallKind> in_flight;  // calls for the lock
        Given given = Given::nothing;     // the lock, and the reply is still to come
        CallKind given_by = 0;
        bool holds = false;  // the lock, on a good read
        EventNumber unread = 0;
    };
    Reader& at(fakes::NodeId node);
    static void finish_call(Reader& reader, CallKind kind);

    std::vector<Reader> readers_;  // few: replicas that asked for this job
};

}  // namespace lockstep::sim
