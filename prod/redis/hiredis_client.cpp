#include "prod/redis/hiredis_client.h"

#include <fmt/core.h>
#include <hiredis/async.h>
#include <netdb.h>

#include <utility>

#include "engine/runtime/one_shot.h"
#include "prod/redis/uv_adapter.h"

namespace lockstep::prod {

using engine::FailureCause;
using engine::NotApplied;
using engine::Outcome;
using engine::RedisValue;
using engine::Unknown;
using Replies = std::vector<RedisValue>;

namespace {

/// A connection that lives shorter than this was refused in disguise (too many clients, say): pause before the next.
constexpr engine::Duration kShortLived = std::chrono::seconds(1);

RedisValue value_of(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_STRING: return std::string(reply.str, reply.len);
        case REDIS_REPLY_INTEGER: return static_cast<std::int64_t>(reply.integer);
        case REDIS_REPLY_STATUS: return RedisValue::Status{std::string(reply.str, reply.len)};
        case REDIS_REPLY_ERROR: return RedisValue::Error{std::string(reply.str, reply.len)};
        case REDIS_REPLY_ARRAY: {
            RedisValue::Array elements;
            elements.reserve(reply.elements);
            for (std::size_t i = 0; i < reply.elements; ++i) elements.push_back(value_of(*reply.element[i]));
            return elements;
        }
        default: return {};
    }
}

}  // namespace

/// One call: its commands, the replies so far, and its deadline as a timer.
class HiredisClient::Exchange final : public engine::Work {
public:
    Exchange(HiredisClient& client, std::vector<engine::RedisCommand> commands,
             engine::OneShot<Outcome<Replies>>::Sender answer)
        : client_(client), commands_(std::move(commands)), answer_(std::move(answer)) {
        replies_.reserve(commands_.size());
    }

    [[nodiscard]] bool answered() const { return answered_; }

    void send_on(redisAsyncContext& context, const std::shared_ptr<Exchange>& self) {
        std::vector<const char*> words;
        std::vector<std::size_t> lengths;
        for (const auto& command : commands_) {
            words.clear();
            lengths.clear();
            for (const auto& word : command) {
                words.push_back(word.data());
                lengths.push_back(word.size());
            }
            const int status = redisAsyncCommandArgv(&context, &Exchange::on_reply, this,
                                                     static_cast<int>(words.size()), words.data(), lengths.data());
            if (status == REDIS_OK) ++outstanding_;
        }
        // hiredis refuses only on a context that is being torn down, which we never send on.
        if (outstanding_ == 0)
            finish(NotApplied{{FailureCause::disconnected, "the connection is closing"}});
        else
            self_ = self;  // until hiredis has let go of the last command
        sent_ = true;
        commands_.clear();
    }

    void finish(Outcome<Replies> outcome) {
        if (std::exchange(answered_, true)) return;
        withdraw();
        answer_.send(std::move(outcome));
    }

private:
    static void on_reply(redisAsyncContext* context, void* reply, void* data) {
        static_cast<Exchange*>(data)->take(*context, static_cast<const redisReply*>(reply));
    }

    void take(const redisAsyncContext& context, const redisReply* reply) {
        const std::shared_ptr<Exchange> keep = self_;
        if (--outstanding_ == 0) self_.reset();
        if (answered_) return;
        if (reply == nullptr) {
            const std::string& cause = client_.cause_;
            finish(Unknown{{FailureCause::disconnected, !cause.empty() ? cause
                                                        : context.errstr != nullptr && *context.errstr != '\0'
                                                            ? std::string(context.errstr)
                                                            : std::string("the connection was closed")},
                           client_.connections_});
            return;
        }
        const bool demoted =
            reply->type == REDIS_REPLY_ERROR && std::string_view(reply->str, reply->len).starts_with("READONLY");
        HiredisClient& client = client_;
        replies_.push_back(value_of(*reply));
        if (outstanding_ == 0) finish(std::move(replies_));
        // It was a primary once. Who is it now, the address knows.
        if (demoted) client.drop("the server has become a replica, which takes no writes");
    }

    /// The deadline.
    void run() override {
        const std::shared_ptr<Exchange> keep = self_;
        if (!sent_) {
            finish(NotApplied{{FailureCause::timeout, "no connection to Redis before the deadline"}});
            return;
        }
        HiredisClient& client = client_;
        finish(Unknown{{FailureCause::timeout, "no reply before the deadline"}, client.connections_});
        client.drop("a reply was overdue");
    }

