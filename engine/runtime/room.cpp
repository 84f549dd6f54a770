#include "engine/runtime/room.h"

#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

Room::Place::Place(Place&& other) noexcept
    : room_(std::exchange(other.room_, nullptr)),
      kind_(std::exchange(other.kind_, Kind::none)),
      turn_(std::move(other.turn_)) {}

Room::Place& Room::Place::operator=(Place&& other) noexcept {
    if (this != &other) {
        leave();
        room_ = std::exchange(other.room_, nullptr);
        kind_ = std::exchange(other.kind_, Kind::none);
        turn_ = std::move(other.turn_);
    }
    return *this;
}

void Room::Place::leave() noexcept {
    switch (std::exchange(kind_, Kind::none)) {
        case Kind::none: return;
        case Kind::among_others:
            --room_->inside_;
            room_->wake_if_empty();
            return;
        case Kind::alone:
            room_->reopen();
            turn_.release();
            return;
    }
}

void Room::reopen() noexcept {
    closed_ = false;
    ++opened_;
    admitted_ += std::exchange(kept_out_, 0);
    outside_.wake_all();
}

void Room::wake_if_empty() noexcept {
    if (inside_ == 0 && admitted_ == 0) emptied_.wake_all();
}

Task<Room::Place> Room::enter() {
    if (closed_) {
        /// Waits outside, however this ends.
        struct Outside {
            Room& room;
            std::uint64_t came;
            explicit Outside(Room& r) : room(r), came(r.opened_) { ++room.kept_out_; }
            Outside(const Outside&) = delete;
            Outside& operator=(const Outside&) = delete;
            ~Outside() {
                --(room.opened_ == came ? room.kept_out_ : room.admitted_);
                room.wake_if_empty();
            }
        } const outside(*this);
        while (opened_ == outside.came) co_await outside_.wait();
    }
    ++inside_;
    Place place;
    place.room_ = this;
    place.kind_ = Place::Kind::among_others;
    co_return place;
}

Task<void> Room::be_alone(Place& place) {
    PRECONDITION(place.room_ == this && place.kind_ == Place::Kind::among_others,
                 "only who is in the room can be alone in it");
    place.leave();
    place.turn_ = co_await turns_.lock();
    place.kind_ = Place::Kind::alone;
    closed_ = true;
    while (inside_ > 0 || admitted_ > 0) co_await emptied_.wait();
}

}  // namespace lockstep::engine
