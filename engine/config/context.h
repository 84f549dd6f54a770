// What every part of a scheduler may take: the ports, the settings, and whether there is still time. It knows no store, no
// policy and no workers: a part that needs one of them says so in its constructor.
//
// Owned by the scheduler, or by whoever uses parts of one without being one; it outlives all parts that hold a reference.
#pragma once

#include <memory>
#include <utility>

#include "engine/config/mechanisms.h"
#include "engine/config/tunables.h"
#include "engine/ports/ports.h"
#include "engine/runtime/room.h"

namespace lockstep::engine {

struct Context {
    /// `r`: see `room`; null: it is not shared.
    explicit Context(const Ports& p, Tunables t = {}, const Mechanisms& m = {}, std::shared_ptr<Room> r = nullptr)
        : ports(p), tunables(std::move(t)), mechanisms(m), room(r ? std::move(r) : std::make_shared<Room>()) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    Ports ports;
    Tunables tunables;  // some of them change while the scheduler runs: to be read where they are used
    const Mechanisms mechanisms;
    const std::shared_ptr<Room> room;  // who has a job or run in hand, of all parts of this process
    bool stopping = false;
    int active_handlers = 0;  // messages in hand, of all pumps
};

}  // namespace lockstep::engine
