#include "prod/nats/nats_connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/runtime/one_shot.h"
#include "engine/wire/sha256.h"

namespace lockstep::prod {

using engine::FailureCause;
using engine::NotApplied;
using engine::Outcome;
using engine::Unknown;

namespace {

constexpr const char* kMessageIdHeader = "Nats-Msg-Id";

/// The id itself, or one in its place where it has characters that would end the header, and begin another one of a submitter's choice.
std::string as_header(const std::string& id) {
    const bool plain = std::ranges::none_of(id, [](unsigned char c) { return c < ' ' || c == 0x7f; });
    return plain ? id : "sha256:" + engine::wire::sha256_hex(id);
}

/// A subject that the protocol can carry: a stray space or line break would be read as a command of its own.
bool is_sound(std::string_view subject) {
    if (subject.empty()) return false;
    for (const unsigned char c : subject)
        if (c <= ' ' || c == 0x7f) return false;
    return true;
}

/// Errors with which the library turns a publish down before it has written a byte of it.
bool refused_untouched(natsStatus status) {
    switch (status) {
        case NATS_CONNECTION_CLOSED:
        case NATS_CONNECTION_DISCONNECTED:
        case NATS_DRAINING:
        case NATS_MAX_PAYLOAD:
        case NATS_INVALID_SUBJECT:
        case NATS_INVALID_ARG:
        case NATS_NO_SERVER_SUPPORT: return true;
        default: return false;
    }
}

std::string unique_inbox() {
    natsInbox* raw = nullptr;
    natsInbox_Create(&raw);
    std::string inbox = std::string(raw) + ".";
    natsInbox_Destroy(raw);
    return inbox;
}

/// How long a paused subscription may wait for what is on its way. Longer than a silent server is kept: a live one answers
/// in the time of one round trip.
constexpr std::int64_t kDrainMillis = 60'000;

}  // namespace

/// A request whose answer has not come yet.
class NatsConnection::Pending final : public engine::Work {
public:
    Pending(NatsConnection& owner, std::uint64_t number, engine::OneShot<Outcome<NatsReply>>::Sender answer)
        : owner_(owner), number_(number), answer_(std::move(answer)) {}

    std::uint64_t carrier = 0;

    void finish(Outcome<NatsReply> outcome) {
        answer_.send(std::move(outcome));
        owner_.pending_.erase(number_);  // this object
    }

private:
    void run() override { finish(Unknown{{FailureCause::timeout, "no answer before the deadline"}, carrier}); }

    NatsConnection& owner_;
    std::uint64_t number_;
    engine::OneShot<Outcome<NatsReply>>::Sender answer_;
};

class NatsConnection::Handle final : public engine::Consumption {
public:
    Handle(std::weak_ptr<NatsConnection> owner, std::shared_ptr<Sub> sub)
        : owner_(std::move(owner)), sub_(std::move(sub)) {}
    ~Handle() override {
        if (const auto owner = owner_.lock()) owner->end(sub_);
    }
    void pause() override {
        if (const auto owner = owner_.lock()) owner->pause(*sub_);
    }
    void resume() override {
        if (const auto owner = owner_.lock()) owner->resume(*sub_);
    }

private:
    std::weak_ptr<NatsConnection> owner_;
    std::shared_ptr<Sub> sub_;
};

/// One walk through the addresses on a thread of libuv's pool. It may outlive the connection object, which then does not
/// hear of it.
class NatsConnection::Attempt {
public:
    /// Lives until it has reported.
    static void start(NatsConnection& owner) {
        auto* made = new Attempt(owner);
        made->request_.data = made;
        if (uv_queue_work(owner.loop_.uv(), &made->request_, &on_pool, &on_loop) != 0) on_loop(&made->request_, 0);
    }

private:
    explicit Attempt(NatsConnection& owner)
        : owner_(owner.weak_from_this()),
          loop_(owner.loop_),
          options_(owner.options_),
          discovered_(owner.discovered_) {}

    static void on_pool(uv_work_t* request) {
        auto* self = static_cast<Attempt*>(request->data);
        self->result_ = NatsLink::make(self->loop_, self->options_, self->discovered_);
    }
    static void on_loop(uv_work_t* request, int) {
        const std::unique_ptr<Attempt> self(static_cast<Attempt*>(request->data));
        if (const auto owner = self->owner_.lock()) owner->on_attempt(std::move(self->result_));
    }

