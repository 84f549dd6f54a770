#include "prod/nats/nats_link.h"

#include <array>
#include <utility>

namespace lockstep::prod {

std::string reason(natsStatus status) {
    const char* last = nats_GetLastError(nullptr);
    return last != nullptr && *last != '\0' ? last : natsStatus_GetText(status);
}

/// Carries what the library reports on its own thread to the loop. Freed by the last report of a connection.
struct NatsLink::Reporter {
    std::shared_ptr<Mailbox> mailbox;
    std::weak_ptr<std::function<void(const std::string&)>> problem;

    void report(std::string what) const {
        mailbox->post([to = problem, text = std::move(what)] {
            const auto listener = to.lock();
            if (listener && *listener) (*listener)(text);
        });
    }
    /// The connection's own words name the subject, those of the status do not.
    static void error(natsConnection* connection, natsSubscription*, natsStatus status, void* closure) {
        const char* last = nullptr;
        const bool said = natsConnection_GetLastError(connection, &last) == status && last != nullptr && *last != '\0';
        static_cast<const Reporter*>(closure)->report(said ? last : natsStatus_GetText(status));
    }
    /// A server that hangs up with a word says why; one that is gone says nothing.
    static void closed(natsConnection* connection, void* closure) {
        const std::unique_ptr<const Reporter> self(static_cast<const Reporter*>(closure));
        const char* last = nullptr;
        natsConnection_GetLastError(connection, &last);
        if (last != nullptr && *last != '\0') self->report(last);
    }
};

tl::expected<std::unique_ptr<NatsLink>, NatsLink::Failure> NatsLink::make(UvLoop& loop, const NatsOptions& options,
                                                                          const std::vector<std::string>& discovered) {
    auto library = library_options(options, discovered);
    if (!library) return tl::make_unexpected(Failure{engine::ConnectionEnd::unreachable, library.error()});
    std::unique_ptr<NatsLink> made(new NatsLink(std::move(*library), NatsSocket::create(loop)));
    made->problem_ = std::make_shared<std::function<void(const std::string&)>>();
    natsOptions* raw = made->options_.options.get();
    auto reporter = std::make_unique<Reporter>(Reporter{loop.mailbox(), made->problem_});
    natsOptions_SetErrorHandler(raw, &Reporter::error, reporter.get());
    natsOptions_SetClosedCB(raw, &Reporter::closed, reporter.get());
    made->socket_->install(raw);
    const natsStatus status = natsConnection_Connect(&made->connection_, raw);
    if (status != NATS_OK) {
        made->connection_ = nullptr;
        made->socket_->abandon();
        const bool refused = status == NATS_CONNECTION_AUTH_FAILED;
        return tl::make_unexpected(
            Failure{refused ? engine::ConnectionEnd::refused : engine::ConnectionEnd::unreachable, reason(status)});
    }
    (void)reporter.release();
    return made;
}

NatsLink::~NatsLink() {
    if (connection_ == nullptr) return;
    socket_->silence();
    if (!flushed_) {
        // The library would wait for the server to take what it has not sent; now that write fails, and it does not.
        socket_->hang_up();
        if (natsConnection_Buffered(connection_) > 0) natsConnection_ProcessWriteEvent(connection_);
    }
    natsConnection_Destroy(connection_);
}

void NatsLink::start(Events events) {
    *problem_ = std::move(events.problem);
    socket_->start({.readable = std::move(events.readable), .ended = std::move(events.ended)});
}

void NatsLink::flush() {
    // One write takes everything unless the server is slow; then the library waits for it when the link is destroyed.
    if (usable() && natsConnection_Buffered(connection_) > 0) natsConnection_ProcessWriteEvent(connection_);
    flushed_ = usable();
}

natsStatus NatsLink::subscribe(const std::string& subject, const std::string& queue, NatsSubscription& made) {
    natsSubscription* raw = nullptr;
    const natsStatus status =
        queue.empty() ? natsConnection_SubscribeSync(&raw, connection_, subject.c_str())
                      : natsConnection_QueueSubscribeSync(&raw, connection_, subject.c_str(), queue.c_str());
    if (status != NATS_OK) return status;
    natsSubscription_SetPendingLimits(raw, -1, -1);
    made.reset(raw);
    return NATS_OK;
}

std::string NatsLink::server() const {
    std::array<char, 128> id{};
    return natsConnection_GetConnectedServerId(connection_, id.data(), id.size()) == NATS_OK ? id.data() : "";
}

std::uint64_t NatsLink::max_payload() const {
    const std::int64_t bytes = natsConnection_GetMaxPayload(connection_);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

std::vector<std::string> NatsLink::discovered() const {
    char** urls = nullptr;
    int count = 0;
    std::vector<std::string> found;
    if (natsConnection_GetDiscoveredServers(connection_, &urls, &count) != NATS_OK) return found;
    for (int i = 0; i < count; ++i) {
        found.emplace_back(urls[i]);
        free(urls[i]);
    }
    free(urls);
    return found;
}

}  // namespace lockstep::prod
