#include "prod/redis/uv_adapter.h"

#include <hiredis/async.h>

namespace lockstep::prod {

namespace {

struct Watch {
    uv_poll_t handle{};
    redisAsyncContext* context = nullptr;  // null once hiredis is about to free it
    int events = 0;
};

void on_event(uv_poll_t* handle, int status, int events) {
    auto* watch = static_cast<Watch*>(handle->data);
    // An error counts as readiness: the read or write that follows fails with the reason.
    if (status < 0) events = watch->events;
    if (watch->context != nullptr && (events & UV_READABLE) != 0) redisAsyncHandleRead(watch->context);
    if (watch->context != nullptr && (events & UV_WRITABLE) != 0) redisAsyncHandleWrite(watch->context);
}

void update(Watch& watch, int events) {
    if (events == watch.events) return;
    watch.events = events;
    if (events == 0)
        uv_poll_stop(&watch.handle);
    else
        uv_poll_start(&watch.handle, events, on_event);
}

Watch& of(void* data) { return *static_cast<Watch*>(data); }

}  // namespace

bool attach_to_loop(redisAsyncContext& context, uv_loop_t* loop) {
    if (context.ev.data != nullptr) return false;
    auto* watch = new Watch;
    if (uv_poll_init(loop, &watch->handle, context.c.fd) != 0) {
        delete watch;
        return false;
    }
    watch->handle.data = watch;
    watch->context = &context;
    context.ev.data = watch;
    context.ev.addRead = [](void* data) { update(of(data), of(data).events | UV_READABLE); };
    context.ev.delRead = [](void* data) { update(of(data), of(data).events & ~UV_READABLE); };
    context.ev.addWrite = [](void* data) { update(of(data), of(data).events | UV_WRITABLE); };
    context.ev.delWrite = [](void* data) { update(of(data), of(data).events & ~UV_WRITABLE); };
    context.ev.cleanup = [](void* data) {
        Watch& done = of(data);
        done.context = nullptr;
        uv_close(reinterpret_cast<uv_handle_t*>(&done.handle),
                 [](uv_handle_t* handle) { delete static_cast<Watch*>(handle->data); });
    };
    return true;
}

}  // namespace lockstep::prod
