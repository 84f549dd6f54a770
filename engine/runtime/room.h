// Which handlers of one process have work in hand, and how one of them has the process for itself.
//
// 1. A handler is alone in the room from `be_alone` on until it leaves: all that were in it have left, and new ones wait.
// 2. One that waits to be alone is not in the room. Between two of them, all that came meanwhile go in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

class Room {
public:
    /// A place in the room, left when it goes. The room outlives it.
    class [[nodiscard]] Place {
    public:
        Place() = default;
        Place(Place&& other) noexcept;
        Place& operator=(Place&& other) noexcept;
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        ~Place() { leave(); }
        void leave() noexcept;

    private:
        friend class Room;
        enum class Kind : std::uint8_t { none, among_others, alone };

        Room* room_ = nullptr;
        Kind kind_ = Kind::none;  // alone: or waits until the others have left
        Mutex::Guard turn_;       // of those who want to be alone
    };

    Room() = default;
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    [[nodiscard]] Task<Place> enter();
    /// Turns the place into one alone. `place` outlives the call. REQUIRES: it is one in this room, among others.
    [[nodiscard]] Task<void> be_alone(Place& place);

private:
    void reopen() noexcept;
    void wake_if_empty() noexcept;

    std::size_t inside_ = 0;    // among others
    bool closed_ = false;       // one is alone, or has the turn to be
    std::uint64_t opened_ = 0;  // how often it was closed, and is open again
    std::size_t kept_out_ = 0;  // came since
    std::size_t admitted_ = 0;  // came before, and have not gone in yet
    WaitQueue outside_;
    WaitQueue emptied_;
    Mutex turns_;
};

}  // namespace lockstep::engine
