// Lets a nats.c connection wait on our loop. One object serves one connection, from its making to its end.
//
// Why not the adapter that the library ships: it polls the library's own descriptor, which the library may close from one
// of its own threads, so that the loop may go on watching a number that by then belongs to another connection. Here the
// loop watches a duplicate, which nobody closes but this object.
//
//   1. The library connects on whatever thread was chosen for that, with the connection's lock held. Until `start` its
//      calls only note what is wanted.
//   2. After `start` the library calls from the loop's thread, and from its timer's and its draining threads, with the
//      connection's lock held. Such calls only note what is wanted, too; the loop's thread brings the poll handle in line.
//   3. Only the loop's thread ends a connection, so nobody closes the library's descriptor while it is read from.
#pragma once

#include <nats/nats.h>
#include <uv.h>

#include <functional>
#include <memory>
#include <mutex>

#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

class NatsSocket : public std::enable_shared_from_this<NatsSocket> {
public:
    struct Events {
        std::function<void()> readable;  // the library has taken in what the socket had
        std::function<void()> ended;     // the connection is gone; once, never inside a call of the library
    };

    static std::shared_ptr<NatsSocket> create(UvLoop& loop) {
        return std::shared_ptr<NatsSocket>(new NatsSocket(loop));
    }

    /// Makes `options` use this object. It then lives until the library detaches it. Any thread, before connecting.
    natsStatus install(natsOptions* options);
    /// Undoes `install` when connecting failed: the library has attached nothing then. The thread that connected.
    void abandon() { self_.reset(); }

    // The loop's thread only.

    /// Begins to wait for the socket. REQUIRES: the library has connected.
    void start(Events events);
    /// No event is reported any more.
    void silence() { events_ = {}; }
    /// Ends the conversation in both directions at once: what the library still wants to write fails.
    void hang_up();
    [[nodiscard]] bool usable() const { return usable_; }

private:
    explicit NatsSocket(UvLoop& loop) : loop_(loop), mailbox_(loop.mailbox()) {}

    struct Wanted {
        int descriptor = -1;  // the duplicate; owned until the loop's thread takes it over
        bool read = false;
        bool write = false;
        bool detached = false;
    };
    struct Poll;

    static natsStatus on_attach(void** user, void* self, natsConnection* connection, natsSock socket);
    static natsStatus on_read(void* self, bool add);
    static natsStatus on_write(void* self, bool add);
    static natsStatus on_detach(void* self);
    static void on_event(uv_poll_t* handle, int status, int events);

    /// Changes what is wanted and has the loop's thread see to it.
    void want(const std::function<void(Wanted&)>& change);
    void bring_in_line();
    /// The library lets go of a connection that nobody has begun to use.
    void abandon_unless_started();
    bool open_poll(int descriptor);
    void close_poll();
    void report_end();

    UvLoop& loop_;
    const std::shared_ptr<Mailbox> mailbox_;
    std::shared_ptr<NatsSocket> self_;      // while the library knows us
    natsConnection* connection_ = nullptr;  // set before `start`

    std::mutex mutex_;
    Wanted wanted_;         // guarded by mutex_
    bool started_ = false;  // guarded by mutex_

    // The loop's thread only.
    Events events_;
    Poll* poll_ = nullptr;
    bool usable_ = false;
};

}  // namespace lockstep::prod
