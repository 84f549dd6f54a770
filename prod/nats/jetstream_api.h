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

struct ConsumerBinding {
    std::string deliver_subject;
    std::string deliver_group;
    std::string difference;  // how it differs from what is wanted; empty when it does not
};
/// Reads the answer to CONSUMER.INFO or to a creation and compares it with `wanted`.
[[nodiscard]] Answer<ConsumerBinding> parse_consumer(std::string_view text, const engine::ConsumerSpec& wanted);

/// What a delivery's reply subject says: `$JS.ACK.` and 7 tokens, or 9 and more since servers know domains.
struct DeliveryInfo {
    std::string_view stream;
    std::uint64_t delivered = 0;
    std::uint64_t sequence = 0;
};
[[nodiscard]] std::optional<DeliveryInfo> parse_ack_subject(std::string_view reply);

/// The bodies of a negative acknowledgement.
[[nodiscard]] std::string nak_body(engine::Duration delay);

}  // namespace lockstep::prod::jetstream
