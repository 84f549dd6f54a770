// Answers the admin listener's question after health: the listener's threads ask, the loop's thread looks.
#pragma once

#include <memory>
#include <optional>
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
    /// A server that is away counts against readiness after `grace`.
    HealthProbe(UvLoop& loop, engine::Duration grace)
        : loop_(loop), mailbox_(loop.mailbox()), grace_(grace), scope_(loop) {}

    /// What there is to look at so far; null for what is not there yet. The loop's thread only.
    void watch(engine::Redis* redis) { redis_ = redis; }
    void watch(const engine::Bus* bus) { bus_ = bus; }
    /// A connection was made, or one was lost and why. Called as soon as that is known, so that the grace of a server begins when
    /// it goes and not with the next question. The loop's thread only.
    void redis_state(bool connected, const std::string& why);
    void nats_state(bool connected);
    void kernel_configured() { kernel_configured_ = true; }
    /// Why no jobs are taken, from now on; empty when they are. The loop's thread only.
    void not_ready(std::string why) { not_ready_ = std::move(why); }
    [[nodiscard]] const std::string& why_not_ready() const { return not_ready_; }
    /// Whether jobs are taken, by what is known without asking anybody: what /readyz says. The loop's thread only.
    [[nodiscard]] bool takes_jobs() const;
    /// Ends questions under way. The loop's thread only, before what is watched goes.
    void stop();

    /// Asks Redis for a sign of life and the bus for its connection. Any thread but the loop's; takes up to 2.5 s.
    [[nodiscard]] Health ask();

private:
    struct Question;
    engine::Task<void> look(std::shared_ptr<Question> question);

    /// When a server went, and why; nothing: it is there.
    struct Absence {
        engine::MonoTime since;
        std::string why;
    };
    [[nodiscard]] bool is_excused(const std::optional<Absence>& absence) const;

    UvLoop& loop_;
    const std::shared_ptr<Mailbox> mailbox_;
    const engine::Duration grace_;
    bool redis_connected_ = false;
    std::optional<Absence> redis_away_;
    std::optional<Absence> nats_away_;
    engine::Redis* redis_ = nullptr;
    const engine::Bus* bus_ = nullptr;
    bool kernel_configured_ = false;
    std::string not_ready_ = "starting";
    bool stopped_ = false;
    engine::Scope scope_;
};

}  // namespace lockstep::prod
