// Answers the admin listener's question after health: the listener's threads ask, the loop's thread looks.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/ports/bus.h"
#include "engine/ports/redis.h"
#include "engine/runtime/scope.h"
#include "prod/loop/uv_loop.h"
#include "prod/observe/admin_http.h"

namespace lockstep::prod {

class HealthProbe {
public:
    explicit HealthProbe(UvLoop& loop) : loop_(loop), mailbox_(loop.mailbox()), scope_(loop) {}

    /// What there is to look at so far; null for what is not there yet. The loop's thread only.
    void watch(engine::Redis* redis) { redis_ = redis; }
    void watch(const engine::Bus* bus) { bus_ = bus; }
    void kernel_configured() { kernel_configured_ = true; }
    /// Why no jobs are taken, from now on; empty when they are. The loop's thread only.
    void not_ready(std::string why) { not_ready_ = std::move(why); }
    /// Ends questions under way. The loop's thread only, before what is watched goes.
    void stop();

    /// Asks Redis for a sign of life and the bus for its connection. Any thread but the loop's; takes up to 2.5 s.
    [[nodiscard]] Health ask();

private:
    struct Question;
    engine::Task<void> look(std::shared_ptr<Question> question);

    UvLoop& loop_;
    const std::shared_ptr<Mailbox> mailbox_;
    engine::Redis* redis_ = nullptr;
    const engine::Bus* bus_ = nullptr;
    bool kernel_configured_ = false;
    std::string not_ready_ = "starting";
    bool stopped_ = false;
    engine::Scope scope_;
};

}  // namespace lockstep::prod
