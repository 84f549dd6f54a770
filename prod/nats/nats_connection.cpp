#include "prod/nats/nats_connection.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "engine/runtime/one_shot.h"

namespace lockstep::prod {

using engine::FailureCause;
using engine::NotApplied;
using engine::Outcome;
using engine::Unknown;

namespace {

constexpr const char* kMessageIdHeader = "Nats-Msg-Id";

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
        case NATS_INSUFFICIENT_BUFFER:  // reconnecting, and nothing is buffered meanwhile
        case NATS_DRAINING:
        case NATS_MAX_PAYLOAD:
        case NATS_INVALID_SUBJECT:
        case NATS_INVALID_ARG:
        case NATS_NO_SERVER_SUPPORT: return true;
        default: return false;
    }
}

std::string reason(natsStatus status) {
    const char* last = nats_GetLastError(nullptr);
    return last != nullptr && *last != '\0' ? last : natsStatus_GetText(status);
}

/// Carries what the library reports on its own thread to the loop. Freed by the last report of a connection.
struct Reporter {
    std::shared_ptr<Mailbox> mailbox;
    std::function<void(std::string)> report;
    std::function<void(std::string)> given_up;
    std::unique_ptr<std::string> nkey_seed;  // in use by the library for as long

    /// The connection's own words name the subject, those of the status do not.
    static std::string words(natsConnection* connection, natsStatus status) {
        const char* last = nullptr;
        const bool said = natsConnection_GetLastError(connection, &last) == status && last != nullptr && *last != '\0';
        return said ? last : natsStatus_GetText(status);
    }
    static void error(natsConnection* connection, natsSubscription*, natsStatus status, void* closure) {
        auto* self = static_cast<Reporter*>(closure);
        self->mailbox->post([report = self->report, text = words(connection, status)] { report(text); });
    }
    static void closed(natsConnection* connection, void* closure) {
        const std::unique_ptr<Reporter> self(static_cast<Reporter*>(closure));
        const char* last = nullptr;
        natsConnection_GetLastError(connection, &last);
        self->mailbox->post(
            [given_up = self->given_up, text = std::string(last != nullptr ? last : "")] { given_up(text); });
    }
};

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

class NatsConnection::Handle final : public engine::Subscription {
public:
    Handle(std::weak_ptr<NatsConnection> owner, std::shared_ptr<Sub> sub)
        : owner_(std::move(owner)), sub_(std::move(sub)) {}
    ~Handle() override {
        if (const auto owner = owner_.lock()) owner->end(sub_);
    }

private:
    std::weak_ptr<NatsConnection> owner_;
    std::shared_ptr<Sub> sub_;
};

tl::expected<std::shared_ptr<NatsConnection>, std::string> NatsConnection::connect(UvLoop& loop,
                                                                                   const NatsOptions& options) {
    auto library = library_options(options);
    if (!library) return tl::make_unexpected(library.error());
    std::shared_ptr<NatsConnection> made(new NatsConnection(loop));
    made->server_ = display_url(options.url);
    const std::weak_ptr<NatsConnection> weak = made;
    made->socket_ = NatsSocket::create(loop, {.readable = [self = made.get()] { self->empty_subscriptions(); },
                                              .lost = [self = made.get()](std::uint64_t id) { self->on_lost(id); },
                                              .established =
                                                  [self = made.get()](std::uint64_t id) {
                                                      if (id == 1) return;
                                                      self->note_server();
                                                      if (self->listener_) self->listener_(true, self->server_);
                                                      if (self->established_) self->established_();
                                                  }});
    auto* reporter = new Reporter{loop.mailbox(),
                                  [weak](std::string what) {
                                      const auto self = weak.lock();
                                      if (self && self->problem_) self->problem_(what);
                                  },
                                  [weak](std::string why) {
                                      const auto self = weak.lock();
                                      const bool asked_for = !self || self->connection_ == nullptr;
                                      if (!asked_for && self->given_up_) self->given_up_(why);
                                  },
                                  std::move(library->nkey_seed)};
    natsOptions_SetErrorHandler(library->options.get(), &Reporter::error, reporter);
    natsOptions_SetClosedCB(library->options.get(), &Reporter::closed, reporter);
    made->socket_->install(library->options.get());

    const natsStatus status = natsConnection_Connect(&made->connection_, library->options.get());
    if (status != NATS_OK) {
        std::string why = reason(status);
        delete reporter;
        made->socket_->silence();
        made->socket_->abandon();
        made->connection_ = nullptr;
        return tl::make_unexpected(fmt::format("cannot connect to NATS at {}: {}", made->server_, why));
    }
    made->note_server();
    natsInbox* inbox = nullptr;
    natsInbox_Create(&inbox);
    made->inbox_ = std::string(inbox) + ".";
    natsInbox_Destroy(inbox);
    natsStatus subscribed = NATS_OK;
    (void)made->add(
        made->inbox_ + "*", "", [self = made.get()](NatsMessage m) { self->on_inbox(std::move(m)); }, subscribed);
    if (subscribed != NATS_OK)
        return tl::make_unexpected(fmt::format("NATS refused our inbox: {}", reason(subscribed)));
    return made;
}

