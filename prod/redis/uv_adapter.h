// Lets a hiredis connection wait on our loop. The adapter that hiredis ships swallows poll errors, so that a refused
// connection is never reported; this one hands every event to hiredis, which finds the error on the socket itself.
#pragma once

#include <uv.h>

struct redisAsyncContext;

namespace lockstep::prod {

/// Watches the context's socket until hiredis cleans the context up. False when the loop refuses the socket.
[[nodiscard]] bool attach_to_loop(redisAsyncContext& context, uv_loop_t* loop);

}  // namespace lockstep::prod
