// lock_exclusion: two holders never both commit under one lock: a job is moved along only by the replica that holds its lock
// at that instant. Ends that need no lock, a cancellation and a time-out, compare instead and are not judged here.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class LockExclusion final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "lock_exclusion"; }
    void on_event(const fakes::Event& event, Time now) override;
    /// Redis has lost data: who holds what is anybody's guess until a lock is taken again.
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct Lock {
        fakes::NodeId holder;  // not valid = nobody
        std::string first_token;
        bool contested = false;  // more than one holder has had it
        bool unknown = false;
    };
    std::map<std::string, Lock, std::less<>> locks_;  // by job
};

}  // namespace lockstep::sim