NatsConnection::NatsConnection(UvLoop& loop) : loop_(loop) {}

void NatsConnection::note_server() {
    std::array<char, 128> id{};
    const bool known = natsConnection_GetConnectedServerId(connection_, id.data(), id.size()) == NATS_OK;
    server_process_ = known ? id.data() : "";
    const std::int64_t bytes = natsConnection_GetMaxPayload(connection_);
    max_payload_ = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

NatsConnection::~NatsConnection() { close(); }

void NatsConnection::close() {
    natsConnection* connection = std::exchange(connection_, nullptr);
    if (connection == nullptr) return;
    for (const auto& sub : subs_)
        if (natsSubscription* handle = std::exchange(sub->handle, nullptr)) natsSubscription_Destroy(handle);
    subs_.clear();
    listener_ = nullptr;
    problem_ = nullptr;
    given_up_ = nullptr;
    established_ = nullptr;
    // One write takes everything unless the server is slow; then the library waits half a second for it.
    if (socket_->usable()) natsConnection_ProcessWriteEvent(connection);
    socket_->silence();
    natsConnection_Destroy(connection);
    while (!pending_.empty()) {
        Pending& open = *pending_.begin()->second;
        open.finish(Unknown{{FailureCause::disconnected, "the connection was closed"}, open.carrier});
    }
}

Outcome<std::uint64_t> NatsConnection::publish(const std::string& subject, std::string_view payload,
                                               const std::string& reply, const std::string& message_id) {
    if (!is_sound(subject))
        return NotApplied{{FailureCause::refused, fmt::format("\"{}\" cannot be the subject of a message", subject)}};
    if (connection_ == nullptr || !socket_->usable())
        return NotApplied{{FailureCause::disconnected, fmt::format("not connected to NATS at {}", server_)}};
    natsStatus status = NATS_OK;
    if (message_id.empty()) {
        const char* answer_to = reply.empty() ? nullptr : reply.c_str();
        status = answer_to == nullptr ? natsConnection_Publish(connection_, subject.c_str(), payload.data(),
                                                               static_cast<int>(payload.size()))
                                      : natsConnection_PublishRequest(connection_, subject.c_str(), answer_to,
                                                                      payload.data(), static_cast<int>(payload.size()));
    } else {
        std::string id = message_id;
        for (char& c : id)
            if (c == '\r' || c == '\n') c = '_';
        natsMsg* raw = nullptr;
        status = natsMsg_Create(&raw, subject.c_str(), reply.empty() ? nullptr : reply.c_str(), payload.data(),
                                static_cast<int>(payload.size()));
        const NatsMessage message(raw);
        if (status == NATS_OK) status = natsMsgHeader_Set(raw, kMessageIdHeader, id.c_str());
        if (status != NATS_OK) return NotApplied{{FailureCause::refused, reason(status)}};
        status = natsConnection_PublishMsg(connection_, raw);
    }
    // Taken afterwards: should the connection have been replaced under our feet, this names the newer one, and nobody
    // believes the carrier gone while it lives.
    const std::uint64_t carrier = socket_->connection();
    if (status == NATS_OK) return carrier;
    if (refused_untouched(status)) {
        const bool ours = status == NATS_MAX_PAYLOAD || status == NATS_INVALID_SUBJECT || status == NATS_INVALID_ARG ||
                          status == NATS_NO_SERVER_SUPPORT;
        return NotApplied{{ours ? FailureCause::refused : FailureCause::disconnected, reason(status)}};
    }
    return Unknown{{FailureCause::disconnected, reason(status)}, carrier};
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

void NatsConnection::on_inbox(NatsMessage message) {
    std::string_view subject = natsMsg_GetSubject(message.get());
    if (!subject.starts_with(inbox_)) return;
    subject.remove_prefix(inbox_.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(subject.data(), subject.data() + subject.size(), number);
    const auto found = error == std::errc{} ? pending_.find(number) : pending_.end();
    if (found == pending_.end()) return;  // too late, or told before
    Pending& pending = *found->second;
    pending.finish(NatsReply{
        std::string(natsMsg_GetData(message.get()), static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))),
        pending.carrier});
}

void NatsConnection::on_lost(std::uint64_t connection) {
    std::vector<std::uint64_t> gone;
    for (const auto& [number, pending] : pending_)
        if (pending->carrier <= connection) gone.push_back(number);
    for (const std::uint64_t number : gone) {
        Pending& open = *pending_.at(number);
        open.finish(Unknown{{FailureCause::disconnected, fmt::format("lost the connection to NATS at {}", server_)},
                            open.carrier});
    }
    if (listener_) listener_(false, server_);
}

std::shared_ptr<NatsConnection::Sub> NatsConnection::add(const std::string& subject, const std::string& queue,
                                                         NatsHandler handler, natsStatus& status) {
    auto sub = std::make_shared<Sub>();
    sub->handler = std::move(handler);
    status = queue.empty()
                 ? natsConnection_SubscribeSync(&sub->handle, connection_, subject.c_str())
                 : natsConnection_QueueSubscribeSync(&sub->handle, connection_, subject.c_str(), queue.c_str());
    // Emptied after every read, so what waits is bounded by the size of one read and never dropped.
    if (status == NATS_OK) natsSubscription_SetPendingLimits(sub->handle, -1, -1);
    if (status == NATS_OK) subs_.push_back(sub);
    return sub;
}

std::unique_ptr<engine::Subscription> NatsConnection::subscribe(const std::string& subject, const std::string& queue,
                                                                NatsHandler handler) {
    natsStatus status = NATS_INVALID_SUBJECT;
    std::shared_ptr<Sub> sub = std::make_shared<Sub>();
    if (connection_ != nullptr && is_sound(subject)) sub = add(subject, queue, std::move(handler), status);
    if (status != NATS_OK && problem_)
        problem_(fmt::format("cannot subscribe to {}: {}", subject, natsStatus_GetText(status)));
    return std::make_unique<Handle>(weak_from_this(), sub);
}

void NatsConnection::end(const std::shared_ptr<Sub>& sub) {
    if (natsSubscription* handle = std::exchange(sub->handle, nullptr)) natsSubscription_Destroy(handle);
    std::erase(subs_, sub);
}

void NatsConnection::empty_subscriptions() {
    round_ = subs_;
    for (const auto& sub : round_) {
        // A handler may end this or any other subscription.
        while (sub->handle != nullptr) {
            int waiting = 0;
            if (natsSubscription_GetPending(sub->handle, &waiting, nullptr) != NATS_OK || waiting == 0) break;
            natsMsg* message = nullptr;
            if (natsSubscription_NextMsg(&message, sub->handle, 0) != NATS_OK) break;
            sub->handler(NatsMessage(message));
        }
    }
    round_.clear();
}

}  // namespace lockstep::prod