    HiredisClient& client_;
    std::vector<engine::RedisCommand> commands_;
    Replies replies_;
    engine::OneShot<Outcome<Replies>>::Sender answer_;
    std::size_t outstanding_ = 0;
    bool sent_ = false;
    bool answered_ = false;
    std::shared_ptr<Exchange> self_;
};

class HiredisClient::Alarm final : public engine::Work {
public:
    explicit Alarm(HiredisClient& client) : client_(client) {}

private:
    void run() override { client_.on_alarm(); }
    HiredisClient& client_;
};

struct HiredisClient::Lookup {
    uv_getaddrinfo_t request{};
    HiredisClient* client = nullptr;  // null once nobody waits for the answer

    static void on_answer(uv_getaddrinfo_t* request, int status, addrinfo* found) {
        const std::unique_ptr<Lookup> self(static_cast<Lookup*>(request->data));
        std::vector<std::string> addresses;
        for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
            char text[NI_MAXHOST];
            if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0)
                addresses.emplace_back(text);
        }
        uv_freeaddrinfo(found);
        if (self->client == nullptr) return;
        self->client->lookup_ = nullptr;
        self->client->on_resolved(std::move(addresses), status < 0 ? uv_strerror(status) : "");
    }
};

/// What hiredis calls. `data` of a context is its client; a context that is not the client's present one is on its way
/// out and has nothing more to say.
struct HiredisClient::Callbacks {
    static HiredisClient* present(const redisAsyncContext* context) {
        auto* client = static_cast<HiredisClient*>(context->data);
        return client->context_ == context ? client : nullptr;
    }
    static void connected(const redisAsyncContext* context, int status) {
        if (auto* client = present(context)) client->on_connected(status == REDIS_OK, context->errstr);
    }
    static void disconnected(const redisAsyncContext* context, int) {
        auto* client = present(context);
        if (client == nullptr) return;
        client->context_ = nullptr;  // hiredis frees it
        client->settle(context->errstr != nullptr && *context->errstr != '\0' ? context->errstr
                                                                              : "the server closed it");
    }
    static void logged_in(redisAsyncContext* context, void* reply, void* last) {
        if (auto* client = present(context))
            client->on_log_in_reply(static_cast<const redisReply*>(reply), last != nullptr);
    }
};

HiredisClient::HiredisClient(UvLoop& loop, RedisAddress address, RedisOptions options)
    : loop_(loop),
      address_(std::move(address)),
      options_(options),
      alarm_(std::make_unique<Alarm>(*this)),
      pause_(options.reconnect_pause_min) {
    start_attempt();
}

HiredisClient::~HiredisClient() {
    listener_ = nullptr;
    if (lookup_ != nullptr) {
        lookup_->client = nullptr;
        uv_cancel(reinterpret_cast<uv_req_t*>(&lookup_->request));
    }
    cause_ = "the client was closed";
    if (redisAsyncContext* context = std::exchange(context_, nullptr)) redisAsyncFree(context);
    for (const auto& exchange : queued_) exchange->finish(NotApplied{{FailureCause::disconnected, cause_}});
}

engine::Task<Outcome<Replies>> HiredisClient::exchange(std::vector<engine::RedisCommand> commands,
                                                       engine::MonoTime deadline) {
    if (commands.empty()) co_return Replies{};
    if (state_ == State::waiting) co_return NotApplied{{FailureCause::disconnected, last_error_}};
    engine::OneShot<Outcome<Replies>> answer;
    auto exchange = std::make_shared<Exchange>(*this, std::move(commands), answer.sender());
    loop_.post_at(*exchange, deadline);
    if (state_ == State::ready)
        send(exchange);
    else
        queued_.push_back(exchange);
    auto outcome = co_await answer.receive();
    co_return outcome;
}

void HiredisClient::send(const std::shared_ptr<Exchange>& exchange) {
    if (!exchange->answered()) exchange->send_on(*context_, exchange);
}

void HiredisClient::start_attempt() {
    state_ = State::connecting;
    cause_.clear();
    set_alarm(options_.connect_timeout);
    lookup_ = new Lookup;
    lookup_->client = this;
    lookup_->request.data = lookup_;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    const int status =
        uv_getaddrinfo(loop_.uv(), &lookup_->request, &Lookup::on_answer, address_.host.c_str(), nullptr, &hints);
    if (status < 0) {
        delete std::exchange(lookup_, nullptr);
        settle(fmt::format("cannot resolve {}: {}", address_.host, uv_strerror(status)));
    }
}

