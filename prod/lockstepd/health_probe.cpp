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

engine::Task<void> HealthProbe::look(std::shared_ptr<Question> question) {
    Health health;
    if (kernel_configured_) health.safety_warning.clear();
    health.not_ready = not_ready_;
    if (bus_ != nullptr && bus_->connection().connected) health.nats_error.clear();
    if (redis_ != nullptr) {
        std::vector<std::string> ping{"PING"};
        const auto pong = co_await redis_->command(std::move(ping), loop_.monotonic() + kRedisPatience);
        health.redis_error = pong.applied() ? "" : pong.failure().detail;
    }
    question->answer.set_value(health);
}

}  // namespace lockstep::prod
