#include "prod/ordeal/bus_client.h"

#include <fmt/core.h>
#include <nats/nats.h>

#include <deque>
#include <sstream>
#include <stdexcept>

namespace lockstep::prod::ordeal {

namespace {

constexpr int kReconnectWaitMs = 20;
constexpr int kReadPatienceMs = 10'000;
/// A consumer has nothing to say of a subject without messages, so the first may fail to come.
constexpr int kFirstPatienceMs = 3000;
constexpr int kInfoPatienceMs = 300;

void must(natsStatus status, std::string_view what) {
    if (status != NATS_OK) throw std::runtime_error(fmt::format("NATS, {}: {}", what, natsStatus_GetText(status)));
}

std::string_view payload_of(natsMsg* message) {
    return {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))};
}

void hand_over(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
    (*static_cast<BusClient::Listener*>(closure))(natsMsg_GetSubject(message), payload_of(message));
    natsMsg_Destroy(message);
}

}  // namespace

struct BusClient::Library {
    natsOptions* options = nullptr;
    natsConnection* connection = nullptr;
    jsCtx* stream = nullptr;
    std::vector<natsSubscription*> subscriptions;
    std::deque<Listener> listeners;  // they stay where they are

    Library() = default;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() {
        natsConnection_Close(connection);
        for (natsSubscription* subscription : subscriptions) natsSubscription_Destroy(subscription);
        jsCtx_Destroy(stream);
        natsConnection_Destroy(connection);
        natsOptions_Destroy(options);
    }
};

BusClient::BusClient(const std::string& urls) : library_(std::make_unique<Library>()) {
    Library& l = *library_;
    must(natsOptions_Create(&l.options), "options");
    std::vector<std::string> addresses;
    std::istringstream text(urls);
    for (std::string one; std::getline(text, one, ',');) addresses.push_back(one);
    std::vector<const char*> pointers;
    for (const std::string& one : addresses) pointers.push_back(one.c_str());
    must(natsOptions_SetServers(l.options, pointers.data(), static_cast<int>(pointers.size())), "address");
    must(natsOptions_SetName(l.options, "lockstep-ordeal"), "options");
    must(natsOptions_SetMaxReconnect(l.options, -1), "options");
    must(natsOptions_SetReconnectWait(l.options, kReconnectWaitMs), "options");
    must(natsOptions_SetReconnectJitter(l.options, 0, 0), "options");
    must(natsConnection_Connect(&l.connection, l.options), "connect");
    must(natsConnection_JetStream(&l.stream, l.connection, nullptr), "JetStream");
}

BusClient::~BusClient() = default;

std::optional<BusClient::Acknowledgement> BusClient::publish(const std::string& subject, std::string_view payload,
                                                             const std::string& message_id,
                                                             std::chrono::milliseconds patience) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = patience.count();
    if (!message_id.empty()) options.MsgId = message_id.c_str();
    jsPubAck* answer = nullptr;
    const natsStatus status = js_Publish(&answer, library_->stream, subject.c_str(), payload.data(),
                                         static_cast<int>(payload.size()), &options, nullptr);
    if (status != NATS_OK) return std::nullopt;
    const Acknowledgement acknowledgement{answer->Sequence, answer->Duplicate};
    jsPubAck_Destroy(answer);
    return acknowledgement;
}

void BusClient::say(const std::string& subject, std::string_view payload) {
    (void)natsConnection_Publish(library_->connection, subject.c_str(), payload.data(),
                                 static_cast<int>(payload.size()));
}

void BusClient::listen(const std::string& subject, Listener listener) {
    Library& l = *library_;
    l.listeners.push_back(std::move(listener));
    natsSubscription* subscription = nullptr;
    must(natsConnection_Subscribe(&subscription, l.connection, subject.c_str(), hand_over, &l.listeners.back()),
         "subscribe");
    l.subscriptions.push_back(subscription);
    must(natsSubscription_SetPendingLimits(subscription, -1, -1), "limits");
}

void BusClient::read(const std::string& stream, const std::string& subject,
                     const std::function<void(const Stored&)>& taken) {
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Ordered = true;
    options.Stream = stream.c_str();
    natsSubscription* subscription = nullptr;
    must(js_SubscribeSync(&subscription, library_->stream, subject.c_str(), nullptr, &options, nullptr),
         "read " + stream);
    const std::unique_ptr<natsSubscription, decltype(&natsSubscription_Destroy)> held(subscription,
                                                                                      &natsSubscription_Destroy);
    must(natsSubscription_SetPendingLimits(subscription, -1, -1), "limits");
    bool first = true;
    for (std::uint64_t pending = 1; pending > 0; first = false) {
        natsMsg* message = nullptr;
        const natsStatus status =
            natsSubscription_NextMsg(&message, subscription, first ? kFirstPatienceMs : kReadPatienceMs);
        if (first && status == NATS_TIMEOUT) return;
        must(status, fmt::format("read {} of {}", subject, stream));
        const std::unique_ptr<natsMsg, decltype(&natsMsg_Destroy)> owned(message, &natsMsg_Destroy);
        jsMsgMetaData* about = nullptr;
        must(natsMsg_GetMetaData(&about, message), "a message's data");
        pending = about->NumPending;
        const Stored stored{natsMsg_GetSubject(message), std::string(payload_of(message)), about->Sequence.Stream,
                            Moment(std::chrono::floor<Span>(std::chrono::nanoseconds(about->Timestamp)))};
        jsMsgMetaData_Destroy(about);
        taken(stored);
    }
}

std::optional<Consumer> BusClient::consumer(const std::string& stream, const std::string& name) {
    jsConsumerInfo* info = nullptr;
    if (js_GetConsumerInfo(&info, library_->stream, stream.c_str(), name.c_str(), nullptr, nullptr) != NATS_OK)
        return std::nullopt;
    const Consumer consumer{name, info->NumPending, static_cast<std::uint64_t>(info->NumAckPending)};
    jsConsumerInfo_Destroy(info);
    return consumer;
}

std::optional<BusClient::Peers> BusClient::peers(const std::string& stream) {
    jsStreamInfo* found = nullptr;
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = kInfoPatienceMs;
    if (js_GetStreamInfo(&found, library_->stream, stream.c_str(), &options, nullptr) != NATS_OK) return std::nullopt;
    const std::unique_ptr<jsStreamInfo, decltype(&jsStreamInfo_Destroy)> info(found, &jsStreamInfo_Destroy);
    if (info->Cluster == nullptr || info->Cluster->Leader == nullptr) return Peers{};
    Peers peers{info->Cluster->Leader, 0};
    for (int i = 0; i < info->Cluster->ReplicasLen; ++i) peers.current += info->Cluster->Replicas[i]->Current ? 1 : 0;
    return peers;
}

}  // namespace lockstep::prod::ordeal
