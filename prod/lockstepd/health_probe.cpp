#include "prod/lockstepd/health_probe.h"

#include <future>

namespace lockstep::prod {

namespace {

constexpr auto kRedisPatience = std::chrono::seconds(2);
/// Longer than the question to Redis; beyond it the loop itself is stuck.
constexpr auto kLoopPatience = std::chrono::milliseconds(2500);

Health unanswered(const char* why) { return {.redis_error = why, .nats_error = why, .not_ready = why}; }

}  // namespace

struct HealthProbe::Question {
    std::promise<Health> answer;
};

void HealthProbe::stop() {
    stopped_ = true;
    scope_.cancel();
    redis_ = nullptr;
    bus_ = nullptr;
}

Health HealthProbe::ask() {
    auto question = std::make_shared<Question>();
    std::future<Health> answer = question->answer.get_future();
    mailbox_->post([this, question] {
        if (!stopped_) scope_.spawn(look(question));
    });
    question.reset();
    if (answer.wait_for(kLoopPatience) != std::future_status::ready)
        return unanswered("the event loop does not answer");
    try {
        return answer.get();
    } catch (const std::future_error&) {
        return unanswered("shutting down");
    }
}

void HealthProbe::redis_state(bool connected, const std::string& why) {
    redis_connected_ = connected;
    if (connected)
        redis_away_.reset();
    else if (!redis_away_)
        redis_away_ = Absence{loop_.monotonic(), why};
}

void HealthProbe::nats_state(bool connected) {
    if (connected)
        nats_away_.reset();
    else if (!nats_away_)
        nats_away_ = Absence{loop_.monotonic(), {}};
}

bool HealthProbe::is_excused(const std::optional<Absence>& absence) const {
    return absence && loop_.monotonic() - absence->since < grace_;
}

bool HealthProbe::takes_jobs() const {
    const auto serves = [this](const std::optional<Absence>& absence) { return !absence || is_excused(absence); };
    return not_ready_.empty() && serves(redis_away_) && serves(nats_away_);
}

engine::Task<void> HealthProbe::look(std::shared_ptr<Question> question) {
    Health health;
    if (kernel_configured_) health.safety_warning.clear();
    health.not_ready = not_ready_;
    if (bus_ != nullptr && bus_->connection().connected) health.nats_error.clear();
    if (bus_ != nullptr) nats_state(health.nats_error.empty());
    // Whoever asks need not wait for a server that is known to have gone; the connection says when it is back.
    if (redis_ != nullptr && !redis_connected_ && redis_away_) {
        health.redis_error = redis_away_->why;
    } else if (redis_ != nullptr) {
        const engine::MonoTime asked = loop_.monotonic();
        std::vector<std::string> ping{"PING"};
        const auto pong = co_await redis_->command(std::move(ping), asked + kRedisPatience);
        health.redis_error = pong.applied() ? "" : pong.failure().detail;
        if (pong.applied())
            redis_away_.reset();
        else if (!redis_away_)
            redis_away_ = Absence{asked, health.redis_error};
    }
    health.redis_excused = is_excused(redis_away_);
    health.nats_excused = is_excused(nats_away_);
    question->answer.set_value(health);
}

}  // namespace lockstep::prod
