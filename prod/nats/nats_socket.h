// Lets a nats.c connection wait on our loop.
//
// Why not the adapter that the library ships: it polls the library's own descriptor, which the library closes from its
// reconnect thread, so that the loop may go on watching a number that by then belongs to another connection. Here the
// loop watches a duplicate, which nobody closes but this object.
//
//   1. The library calls from its own threads and holds the connection's lock meanwhile. Such calls only note what is
//      wanted; the loop's thread brings the poll handle in line.
//   2. Each time the library attaches a socket is a new connection and gets the next number.
#pragma once

#include <nats/nats.h>
#include <uv.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

class NatsSocket : public std::enable_shared_from_this<NatsSocket> {
public:
    struct Events {
        std::function<void()> readable;                  // the library has taken in what the socket had
        std::function<void(std::uint64_t)> lost;         // the connection of that number is gone
        std::function<void(std::uint64_t)> established;  // the connection of that number is there
    };

    static std::shared_ptr<NatsSocket> create(UvLoop& loop, Events events);

    /// Makes `options` use this object. It then lives until the library detaches it.
    natsStatus install(natsOptions* options);
    /// Undoes `install` when connecting failed before the library attached anything.
    void abandon();
    /// No event is reported any more.
    void silence() { events_ = {}; }

    /// Whether the loop's thread may use the connection without waiting for the reconnect thread, which holds the
    /// connection's lock while it connects.
    [[nodiscard]] bool usable() const { return usable_; }
    /// The number of the newest connection. Read after a publish it names one that is not older than the carrier.
    [[nodiscard]] std::uint64_t connection() const { return attached_.load(); }

private:
    explicit NatsSocket(UvLoop& loop, Events events)
        : loop_(loop), mailbox_(loop.mailbox()), events_(std::move(events)) {}

    struct Wanted {
        int descriptor = -1;  // the duplicate; owned until the loop's thread takes it over
        std::uint64_t connection = 0;
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
    void close_poll();

    UvLoop& loop_;
    const std::shared_ptr<Mailbox> mailbox_;
    Events events_;
    std::shared_ptr<NatsSocket> self_;  // while the library knows us
    std::atomic<std::uint64_t> attached_{0};

    std::mutex mutex_;
    Wanted wanted_;                         // guarded by mutex_
    natsConnection* connection_ = nullptr;  // set before the first event

    // The loop's thread only.
    Poll* poll_ = nullptr;
    std::uint64_t polled_ = 0;  // the connection that poll_ watches
    bool usable_ = false;
};

}  // namespace lockstep::prod
