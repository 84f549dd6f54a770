#include "fakes/nats/outgoing.h"

#include <algorithm>
#include <utility>

namespace lockstep::fakes {

namespace {

/// "MSG <subject> <sid> <size>\r\n" and the end of the payload.
constexpr std::uint64_t kFrame = 24;
/// "$JS.ACK.<stream>.<durable>.<count>.<sequences>.<time>.<pending>".
constexpr std::uint64_t kAckReply = 110;
/// "NATS/1.0\r\nNats-Msg-Id: \r\n\r\n".
constexpr std::uint64_t kIdHeader = 27;

}  // namespace

std::uint64_t header_bytes(const BusMessage& message) {
    return message.message_id.empty() ? 0 : kIdHeader + message.message_id.size();
}

std::uint64_t core_bytes(const BusMessage& message) {
    return kFrame + message.subject.size() + header_bytes(message) + message.payload.size();
}

std::uint64_t delivery_bytes(const BusMessage& message) { return core_bytes(message) + kAckReply; }

bool Outgoing::write(std::uint64_t bytes) {
    if (ended_) return false;
    written_ += bytes;
    if (pending() > limits_.max_pending + socket_buffers()) {
        give_up("max_pending");
        return false;
    }
    if (blocked() && !flushing_) begin_flush();
    return true;
}

void Outgoing::when_there_is_room(std::uint64_t bytes, Action send) {
    const engine::MonoTime now = world_.monotonic(server_);
    const auto takes = engine::Duration(static_cast<std::int64_t>(bytes * 1'000'000'000 / limits_.bandwidth));
    line_free_at_ = std::max(line_free_at_, now) + takes;
    line_.push_back({line_free_at_, std::move(send)});
    if (line_.size() == 1) leave_line();
}

void Outgoing::leave_line() {
    const engine::Duration wait = std::max(line_.front().until - world_.monotonic(server_), engine::Duration{0});
    line_timer_ = world_.after(server_, wait, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->ended_) return;
        Action send = std::move(self->line_.front().send);
        self->line_.pop_front();
        send();
        if (!self->line_.empty()) self->leave_line();
    });
}

void Outgoing::read(std::uint64_t bytes) {
    if (ended_) return;
    read_ += bytes;
    if (!flushing_ || read_ + socket_buffers() < flush_end_) return;
    flushing_ = false;
    if (blocked()) begin_flush();
}

void Outgoing::begin_flush() {
    flushing_ = true;
    flush_end_ = written_;
    flush_until_ = world_.monotonic(server_) + limits_.write_deadline;
    if (flush_timer_ == 0) watch_flush(limits_.write_deadline);
}

void Outgoing::watch_flush(engine::Duration delay) {
    flush_timer_ = world_.after(server_, std::max(delay, engine::Duration{1}), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->ended_) return;
        self->flush_timer_ = 0;
        if (!self->flushing_) return;
        const engine::Duration left = self->flush_until_ - self->world_.monotonic(self->server_);
        if (left > engine::Duration{0}) {
            self->watch_flush(left);
        } else {
            self->give_up("write_deadline");
        }
    });
}

void Outgoing::give_up(std::string_view limit) {
    const std::uint64_t waiting = pending();
    const HangUp hang_up = std::move(hang_up_);
    given_up_ = true;
    end();
    if (hang_up) hang_up(limit, waiting);
}

void Outgoing::end() {
    ended_ = true;
    hang_up_ = nullptr;
    world_.cancel(std::exchange(flush_timer_, 0));
    world_.cancel(std::exchange(line_timer_, 0));
    line_.clear();
}

}  // namespace lockstep::fakes
