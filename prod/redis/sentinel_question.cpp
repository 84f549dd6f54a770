#include "prod/redis/sentinel_question.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "engine/redis/connection_options.h"
#include "engine/runtime/invariant.h"
#include "prod/redis/tcp_transport.h"

namespace lockstep::prod {

namespace {

/// For one of them, log-in included: three that are frozen still leave time for the connection itself (RedisConnectionOptions,
/// connect_timeout), and the next attempt begins with the others.
constexpr auto kPatience = std::chrono::milliseconds(400);

std::optional<RedisHost> host_of(const engine::RedisValue& reply) {
    const auto* parts = reply.array();
    if (parts == nullptr || parts->size() != 2) return std::nullopt;
    const std::string* host = (*parts)[0].bulk();
    const std::string* port = (*parts)[1].bulk();
    if (host == nullptr || port == nullptr || host->empty()) return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(port->data(), port->data() + port->size(), number);
    if (error != std::errc{} || end != port->data() + port->size() || number < 1 || number > 65535) return std::nullopt;
    return RedisHost{*host, number};
}

/// How each of the sentinels is called; TLS as for the primary.
RedisAddress as_server(RedisAddress address) {
    address.sentinels.clear();
    return address;
}

}  // namespace

SentinelQuestion::SentinelQuestion(UvLoop& loop, const RedisAddress& address)
    : address_(address),
      sentinels_(address.sentinels.begin(), address.sentinels.end()),
      transport_(std::make_unique<TcpTransport>(loop, as_server(address))) {
    PRECONDITION(!sentinels_.empty() && !address_.primary.empty(), "nobody to ask for \"{}\"", address_.primary);
    transport_->tell(*this);
}

SentinelQuestion::~SentinelQuestion() { stop(); }

void SentinelQuestion::ask(std::function<void(Answer)> told) {
    PRECONDITION(!told_, "two questions for {} at once", address_.primary);
    told_ = std::move(told);
    left_ = sentinels_.size();
    said_.clear();
    ask_first();
}

void SentinelQuestion::stop() {
    told_ = nullptr;
    transport_->close();
}

void SentinelQuestion::ask_first() {
    transport_->aim(sentinels_.front());
    transport_->wake_at(transport_->now() + kPatience);
    transport_->connect();
}

void SentinelQuestion::on_connected() {
    auto commands = engine::redis_log_in(address_.sentinel_user, address_.sentinel_password, 0);
    commands.push_back({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address_.primary});
    replies_ = commands.size();
    const bool written =
        transport_->write(std::make_shared<const std::vector<engine::RedisCommand>>(std::move(commands)));
    if (!written) give_up("the connection is closing");
}

void SentinelQuestion::on_closed(std::string why) { give_up(why); }

void SentinelQuestion::on_wake() { give_up("no answer"); }

void SentinelQuestion::on_reply(engine::RedisValue reply) {
    if (!told_ || replies_ == 0) return;
    if (const auto* error = reply.error()) return give_up(error->text);
    if (--replies_ > 0) return;
    transport_->close();
    if (auto host = host_of(reply)) return answer(std::move(*host));
    give_up(fmt::format("it watches no \"{}\"", address_.primary));
}

void SentinelQuestion::give_up(const std::string& why) {
    if (!told_) return;
    transport_->close();
    fmt::format_to(std::back_inserter(said_), "{}{}:{}: {}", said_.empty() ? "" : "; ", sentinels_.front().host,
                   sentinels_.front().port, why);
    sentinels_.push_back(std::move(sentinels_.front()));
    sentinels_.pop_front();
    if (--left_ == 0)
        answer(tl::make_unexpected(fmt::format("no sentinel knows the primary: {}", said_)));
    else
        ask_first();
}

void SentinelQuestion::answer(Answer answer) { std::exchange(told_, nullptr)(std::move(answer)); }

}  // namespace lockstep::prod
