#include "prod/nats/nats_socket.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace lockstep::prod {

struct NatsSocket::Poll {
    uv_poll_t handle{};
    int descriptor = -1;
    int events = 0;
    std::weak_ptr<NatsSocket> owner;
};

std::shared_ptr<NatsSocket> NatsSocket::create(UvLoop& loop, Events events) {
    return std::shared_ptr<NatsSocket>(new NatsSocket(loop, std::move(events)));
}

natsStatus NatsSocket::install(natsOptions* options) {
    self_ = shared_from_this();
    return natsOptions_SetEventLoop(options, this, &on_attach, &on_read, &on_write, &on_detach);
}

void NatsSocket::abandon() {
    close_poll();
    self_.reset();
}

natsStatus NatsSocket::on_attach(void** user, void* self, natsConnection* connection, natsSock socket) {
    auto* me = static_cast<NatsSocket*>(self);
    const int descriptor = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return NATS_SYS_ERROR;
    *user = me;
    me->want([&](Wanted& wanted) {
        if (wanted.descriptor >= 0) close(wanted.descriptor);
        me->connection_ = connection;
        wanted = {descriptor, me->attached_.fetch_add(1) + 1, true, false, false};
    });
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
    static_cast<NatsSocket*>(self)->want([](Wanted& wanted) {
        wanted.read = wanted.write = false;
        wanted.detached = true;
    });
    return NATS_OK;
}

void NatsSocket::want(const std::function<void(Wanted&)>& change) {
    {
        const std::lock_guard lock(mutex_);
        change(wanted_);
    }
    if (loop_.on_loop_thread())
        bring_in_line();
    else
        mailbox_->post([self = shared_from_this()] { self->bring_in_line(); });
}

void NatsSocket::bring_in_line() {
    const std::shared_ptr<NatsSocket> keep = shared_from_this();
    Wanted wanted;
    {
        const std::lock_guard lock(mutex_);
        wanted = wanted_;
        wanted_.descriptor = -1;  // ours from here on
    }
    const bool fresh = wanted.connection != polled_;
    if (usable_ && (fresh || !wanted.read)) {
        usable_ = false;
        // Not from here: the library may be calling us with the connection's lock held.
        mailbox_->post([self = keep, gone = polled_] {
            if (self->events_.lost) self->events_.lost(gone);
        });
    }
    if (fresh) {
        close_poll();
        auto* poll = new Poll;
        poll->descriptor = wanted.descriptor;
        poll->owner = keep;
        poll->handle.data = poll;
        if (uv_poll_init(loop_.uv(), &poll->handle, poll->descriptor) != 0) {
            // Out of descriptors or memory; the library notices by its pings and connects anew.
            close(poll->descriptor);
            delete poll;
            polled_ = wanted.connection;
            return;
        }
        poll_ = poll;
        polled_ = wanted.connection;
        usable_ = wanted.read;
        if (usable_) {
            mailbox_->post([self = keep, made = polled_] {
                if (self->events_.established) self->events_.established(made);
            });
        }
    }
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

void NatsSocket::on_event(uv_poll_t* handle, int status, int events) {
    auto* poll = static_cast<Poll*>(handle->data);
    const std::shared_ptr<NatsSocket> self = poll->owner.lock();
    if (!self || self->poll_ != poll) return;
    // An error counts as readable: the read that follows finds the reason.
    if (status < 0 || (events & UV_READABLE) != 0) {
        natsConnection_ProcessReadEvent(self->connection_);
        if (self->events_.readable) self->events_.readable();
    }
    if ((events & UV_WRITABLE) != 0 && self->poll_ == poll && self->usable_)
        natsConnection_ProcessWriteEvent(self->connection_);
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