    const std::weak_ptr<NatsConnection> owner_;
    UvLoop& loop_;
    const NatsOptions options_;
    const std::vector<std::string> discovered_;
    uv_work_t request_{};
    tl::expected<std::unique_ptr<NatsLink>, NatsLink::Failure> result_ =
        tl::make_unexpected(NatsLink::Failure{engine::ConnectionEnd::unreachable, "no thread to connect on"});
};

tl::expected<std::shared_ptr<NatsConnection>, std::string> NatsConnection::connect(UvLoop& loop,
                                                                                   const NatsOptions& options) {
    if (const auto usable = library_options(options); !usable) return tl::make_unexpected(usable.error());
    auto link = NatsLink::make(loop, options, {});
    if (!link)
        return tl::make_unexpected(
            fmt::format("cannot connect to NATS at {}: {}", display_url(options.url), link.error().why));
    std::shared_ptr<NatsConnection> made(new NatsConnection(loop, options));
    made->begin(std::move(*link));
    if (made->inbox_sub_->current == nullptr)
        return tl::make_unexpected(fmt::format("NATS at {} refused our inbox", made->server_));
    return made;
}

tl::expected<std::shared_ptr<NatsConnection>, std::string> NatsConnection::connect_in_background(
    UvLoop& loop, const NatsOptions& options) {
    if (const auto usable = library_options(options); !usable) return tl::make_unexpected(usable.error());
    std::shared_ptr<NatsConnection> made(new NatsConnection(loop, options));
    made->attempt();
    return made;
}

NatsConnection::NatsConnection(UvLoop& loop, const NatsOptions& options)
    : loop_(loop), options_(options), server_(display_url(options.url)), policy_(options.policy) {}

NatsConnection::~NatsConnection() { close(); }

void NatsConnection::begin(std::unique_ptr<NatsLink> link) {
    link_ = std::move(link);
    const std::uint64_t number = ++connections_;
    policy_.established();
    server_process_ = link_->server();
    max_payload_ = link_->max_payload();

    inbox_ = unique_inbox();
    inbox_sub_ = std::make_shared<Sub>();
    inbox_sub_->subject = inbox_ + "*";
    inbox_sub_->handler = [this, number](NatsMessage message) { on_inbox(number, std::move(message)); };
    make(*inbox_sub_);
    for (const auto& sub : subs_)
        if (!sub->paused) make(*sub);

    const std::weak_ptr<NatsConnection> weak = weak_from_this();
    link_->start({.readable =
                      [this] {
                          policy_.heard();
                          empty_subscriptions();
                      },
                  .ended = [this] { lose(); },
                  .problem =
                      [weak](const std::string& what) {
                          const auto self = weak.lock();
                          if (self && self->problem_) self->problem_(what);
                      }});
    loop_.post_at(ping_, loop_.monotonic() + options_.ping_interval);
    if (listener_) listener_(true, server_);
    if (established_) established_();
}

void NatsConnection::lose() {
    if (!link_) return;
    ping_.withdraw();
    release_subscriptions();
    if (auto others = link_->discovered(); !others.empty()) discovered_ = std::move(others);
    link_.reset();
    fail_pending(fmt::format("lost the connection to NATS at {}", server_));
    if (listener_) listener_(false, server_);
    connect_later(engine::ConnectionEnd::lost, {});
}

void NatsConnection::connect_later(engine::ConnectionEnd end, const std::string& why) {
    if (closed_) return;
    const auto pause = policy_.next_attempt(end, [this](std::uint64_t bound) { return entropy_.below(bound); });
    if (pause)
        loop_.post_at(retry_, loop_.monotonic() + *pause);
    else if (given_up_)
        given_up_(why);
}

void NatsConnection::attempt() { Attempt::start(*this); }

void NatsConnection::on_attempt(tl::expected<std::unique_ptr<NatsLink>, NatsLink::Failure> made) {
    if (closed_) return;
    if (made) {
        begin(std::move(*made));
        return;
    }
    const NatsLink::Failure& failure = made.error();
    if (failure.end == engine::ConnectionEnd::refused && problem_)
        problem_(fmt::format("{} refused the credentials: {}", server_, failure.why));
    connect_later(failure.end, failure.why);
}

void NatsConnection::ping() {
    // The library's own timer sends the pings; any byte that comes is a sign of life.
    if (policy_.ping())
        loop_.post_at(ping_, loop_.monotonic() + options_.ping_interval);
    else
        lose();
}

void NatsConnection::close() {
    if (std::exchange(closed_, true)) return;
    ping_.withdraw();
    retry_.withdraw();
    listener_ = nullptr;
    problem_ = nullptr;
    given_up_ = nullptr;
    established_ = nullptr;
    for (const auto& sub : subs_) sub->ended = true;
    release_subscriptions();
    subs_.clear();
    if (link_) link_->flush();
    link_.reset();
    fail_pending("the connection was closed");
}

Outcome<std::uint64_t> NatsConnection::publish(const std::string& subject, std::string_view payload,
                                               const std::string& reply, const std::string& message_id) {
    PRECONDITION(loop_.on_loop_thread(), "a message on {} is published on a thread that is not the loop's", subject);
    if (!is_sound(subject))
        return NotApplied{{FailureCause::refused, fmt::format("\"{}\" cannot be the subject of a message", subject)}};
    if (!link_ || !link_->usable())
        return NotApplied{{FailureCause::disconnected, fmt::format("not connected to NATS at {}", server_)}};
    natsConnection* const library = link_->library();
    natsStatus status = NATS_OK;
    if (message_id.empty()) {
        const char* answer_to = reply.empty() ? nullptr : reply.c_str();
        const int size = static_cast<int>(payload.size());
        status = answer_to == nullptr
                     ? natsConnection_Publish(library, subject.c_str(), payload.data(), size)
                     : natsConnection_PublishRequest(library, subject.c_str(), answer_to, payload.data(), size);
    } else {
        std::string id = message_id;
        for (char& c : id)
            if (c == '\r' || c == '\n') c = '_';
        natsMsg* raw = nullptr;
        status = natsMsg_Create(&raw, subject.c_str(), reply.empty() ? nullptr : reply.c_str(), payload.data(),
                                static_cast<int>(payload.size()));
        const NatsMessage message(raw);
        if (status == NATS_OK) status = natsMsgHeader_Set(raw, kMessageIdHeader, as_header(id).c_str());
        if (status != NATS_OK) return NotApplied{{FailureCause::refused, reason(status)}};
        status = natsConnection_PublishMsg(library, raw);
    }
    if (status == NATS_OK) return connections_;
    if (refused_untouched(status)) {
        const bool ours = status == NATS_MAX_PAYLOAD || status == NATS_INVALID_SUBJECT || status == NATS_INVALID_ARG ||
                          status == NATS_NO_SERVER_SUPPORT;
        return NotApplied{{ours ? FailureCause::refused : FailureCause::disconnected, reason(status)}};
    }
    return Unknown{{FailureCause::disconnected, reason(status)}, connections_};
}

engine::Task<Outcome<NatsReply>> NatsConnection::request(std::string subject, std::string payload,
                                                         std::string message_id, engine::MonoTime deadline) {
    if (deadline <= loop_.monotonic()) co_return NotApplied{{FailureCause::timeout, "the deadline had passed already"}};
    const std::uint64_t number = ++last_request_;
    const auto sent = publish(subject, payload, fmt::format("{}{}", inbox_, number), message_id);
    if (!sent.applied()) co_return sent.failure_as<NatsReply>();
    engine::OneShot<Outcome<NatsReply>> answer;
    auto pending = std::make_unique<Pending>(*this, number, answer.sender());
    pending->carrier = sent.value();
    loop_.post_at(*pending, deadline);
    pending_.emplace(number, std::move(pending));
    auto outcome = co_await answer.receive();
    co_return outcome;
}

void NatsConnection::on_inbox(std::uint64_t connection, NatsMessage message) {
    std::string_view subject = natsMsg_GetSubject(message.get());
    if (!subject.starts_with(inbox_)) return;
    subject.remove_prefix(inbox_.size());
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(subject.data(), subject.data() + subject.size(), number);
    if (error != std::errc{} || rest != subject.data() + subject.size()) return;
    const auto found = pending_.find(number);
    if (found == pending_.end() || found->second->carrier != connection) return;  // too late, or told before
    Pending& pending = *found->second;
    pending.finish(NatsReply{
        std::string(natsMsg_GetData(message.get()), static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))),
        pending.carrier});
}

