// The JetStream API as text: what is asked and what the answers say. Pure functions over JSON; no connection in here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/bus.h"

namespace lockstep::prod::jetstream {

/// An `error` member of an answer, or an answer that is no JSON (code 0).
struct ApiError {
    int code = 0;      // as in HTTP
    int err_code = 0;  // the server's own number
    std::string description;
};
template <class T>
using Answer = tl::expected<T, ApiError>;

inline constexpr int kNotFound = 404;
inline constexpr int kUnavailable = 503;
inline constexpr int kErrNoPeers = 10005;  // too few servers for the replicas that a stream is to have
inline constexpr int kErrNoMessage = 10037;
inline constexpr int kErrStreamNotFound = 10059;

[[nodiscard]] Answer<engine::PublishAck> parse_publish_ack(std::string_view text);

struct StreamSpec {
    std::string name;
    std::vector<std::string> subjects;
    engine::Duration max_age{};
    int replicas = 1;
};
[[nodiscard]] std::string stream_create(const StreamSpec& spec);
/// Also says whether an answer without content, such as that of $JS.API.INFO, is an error.
[[nodiscard]] Answer<void> parse_status(std::string_view text);
/// The bytes of the largest message that the stream takes, as STREAM.INFO says; 0 = no limit of its own.
[[nodiscard]] Answer<std::uint64_t> parse_message_limit(std::string_view info);
/// What STREAM.UPDATE is asked for: the stream of `info` with another limit, and nothing else changed.
[[nodiscard]] Answer<std::string> stream_update(std::string_view info, std::uint64_t message_limit);
[[nodiscard]] Answer<engine::StreamState> parse_stream_state(std::string_view text);
/// Nothing when there is no such consumer.
[[nodiscard]] Answer<std::optional<engine::ConsumerState>> parse_consumer_state(std::string_view text);

/// `subject` may be a pattern.
[[nodiscard]] std::string next_by_subject(std::string_view subject, std::uint64_t from_sequence);
[[nodiscard]] std::string by_sequence(std::uint64_t sequence);
/// Nothing when the stream holds no such message.
[[nodiscard]] Answer<std::optional<engine::StoredMessage>> parse_stored_message(std::string_view text);

/// `deliver_subject` is fixed per durable, so that every replica that creates it asks for the same consumer.
[[nodiscard]] std::string deliver_subject_of(std::string_view durable);
[[nodiscard]] std::string consumer_create(const engine::ConsumerSpec& spec);

/// What of a durable is changed in place; the rest stays as it is.
struct ConsumerChange {
    std::optional<engine::Duration> ack_wait;
    std::optional<int> max_deliver;
    std::optional<int> max_ack_pending;
    std::optional<std::int64_t> rate_limit_bps;
    std::string deployment{};  // named by the description instead of another one; empty: it stays
};
/// The request that changes the durable which `info` (the answer to CONSUMER.INFO) describes. It repeats the durable's own
/// configuration, members that we do not know included: the server takes what is left out for its default, and refuses it
/// or changes it. It is sent where consumers are created; messages in hand and positions stay.
[[nodiscard]] Answer<std::string> consumer_update(std::string_view info, const ConsumerChange& change);
/// How a durable differs from what `change` makes of it; empty when it does not.
[[nodiscard]] Answer<std::string> parse_difference(std::string_view info, const ConsumerChange& change);

struct ConsumerBinding {
    std::string deliver_subject;
    std::string deliver_group;
    std::int64_t rate_limit_bps = 0;  // 0: none
    std::string difference;           // how it differs from what is wanted; empty when it does not
    std::string deployment;           // the one that the description names; empty where it names none
};

/// The id behind `lockstep-deployment=` in a description; empty where there is none.
[[nodiscard]] std::string deployment_in(std::string_view description);
/// Reads the answer to CONSUMER.INFO or to a creation and compares it with `wanted`.
[[nodiscard]] Answer<ConsumerBinding> parse_consumer(std::string_view text, const engine::ConsumerSpec& wanted);

/// What a delivery's reply subject says: `$JS.ACK.` and 7 tokens, or 9 and more since servers know domains.
struct DeliveryInfo {
    std::string_view stream;
    std::uint64_t delivered = 0;
    std::uint64_t sequence = 0;
    engine::WallTime stored_at{};  // by the server's clock
};
[[nodiscard]] std::optional<DeliveryInfo> parse_ack_subject(std::string_view reply);

/// How far a push consumer has come with handing out.
struct HandedOut {
    std::uint64_t stream_sequence = 0;    // of the last message
    std::uint64_t consumer_sequence = 0;  // the number of that delivery
    bool bound = false;                   // somebody is subscribed
};
[[nodiscard]] Answer<HandedOut> parse_handed_out(std::string_view text);
/// Where an answer on that message goes whose delivery one has not seen. `delivery` is any number of a delivery that is
/// above the consumer's floor; the server compares no more.
[[nodiscard]] std::string ack_subject(std::string_view stream, std::string_view durable, std::uint64_t sequence,
                                      std::uint64_t delivery);

/// The bodies of a negative acknowledgement.
[[nodiscard]] std::string nak_body(engine::Duration delay);

}  // namespace lockstep::prod::jetstream
