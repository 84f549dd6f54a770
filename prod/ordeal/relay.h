// A TCP relay on the loopback interface that stands between a program and its server, and can fail as a network does: it
// breaks off after a given byte, or carries nothing for a while.
//
// A thread of its own carries the bytes. Everything public may be called from another.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fakes/testing/server_process.h"

namespace lockstep::prod::ordeal {

class Relay {
public:
    enum class Direction : std::uint8_t { to_server, to_client };

    /// Relays to this port of 127.0.0.1 from now on. A connection that the server refuses is closed.
    explicit Relay(int target);
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    [[nodiscard]] int port() const { return reserved_.number(); }

    /// Carries so many bytes more in this direction, all connections taken together, and then closes them all between one
    /// byte and the next.
    void cut_after(std::size_t bytes, Direction direction);
    /// Takes `cut_after` back. False: it has happened already.
    bool spare();
    /// Carries nothing and takes no new connection until `resume`. What is said meanwhile waits.
    void stall();
    void resume();

private:
    struct Pair {
        int client = -1;
        int server = -1;
        std::array<std::vector<char>, 2> waiting;  // by Direction: read and not yet written
    };

    void run();
    void wake() const;
    void accept_one();
    /// False: the pair has ended.
    bool carry(Pair& pair, Direction direction, short from_events, short to_events);
    /// How many of `size` bytes may still go; counts them.
    std::size_t allowance(std::size_t size, Direction direction);
    void close_all();

    fakes::testing::ReservedPort reserved_;
    const int target_;
    int wake_ = -1;
    int listener_ = -1;

    std::mutex mutex_;
    // Guarded by mutex_.
    std::optional<std::size_t> left_until_cut_;
    Direction cut_direction_{};
    bool stalled_ = false;
    bool stopped_ = false;

    // The thread's own.
    bool cut_now_ = false;
    std::list<Pair> pairs_;
    std::thread thread_;
};

}  // namespace lockstep::prod::ordeal
