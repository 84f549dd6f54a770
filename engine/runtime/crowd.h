// How many things of one name go on at once in one replica, so that those of other names find room: messages about one job, which
// all want its lock, or large inputs and outputs of one tenant, which policy takes long for. The rest stands here, those that have waited
// longest first, also where there is a bound over all names.
#pragma once

#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/runtime/task.h"
#include "engine/runtime/time.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

class Crowd {
public:
    static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
    /// How many go on at once, at least 1 each, and how many more stand.
    struct Most {
        std::size_t of_one;
        std::size_t standing_of_one = kAny;
        std::size_t of_all = kAny;
        std::size_t standing_of_all = kAny;
    };
    explicit Crowd(Most most) : most_(most) { PRECONDITION(most.of_one > 0 && most.of_all > 0, "nothing could go on"); }

    /// Given back by its end. An empty one is no place.
    class [[nodiscard]] Place {
    public:
        Place() = default;
        Place(Crowd& crowd, std::string name) : crowd_(&crowd), name_(std::move(name)) {}
        Place(Place&& other) noexcept : crowd_(std::exchange(other.crowd_, nullptr)), name_(std::move(other.name_)) {}
        Place& operator=(Place&& other) noexcept {
            std::swap(crowd_, other.crowd_);
            std::swap(name_, other.name_);
            return *this;
        }
        ~Place() {
            if (crowd_ != nullptr) crowd_->leave(name_);
        }
        explicit operator bool() const { return crowd_ != nullptr; }

    private:
        Crowd* crowd_ = nullptr;
        std::string name_;
    };

    /// A place at once, or none: also where others of the name stand.
    [[nodiscard]] Place enter(const std::string& name);
    /// A place as soon as it is this one's turn, or none when `deadline` comes first or it is sent away: with all that stand; because too many
    /// of its name stand that have waited for longer; or because too many of all names stand, and its own is the longest line. `since`: when
    /// it began to wait, for those that come more than once; of equal ones the first to come goes first.
    [[nodiscard]] Task<Place> wait(std::string name, MonoTime deadline, WallTime since = {});
    /// Sends away all that stand and have not been called.
    void send_away() noexcept;

private:
    class Standing;
    using Line = std::multimap<WallTime, Standing*>;
    struct OfName {
        std::size_t inside = 0;
        std::size_t called = 0;  // those that have not gone on yet
        Line line;               // those that have not been called
    };
    [[nodiscard]] bool has_room(const OfName& of_name) const {
        return of_name.inside + of_name.called < most_.of_one && going_on_ < most_.of_all;
    }
    /// REQUIRES: some of the name stand.
    [[nodiscard]] static Line::iterator last_of(OfName& of_name) { return std::prev(of_name.line.end()); }
    /// Whether one that has waited since then may stand; for that it may have sent away one that stands.
    [[nodiscard]] bool makes_way(OfName& of_name, WallTime since);
    /// After one of the name has gone: calls the one that has waited longest of those that there is room for now.
    void call_next(const std::string& name) noexcept;
    void leave(const std::string& name) noexcept;
    void forget_if_empty(const std::string& name) noexcept;

    const Most most_;
    std::size_t going_on_ = 0;                          // inside, and called
    std::size_t standing_ = 0;                          // in the lines
    std::map<std::string, OfName, std::less<>> names_;  // those of which something goes on or stands
};

}  // namespace lockstep::engine
