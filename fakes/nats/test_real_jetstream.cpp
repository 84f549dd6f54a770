#include "fakes/nats/test_real_jetstream.h"

#include <fmt/core.h>

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
    : stream_(stream.name), deliver_subject_("deliver." + stream.name), deliver_group_(consumer.deliver_group) {
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
    natsSubscription_Destroy(member_);
    if (jetstream_ != nullptr) js_DeleteStream(jetstream_, stream_.c_str(), nullptr, nullptr);
    jsCtx_Destroy(jetstream_);
    natsConnection_Destroy(connection_);
}

RealJetStream::Ack RealJetStream::publish(const std::string& subject, const std::string& message_id) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = kCallMs;
    if (!message_id.empty()) options.MsgId = message_id.c_str();
    jsPubAck* acknowledged = nullptr;
    jsErrCode code{};
    const natsStatus status = js_Publish(&acknowledged, jetstream_, subject.c_str(), "p", 1, &options, &code);
    if (status != NATS_OK) {
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

std::optional<std::uint64_t> RealJetStream::find(const std::string& subject, std::uint64_t from) {
    const nlohmann::json ask{{"next_by_subj", subject}, {"seq", from}};
    natsMsg* answer = nullptr;
    check(natsConnection_RequestString(&answer, connection_, ("$JS.API.STREAM.MSG.GET." + stream_).c_str(),
                                       ask.dump().c_str(), kCallMs),
          "get message");
    const auto parsed = nlohmann::json::parse(
        std::string_view(natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer))));
    natsMsg_Destroy(answer);
    if (!parsed.contains("message")) return std::nullopt;
    return parsed["message"]["seq"].get<std::uint64_t>();
}

std::uint64_t RealJetStream::last_sequence() {
    jsStreamInfo* info = nullptr;
    check(js_GetStreamInfo(&info, jetstream_, stream_.c_str(), nullptr, nullptr), "stream info");
    const std::uint64_t last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    return last;
}

void RealJetStream::answer(const RealDelivery& delivery, const std::string& word) {
    check(natsConnection_PublishString(connection_, delivery.reply.c_str(), word.c_str()), "answer");
    flush();
}

void RealJetStream::nak_later(const RealDelivery& delivery, std::chrono::milliseconds delay) {
    answer(delivery, fmt::format("-NAK {{\"delay\": {}}}", std::chrono::nanoseconds(delay).count()));
}

void RealJetStream::join() {
    check(natsConnection_QueueSubscribeSync(&member_, connection_, deliver_subject_.c_str(), deliver_group_.c_str()),
          "subscribe");
    flush();
}

void RealJetStream::leave() {
    natsSubscription_Destroy(member_);
    member_ = nullptr;
    flush();
}

const std::vector<RealDelivery>& RealJetStream::delivered(std::size_t count, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (member_ != nullptr) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        natsMsg* message = nullptr;
        const bool enough = delivered_.size() >= count;
        const natsStatus status = natsSubscription_NextMsg(&message, member_, enough ? 0 : std::max(left, 0ms).count());
        if (status != NATS_OK) {
            if (enough || left <= 0ms) break;
            continue;
        }
        const std::string reply = natsMsg_GetReply(message);
        natsMsg_Destroy(message);
        const auto times = static_cast<int>(number_in(reply, 4));
        delivered_.push_back({{number_in(reply, 5), number_in(reply, 6), times}, reply});
    }
    return delivered_;
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
