#include "prod/rehearsal/bus_tap.h"

#include <fmt/core.h>
#include <nats/nats.h>

#include <stdexcept>

#include "prod/loop/system_clock.h"

namespace lockstep::prod::rehearsal {

namespace {

/// Short, so that little is missed after a restart.
constexpr int kReconnectWaitMs = 5;
constexpr int kFlushPatienceMs = 2000;

void must(natsStatus status, const char* what) {
    if (status != NATS_OK) throw std::runtime_error(fmt::format("NATS, {}: {}", what, natsStatus_GetText(status)));
}

void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
    auto* recording = static_cast<Recording*>(closure);
    const char* reply = natsMsg_GetReply(message);
    const char* id = nullptr;
    const bool has_id = natsMsgHeader_Get(message, "Nats-Msg-Id", &id) == NATS_OK && id != nullptr;
    recording->add(
        BusMessage{natsMsg_GetSubject(message),
                   std::string(natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))),
                   reply == nullptr ? "" : reply, engine::to_unix_micros(wall_now()), has_id ? id : ""});
    natsMsg_Destroy(message);
}

}  // namespace

struct BusTap::Library {
    natsOptions* options = nullptr;
    natsConnection* connection = nullptr;
    natsSubscription* subscription = nullptr;

    Library() = default;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() {
        natsConnection_Close(connection);
        natsSubscription_Destroy(subscription);
        natsConnection_Destroy(connection);
        natsOptions_Destroy(options);
    }
};

BusTap::BusTap(const std::string& url, Recording& recording) : library_(std::make_unique<Library>()) {
    Library& l = *library_;
    must(natsOptions_Create(&l.options), "options");
    must(natsOptions_SetURL(l.options, url.c_str()), "address");
    must(natsOptions_SetMaxReconnect(l.options, -1), "options");
    must(natsOptions_SetReconnectWait(l.options, kReconnectWaitMs), "options");
    must(natsOptions_SetReconnectJitter(l.options, 0, 0), "options");
    must(natsConnection_Connect(&l.connection, l.options), "connect");
    must(natsConnection_Subscribe(&l.subscription, l.connection, ">", on_message, &recording), "subscribe");
    must(natsSubscription_SetPendingLimits(l.subscription, -1, -1), "limits");
    must(natsConnection_FlushTimeout(l.connection, kFlushPatienceMs), "subscribe");
}

BusTap::~BusTap() = default;

bool BusTap::wait_until_back(engine::Duration patience) {
    const auto end = monotonic_now() + patience;
    // A flush while it reconnects fails at once or waits for the connection.
    while (monotonic_now() < end) {
        if (natsConnection_Status(library_->connection) == NATS_CONN_STATUS_CONNECTED &&
            natsConnection_FlushTimeout(library_->connection, kFlushPatienceMs) == NATS_OK)
            return true;
        nats_Sleep(kReconnectWaitMs);
    }
    return false;
}

void BusTap::publish(const std::string& subject) {
    must(natsConnection_PublishString(library_->connection, subject.c_str(), ""), "publish");
    must(natsConnection_FlushTimeout(library_->connection, kFlushPatienceMs), "publish");
}

}  // namespace lockstep::prod::rehearsal
