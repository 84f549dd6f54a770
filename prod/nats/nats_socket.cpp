#include "prod/nats/nats_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::prod {

struct NatsSocket::Poll {
    uv_poll_t handle{};
    int descriptor = -1;
    int events = 0;
    std::weak_ptr<NatsSocket> owner;
};

natsStatus NatsSocket::install(natsOptions* options) {
    self_ = shared_from_this();
    return natsOptions_SetEventLoop(options, this, &on_attach, &on_read, &on_write, &on_detach);
}

natsStatus NatsSocket::on_attach(void** user, void* self, natsConnection* connection, natsSock socket) {
    auto* me = static_cast<NatsSocket*>(self);
    // A command that a killed worker leaves behind would keep its connection, and NATS would go on delivering to it.
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0) return NATS_SYS_ERROR;
    const int descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return NATS_SYS_ERROR;
    *user = me;
    me->connection_ = connection;
    me->want([&](Wanted& wanted) { wanted = {descriptor, true, false, false}; });
    return NATS_OK;
}

natsStatus NatsSocket::on_read(void* self, bool add) {
    static_cast<NatsSocket*>(self)->want([add](Wanted& wanted) { wanted.read = add; });
    return NATS_OK;
}

natsStatus NatsSocket::on_write(void* self, bool add) {
    static_cast<NatsSocket*>(self)->want([add](Wanted& wanted) { wanted.write = add; });
    return NATS_OK;
}

natsStatus NatsSocket::on_detach(void* self) {
    auto* me = static_cast<NatsSocket*>(self);
    me->want([](Wanted& wanted) {
        wanted.read = wanted.write = false;
        wanted.detached = true;
    });
    me->abandon_unless_started();
    return NATS_OK;
}

void NatsSocket::abandon_unless_started() {
    std::shared_ptr<NatsSocket> last;  // outlives the lock
    const std::lock_guard lock(mutex_);
    if (started_) return;
    if (wanted_.descriptor >= 0) close(std::exchange(wanted_.descriptor, -1));
    last = std::move(self_);
}

void NatsSocket::want(const std::function<void(Wanted&)>& change) {
    {
        const std::lock_guard lock(mutex_);
        change(wanted_);
        if (!started_) return;
    }
    if (loop_.on_loop_thread())
        bring_in_line();
    else
        mailbox_->post([self = shared_from_this()] { self->bring_in_line(); });
}

void NatsSocket::start(Events events) {
    PRECONDITION(loop_.on_loop_thread() && connection_ != nullptr,
                 "a socket is waited for before there is one, or elsewhere: {}", static_cast<const void*>(connection_));
    events_ = std::move(events);
    usable_ = true;
    int descriptor = -1;
    {
        const std::lock_guard lock(mutex_);
        started_ = true;
        descriptor = std::exchange(wanted_.descriptor, -1);
    }
    if (!open_poll(descriptor)) {
        report_end();  // out of descriptors or memory
        return;
    }
    bring_in_line();
}

void NatsSocket::bring_in_line() {
    const std::shared_ptr<NatsSocket> keep = shared_from_this();
    Wanted wanted;
    {
        const std::lock_guard lock(mutex_);
        wanted = wanted_;
    }
    if (!wanted.read) report_end();
    if (poll_ != nullptr) {
        const int events = (wanted.read ? UV_READABLE : 0) | (wanted.write ? UV_WRITABLE : 0);
        if (events != poll_->events) {
            poll_->events = events;
            if (events == 0)
                uv_poll_stop(&poll_->handle);
            else
                uv_poll_start(&poll_->handle, events, &on_event);
        }
    }
    if (wanted.detached) {
        close_poll();
        self_.reset();
    }
}

void NatsSocket::report_end() {
    if (!std::exchange(usable_, false)) return;
    // Not from here: the library may be calling us with the connection's lock held.
    mailbox_->post([self = shared_from_this()] {
        const auto ended = self->events_.ended;  // it may silence us
        if (ended) ended();
    });
}

void NatsSocket::hang_up() {
    usable_ = false;
    if (poll_ != nullptr) shutdown(poll_->descriptor, SHUT_RDWR);
}

void NatsSocket::on_event(uv_poll_t* handle, int status, int events) {
    auto* poll = static_cast<Poll*>(handle->data);
    const std::shared_ptr<NatsSocket> self = poll->owner.lock();
    if (!self || self->poll_ != poll) return;
    // An error counts as readable: the read that follows finds the reason, or what came before it.
    if (status < 0 || (events & UV_READABLE) != 0) {
        if (status < 0) poll->events = 0;  // libuv has ceased to watch
        natsConnection_ProcessReadEvent(self->connection_);
        const auto readable = self->events_.readable;  // it may silence us
        if (readable) readable();
    }
    if ((events & UV_WRITABLE) != 0 && self->poll_ == poll && self->usable_)
        natsConnection_ProcessWriteEvent(self->connection_);
    // One read takes a bufferful, and the error stands behind all that a dead peer had sent: read on until it is met.
    if (status < 0 && self->poll_ == poll && self->usable_) self->bring_in_line();
}

bool NatsSocket::open_poll(int descriptor) {
    auto* poll = new Poll;
    poll->descriptor = descriptor;
    poll->owner = weak_from_this();
    poll->handle.data = poll;
    if (uv_poll_init(loop_.uv(), &poll->handle, descriptor) != 0) {
        close(descriptor);
        delete poll;
        return false;
    }
    poll_ = poll;
    return true;
}

void NatsSocket::close_poll() {
    Poll* poll = std::exchange(poll_, nullptr);
    if (poll == nullptr) return;
    uv_close(reinterpret_cast<uv_handle_t*>(&poll->handle), [](uv_handle_t* handle) {
        auto* closed = static_cast<Poll*>(handle->data);
        close(closed->descriptor);
        delete closed;
    });
}

}  // namespace lockstep::prod
