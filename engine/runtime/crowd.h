// How many things of one name go on at once in one replica, so that those of other names find room: messages about one job, which
// all want its lock, or large inputs of one tenant, which policy takes long for. The rest stands here, first come, first served.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/runtime/task.h"
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
    /// A place as soon as it is this one's turn, or none when `deadline` comes first, too many stand, or all are sent away.
    [[nodiscard]] Task<Place> wait(std::string name, MonoTime deadline);
    /// Sends away all that stand.
    void send_away() noexcept;

private:
    struct OfName {
        std::size_t inside = 0;
        std::size_t standing = 0;  // those that have been called and have not gone on yet included
        WaitQueue line;
    };
    [[nodiscard]] Place take(OfName& of_name, const std::string& name);
    void leave(const std::string& name) noexcept;
    void forget_if_empty(const std::string& name) noexcept;

    const std::size_t most_, most_standing_;
    std::map<std::string, OfName, std::less<>> names_;  // those with anybody
};

}  // namespace lockstep::engine
