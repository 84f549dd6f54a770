// Listens to a real NATS: a core subscription on everything, on a connection of its own.
#pragma once

#include <memory>
#include <string>

#include "engine/runtime/time.h"
#include "prod/rehearsal/recording.h"

namespace lockstep::prod::rehearsal {

class BusTap {
public:
    /// Throws std::runtime_error when NATS cannot be reached.
    BusTap(const std::string& url, Recording& recording);
    ~BusTap();
    BusTap(const BusTap&) = delete;
    BusTap& operator=(const BusTap&) = delete;

    /// After a restart of the server: waits until it listens again, at most so long. False: it does not.
    [[nodiscard]] bool wait_until_back(engine::Duration patience);
    /// A message that comes back through the subscription, behind all that was published before.
    void publish(const std::string& subject);

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

}  // namespace lockstep::prod::rehearsal