void NatsConnection::fail_pending(const std::string& why) {
    while (!pending_.empty()) {
        Pending& open = *pending_.begin()->second;
        open.finish(Unknown{{FailureCause::disconnected, why}, open.carrier});
    }
}

std::unique_ptr<engine::Consumption> NatsConnection::subscribe(const std::string& subject, const std::string& queue,
                                                               NatsHandler handler, bool paused) {
    auto sub = std::make_shared<Sub>();
    sub->subject = subject;
    sub->queue = queue;
    sub->handler = std::move(handler);
    sub->paused = paused;
    const bool sound = is_sound(subject) && (queue.empty() || is_sound(queue));
    if (!sound && problem_) problem_(fmt::format("cannot subscribe to {}: it is not a subject", subject));
    if (sound && !closed_) {
        subs_.push_back(sub);
        if (!paused) make(*sub);
    }
    return std::make_unique<Handle>(weak_from_this(), sub);
}

void NatsConnection::make(Sub& sub) {
    if (!link_) return;
    const natsStatus status = link_->subscribe(sub.subject, sub.queue, sub.current);
    if (status == NATS_OK || status == NATS_CONNECTION_CLOSED) return;  // the next connection brings it
    if (problem_) problem_(fmt::format("cannot subscribe to {}: {}", sub.subject, natsStatus_GetText(status)));
}

