// A server of one connection that says what it is told to, whatever the client says. For fuzzing the bindings.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "fakes/testing/server_process.h"

namespace lockstep::prod {

class LyingServer {
public:
    /// Listens until it has heard the one (at once, when it is empty), then says the other.
    struct Turn {
        std::string hear;
        std::string say;
    };

    LyingServer() = default;
    LyingServer(const LyingServer&) = delete;
    LyingServer& operator=(const LyingServer&) = delete;
    ~LyingServer();

    [[nodiscard]] int port() const { return reserved_.number(); }
    /// Plays it to the first connection, and hangs up; whoever comes later is refused. REQUIRES: the play before is over.
    void play(std::vector<Turn> turns);
    /// Waits until it is over; a client that has never come is not waited for.
    void finish();

private:
    fakes::testing::ReservedPort reserved_;
    std::thread thread_;
};

}  // namespace lockstep::prod
