// Which deployment this is: an id in Redis and in the description of each durable that the deployment reads (D-35). Two
// deployments on one NATS would share durables, and each job would end in the wrong Redis.
//
// 1. The id is in Redis before it is in a durable, so a crash between the two leaves what the next start completes.
// 2. Only a start is refused. A replica that runs writes an id that Redis has lost again, and logs an error.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/config/tunables.h"
#include "engine/ports/ports.h"

namespace lockstep::engine {

class DeploymentId {
public:
    /// All arguments outlive this.
    DeploymentId(const Ports& ports, const Tunables& tunables) : ports_(ports), tunables_(tunables) {}

    /// The id under which this start may bind durables: the one in Redis, or a new one if neither Redis nor any durable of a deployment
    /// has one, whichever role reads it: a Redis that has lost the id while others run gets no second one. The error says what to do:
    /// a server that does not answer, or a Redis without an id beside a durable with one.
    [[nodiscard]] Task<tl::expected<std::string, std::string>> at_start();

    /// Sees to it that Redis goes on holding the id of the last start. Runs until it is cancelled. REQUIRES: `at_start` has given one.
    [[nodiscard]] Task<void> keep();

private:
    /// What Redis holds; empty if it holds none.
    [[nodiscard]] Task<Outcome<std::string>> stored();
    /// Writes `id` unless there is one, and answers what Redis holds then.
    [[nodiscard]] Task<Outcome<std::string>> store_if_none(std::string id);
    [[nodiscard]] MonoTime deadline() const { return ports_.clock.in(tunables_.store_op_timeout); }

    const Ports& ports_;
    const Tunables& tunables_;
    std::string id_;
};

}  // namespace lockstep::engine