void NatsConnection::end(const std::shared_ptr<Sub>& sub) {
    sub->ended = true;
    sub->current.reset();
    sub->draining.clear();
    std::erase(subs_, sub);
}

void NatsConnection::pause(Sub& sub) {
    if (std::exchange(sub.paused, true) || !sub.current) return;
    // The library says so to the server at once, and goes on taking what comes until the server has answered that it heard.
    if (natsSubscription_DrainTimeout(sub.current.get(), kDrainMillis) == NATS_OK)
        sub.draining.push_back(std::move(sub.current));
    sub.current.reset();
}

void NatsConnection::resume(Sub& sub) {
    if (!std::exchange(sub.paused, false) || sub.ended) return;
    make(sub);
}

void NatsConnection::release_subscriptions() {
    if (inbox_sub_) inbox_sub_->current.reset();
    for (const auto& sub : subs_) {
        sub->current.reset();
        sub->draining.clear();
    }
}

void NatsConnection::empty_subscriptions() {
    const auto self = shared_from_this();  // a handler may let go of everything
    const std::shared_ptr<Sub> inbox = inbox_sub_;
    empty(*inbox);
    const std::vector<std::shared_ptr<Sub>> round = subs_;
    for (const auto& sub : round) empty(*sub);
}

void NatsConnection::empty(Sub& sub) {
    // What was on its way to a former subscription came first.
    for (std::size_t i = 0; i < sub.draining.size(); ++i) hand_out(sub, sub.draining[i].get());
    if (sub.current) hand_out(sub, sub.current.get());
    std::erase_if(sub.draining, [](const NatsSubscription& drained) {
        int waiting = 0;
        const bool more = natsSubscription_GetPending(drained.get(), &waiting, nullptr) == NATS_OK && waiting > 0;
        return !more && natsSubscription_DrainCompletionStatus(drained.get()) != NATS_ILLEGAL_STATE;
    });
}

void NatsConnection::hand_out(Sub& sub, natsSubscription* from) {
    // A handler may end this or any other subscription, and the connection with them; both say so in `ended`.
    while (!sub.ended) {
        int waiting = 0;
        if (natsSubscription_GetPending(from, &waiting, nullptr) != NATS_OK || waiting == 0) break;
        natsMsg* message = nullptr;
        if (natsSubscription_NextMsg(&message, from, 0) != NATS_OK) break;
        sub.handler(NatsMessage(message));
    }
}

}  // namespace lockstep::prod
