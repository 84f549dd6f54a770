// A message of the library in our hands.
#pragma once

#include <nats/nats.h>

#include <memory>

namespace lockstep::prod {

struct NatsMessageFree {
    /// Gives it to the library to free, at the latest with the thread that calls this. The library has a thread of its own for that,
    /// and would wake it for each: so some wait for each other, no more of them than 64, nor than 256 KiB.
    void operator()(natsMsg* message) const;
};
using NatsMessage = std::unique_ptr<natsMsg, NatsMessageFree>;

}  // namespace lockstep::prod