void HiredisClient::on_resolved(std::vector<std::string> addresses, std::string error) {
    addresses_ = std::move(addresses);
    if (addresses_.empty())
        settle(fmt::format("cannot resolve {}: {}", address_.host, error.empty() ? "no address" : error));
    else
        connect_next();
}

void HiredisClient::connect_next() {
    const std::string ip = std::move(addresses_.front());
    addresses_.erase(addresses_.begin());
    redisAsyncContext* context = redisAsyncConnect(ip.c_str(), address_.port);
    if (context == nullptr || context->err != 0 || !attach_to_loop(*context, loop_.uv())) {
        std::string why = context == nullptr ? "out of memory" : context->errstr;
        if (context != nullptr) redisAsyncFree(context);
        on_connected(false, why.c_str());
        return;
    }
    context->data = this;
    context_ = context;
    redisEnableKeepAlive(&context->c);
    redisAsyncSetConnectCallback(context, &Callbacks::connected);
    redisAsyncSetDisconnectCallback(context, &Callbacks::disconnected);
}

void HiredisClient::on_connected(bool connected, const char* error) {
    if (connected) {
        log_in();
        return;
    }
    context_ = nullptr;  // hiredis frees it
    if (!addresses_.empty())
        connect_next();
    else
        settle(error != nullptr && *error != '\0' ? error : "Connection refused");
}

void HiredisClient::log_in() {
    const auto say = [this](std::vector<std::string> words, bool last) {
        std::vector<const char*> text;
        std::vector<std::size_t> lengths;
        for (const auto& word : words) {
            text.push_back(word.data());
            lengths.push_back(word.size());
        }
        redisAsyncCommandArgv(context_, &Callbacks::logged_in, last ? this : nullptr, static_cast<int>(text.size()),
                              text.data(), lengths.data());
    };
    if (!address_.password.empty()) {
        if (address_.user.empty())
            say({"AUTH", address_.password}, false);
        else
            say({"AUTH", address_.user, address_.password}, false);
    }
    if (address_.database != 0) say({"SELECT", fmt::format("{}", address_.database)}, false);
    // The kernel accepts connections for a server that is frozen; only an answer shows that somebody is there.
    say({"PING"}, true);
}

void HiredisClient::on_log_in_reply(const redisReply* reply, bool last) {
    if (reply == nullptr) return;  // the connection is going; `disconnected` follows
    const std::string error = reply->type == REDIS_REPLY_ERROR ? std::string(reply->str, reply->len) : std::string();
    // A server that is still loading its data answers PING with an error and is there all the same.
    if (!error.empty() && (!last || error.starts_with("NOAUTH")))
        drop(fmt::format("{} refused the log-in: {}", address_.display(), error));
    else if (last)
        become_ready();
}

void HiredisClient::become_ready() {
    state_ = State::ready;
    ++connections_;
    ready_since_ = loop_.monotonic();
    alarm_->withdraw();
    last_error_.clear();
    if (listener_) listener_(true, {});
    for (const auto& exchange : std::exchange(queued_, {})) send(exchange);
}

void HiredisClient::drop(std::string why) {
    cause_ = why;
    if (redisAsyncContext* context = std::exchange(context_, nullptr)) redisAsyncFree(context);
    settle(std::move(why));
}

void HiredisClient::settle(std::string why) {
    const bool was_ready = state_ == State::ready;
    const bool short_lived = loop_.monotonic() - ready_since_ < kShortLived;
    addresses_.clear();
    alarm_->withdraw();
    last_error_ = fmt::format("{}: {}", address_.display(), why);
    if (listener_) listener_(false, last_error_);
    if (was_ready && !short_lived) {
        pause_ = options_.reconnect_pause_min;
        start_attempt();
        return;
    }
    state_ = State::waiting;
    for (const auto& exchange : std::exchange(queued_, {}))
        exchange->finish(NotApplied{{FailureCause::disconnected, last_error_}});
    set_alarm(pause_);
    pause_ = std::min(2 * pause_, options_.reconnect_pause_max);
}

void HiredisClient::set_alarm(engine::Duration delay) {
    alarm_->withdraw();
    loop_.post_at(*alarm_, loop_.monotonic() + delay);
}

void HiredisClient::on_alarm() {
    if (state_ == State::waiting) {
        start_attempt();
        return;
    }
    if (lookup_ != nullptr) {
        std::exchange(lookup_, nullptr)->client = nullptr;
        settle(fmt::format("resolving {} took too long", address_.host));
        return;
    }
    drop("no answer to a connection attempt");
}

}  // namespace lockstep::prod
