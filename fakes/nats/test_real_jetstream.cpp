#include "fakes/nats/test_real_jetstream.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace lockstep::fakes {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kCallMs = 10'000;

void check(natsStatus status, const char* call) {
    if (status != NATS_OK) throw std::runtime_error(fmt::format("{}: {}", call, natsStatus_GetText(status)));
}

/// Token `index` of "$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>".
std::uint64_t number_in(std::string_view reply, int index) {
    while (index-- > 0) reply.remove_prefix(reply.find('.') + 1);
    std::uint64_t value = 0;
    std::from_chars(reply.data(), reply.data() + reply.size(), value);
    return value;
}

}  // namespace

RealJetStream::RealJetStream(int port, const StreamConfig& stream, const ConsumerConfig& consumer)
    : stream_(stream.name),
      consumer_(consumer.name),
      deliver_subject_("deliver." + stream.name),
      deliver_group_(consumer.deliver_group) {
    natsOptions* options = nullptr;
    check(natsOptions_Create(&options), "options");
    natsOptions_SetURL(options, fmt::format("nats://127.0.0.1:{}", port).c_str());
    natsOptions_SetMaxReconnect(options, -1);
    natsOptions_SetReconnectWait(options, 20);
    natsOptions_SetReconnectJitter(options, 1, 1);
    const natsStatus connected = natsConnection_Connect(&connection_, options);
    natsOptions_Destroy(options);
    check(connected, "connect");
    check(natsConnection_JetStream(&jetstream_, connection_, nullptr), "jetstream");

    std::vector<const char*> subjects;
    for (const std::string& subject : stream.subjects) subjects.push_back(subject.c_str());
    jsStreamConfig stream_config;
    jsStreamConfig_Init(&stream_config);
    stream_config.Name = stream.name.c_str();
    stream_config.Subjects = subjects.data();
    stream_config.SubjectsLen = static_cast<int>(subjects.size());
    stream_config.Duplicates = stream.duplicate_window.count();
    stream_config.Discard = js_DiscardNew;
    if (stream.max_messages != 0) stream_config.MaxMsgs = static_cast<std::int64_t>(stream.max_messages);
    check(js_AddStream(nullptr, jetstream_, &stream_config, nullptr, nullptr), "add stream");

    jsConsumerConfig consumer_config;
    jsConsumerConfig_Init(&consumer_config);
    consumer_config.Durable = consumer.name.c_str();
    consumer_config.DeliverSubject = deliver_subject_.c_str();
    consumer_config.DeliverGroup = consumer.deliver_group.c_str();
    consumer_config.FilterSubject = consumer.filter_subject.c_str();
    consumer_config.AckPolicy = js_AckExplicit;
    consumer_config.AckWait = consumer.ack_wait.count();
    if (consumer.max_deliver > 0) consumer_config.MaxDeliver = consumer.max_deliver;
    consumer_config.MaxAckPending = consumer.max_ack_pending;
    check(js_AddConsumer(nullptr, jetstream_, stream_.c_str(), &consumer_config, nullptr, nullptr), "add consumer");
}

RealJetStream::~RealJetStream() {
    for (natsSubscription* member : members_) natsSubscription_Destroy(member);
    if (jetstream_ != nullptr) js_DeleteStream(jetstream_, stream_.c_str(), nullptr, nullptr);
    jsCtx_Destroy(jetstream_);
    natsConnection_Destroy(connection_);
}

RealJetStream::Ack RealJetStream::publish(const std::string& subject, const std::string& payload,
                                          const std::string& message_id) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = kCallMs;
    if (!message_id.empty()) options.MsgId = message_id.c_str();
    jsPubAck* acknowledged = nullptr;
    jsErrCode code{};
    const natsStatus status = js_Publish(&acknowledged, jetstream_, subject.c_str(), payload.data(),
                                         static_cast<int>(payload.size()), &options, &code);
    if (status != NATS_OK) {
        if (status == NATS_NO_RESPONDERS) return Ack{.error = "no responders"};
        if (code == 0) check(status, "publish");
        // The client library puts its own place in front: "(file.c:123): text".
        const std::string_view text = nats_GetLastError(nullptr);
        const auto place = text.find("): ");
        return Ack{.error = std::string(place == std::string_view::npos ? text : text.substr(place + 3))};
    }
    const Ack ack{acknowledged->Sequence, acknowledged->Duplicate, {}};
    jsPubAck_Destroy(acknowledged);
    return ack;
}

