// How many things of one name go on at once in one replica, so that those of other names find room: messages about one job, which
// all want its lock, or large inputs and outputs of one tenant, which policy takes long for. The rest stands here, those that have waited
// longest first.
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
    /// `most` (at least 1) of one name at once, and so many more that stand.
    explicit Crowd(std::size_t most, std::size_t most_standing = std::numeric_limits<std::size_t>::max())
        : most_(most), most_standing_(most_standing) {
        PRECONDITION(most > 0, "nothing could go on");
    }

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
    /// A place as soon as it is this one's turn, or none when `deadline` comes first, too many stand that have waited for longer, or all
    /// are sent away. `since`: when it began to wait, for those that come more than once; of equal ones the first to come goes first.
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
    [[nodiscard]] bool has_room(const OfName& of_name) const { return of_name.inside + of_name.called < most_; }
    /// Calls as many as there is room for.
    void call(OfName& of_name) noexcept;
    void leave(const std::string& name) noexcept;
    void forget_if_empty(const std::string& name) noexcept;

    const std::size_t most_, most_standing_;
    std::map<std::string, OfName, std::less<>> names_;  // those with anybody
};

}  // namespace lockstep::engine