std::optional<RealJetStream::Found> RealJetStream::find(const std::string& subject, std::uint64_t from) {
    const nlohmann::json ask{{"next_by_subj", subject}, {"seq", from}};
    natsMsg* answer = nullptr;
    check(natsConnection_RequestString(&answer, connection_, ("$JS.API.STREAM.MSG.GET." + stream_).c_str(),
                                       ask.dump().c_str(), kCallMs),
          "get message");
    const auto parsed = nlohmann::json::parse(
        std::string_view(natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer))));
    natsMsg_Destroy(answer);
    if (!parsed.contains("message")) return std::nullopt;
    Found found{.sequence = parsed["message"]["seq"].get<std::uint64_t>()};
    // The binary parts come as base64, which the client library can read.
    natsMsg* message = nullptr;
    check(js_GetMsg(&message, jetstream_, stream_.c_str(), found.sequence, nullptr, nullptr), "get message");
    found.payload.assign(natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message)));
    const char* id = nullptr;
    if (natsMsgHeader_Get(message, "Nats-Msg-Id", &id) == NATS_OK) found.message_id = id;
    natsMsg_Destroy(message);
    return found;
}

ConsumerModel::Counters RealJetStream::counters() {
    jsConsumerInfo* info = nullptr;
    check(js_GetConsumerInfo(&info, jetstream_, stream_.c_str(), consumer_.c_str(), nullptr, nullptr), "consumer info");
    const ConsumerModel::Counters counters{static_cast<std::uint64_t>(info->NumAckPending),
                                           static_cast<std::uint64_t>(info->NumRedelivered),
                                           info->Delivered.Consumer,
                                           info->AckFloor.Consumer,
                                           info->AckFloor.Stream,
                                           info->NumPending};
    jsConsumerInfo_Destroy(info);
    return counters;
}

std::uint64_t RealJetStream::last_sequence() {
    jsStreamInfo* info = nullptr;
    check(js_GetStreamInfo(&info, jetstream_, stream_.c_str(), nullptr, nullptr), "stream info");
    const std::uint64_t last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    return last;
}

void RealJetStream::answer(const RealDelivery& delivery, const DeliveryAnswer& answer) {
    std::string word = "+ACK";
    if (answer.kind == EventKind::term) word = "+TERM";
    if (answer.kind == EventKind::in_progress) word = "+WPI";
    if (answer.kind == EventKind::nak) word = "-NAK";
    if (answer.delay > engine::Duration::zero()) word += fmt::format(" {{\"delay\": {}}}", answer.delay.count());
    // As a request: the server answers it once it has taken the answer up, which it does in a thread of its own. A flush
    // would only say that the answer has been read.
    natsMsg* taken_up = nullptr;
    check(natsConnection_RequestString(&taken_up, connection_, delivery.reply.c_str(), word.c_str(), kCallMs),
          "answer");
    natsMsg_Destroy(taken_up);
}

void RealJetStream::join() {
    natsSubscription* member = nullptr;
    check(natsConnection_QueueSubscribeSync(&member, connection_, deliver_subject_.c_str(), deliver_group_.c_str()),
          "subscribe");
    members_.push_back(member);
    flush();
}

void RealJetStream::leave() {
    natsSubscription_Destroy(members_.back());
    members_.pop_back();
    flush();
}

const std::vector<RealDelivery>& RealJetStream::delivered(std::size_t count, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    const auto before = static_cast<std::ptrdiff_t>(delivered_.size());
    while (!members_.empty()) {
        const bool enough = delivered_.size() >= count;
        // Waiting for one of two, a moment each; what has arrived is taken from both.
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        const auto turn = enough ? 0ms : std::clamp(left, 0ms, members_.size() > 1 ? 2ms : patience);
        bool any = false;
        for (natsSubscription* member : members_) any |= take_from(member, turn.count());
        if (!any && (enough || left <= 0ms)) break;
    }
    if (members_.size() > 1) {
        std::sort(delivered_.begin() + before, delivered_.end(), [](const RealDelivery& a, const RealDelivery& b) {
            return a.receipt.delivery_sequence < b.receipt.delivery_sequence;
        });
    }
    return delivered_;
}

bool RealJetStream::take_from(natsSubscription* member, std::int64_t patience_ms) {
    natsMsg* message = nullptr;
    if (natsSubscription_NextMsg(&message, member, patience_ms) != NATS_OK) return false;
    const std::string reply = natsMsg_GetReply(message);
    const std::string payload(natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message)));
    natsMsg_Destroy(message);
    const auto times = static_cast<int>(number_in(reply, 4));
    delivered_.push_back({{number_in(reply, 5), number_in(reply, 6), times}, payload, reply});
    return true;
}

void RealJetStream::reconnected() {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (natsConnection_FlushTimeout(connection_, 500) != NATS_OK) {
        if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the server has not come back");
        std::this_thread::sleep_for(5ms);
    }
}

void RealJetStream::flush() { check(natsConnection_FlushTimeout(connection_, kCallMs), "flush"); }

}  // namespace lockstep::fakes
