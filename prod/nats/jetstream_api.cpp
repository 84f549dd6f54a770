#include "prod/nats/jetstream_api.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/config/tunables.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::prod::jetstream {

namespace {

using nlohmann::json;

/// A member of whatever type, read as the type of `otherwise`; that where it is missing or of another type. Whoever hears our
/// inbox's name can answer, so nothing may be taken for granted.
template <class T>
T member_or(const json& object, const char* key, T otherwise) {
    const auto found = object.find(key);
    if (found == object.end()) return otherwise;
    if constexpr (std::is_same_v<T, bool>)
        return found->is_boolean() ? found->get<bool>() : otherwise;
    else if constexpr (std::is_same_v<T, std::string>)
        return found->is_string() ? found->get<std::string>() : otherwise;
    else if constexpr (std::is_unsigned_v<T>)
        return found->is_number_unsigned() ? found->get<T>() : otherwise;
    else
        return found->is_number_integer() ? found->get<T>() : otherwise;
}

json object_or_empty(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_object() ? *found : json::object();
}

Answer<json> parse(std::string_view text) {
    json document = engine::wire::parse_bounded(text);
    if (!document.is_object())
        return tl::make_unexpected(ApiError{0, 0, fmt::format("not a JSON answer: {:.80}", text)});
    if (const auto error = document.find("error"); error != document.end() && error->is_object()) {
        return tl::make_unexpected(ApiError{member_or(*error, "code", 0), member_or(*error, "err_code", 0),
                                            member_or(*error, "description", std::string("no description"))});
    }
    return document;
}

std::string base64_decode(const std::string& text) {
    std::string out(text.size() / 4 * 3 + 3, '\0');
    const int length =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (length < 0) return {};
    // EVP_DecodeBlock counts the padding as zero bytes.
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    out.resize(static_cast<std::size_t>(length) - padding);
    return out;
}

/// The value of `Nats-Msg-Id` in a block of headers ("NATS/1.0\r\nName: value\r\n…").
std::string message_id_in(std::string_view headers) {
    constexpr std::string_view kName = "\r\nNats-Msg-Id:";
    const auto at = headers.find(kName);
    if (at == std::string_view::npos) return {};
    std::string_view value = headers.substr(at + kName.size());
    value = value.substr(0, value.find("\r\n"));
    while (value.starts_with(' ')) value.remove_prefix(1);
    return std::string(value);
}

/// In the description of a durable, in front of the id of the deployment that reads it: nats-server has metadata for that only since
/// 2.10. What else the description says is an operator's.
constexpr std::string_view kDeploymentMark = "lockstep-deployment=";

/// The description with that deployment in the place of the one that it names, or at its end.
std::string described(std::string description, std::string_view deployment) {
    if (const auto at = description.find(kDeploymentMark); at != std::string::npos) {
        const auto id = at + kDeploymentMark.size();
        return description.replace(id, std::min(description.find(' ', id), description.size()) - id, deployment);
    }
    if (!description.empty()) description += ' ';
    return description.append(kDeploymentMark).append(deployment);
}

/// The epoch where the text is no time, as where a server has none to tell.
engine::WallTime time_or_epoch(const std::string& text) {
    return engine::wire::parse_rfc3339(text).value_or(engine::WallTime{});
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

std::string deployment_in(std::string_view description) {
    const auto at = description.find(kDeploymentMark);
    if (at == std::string_view::npos) return {};
    description.remove_prefix(at + kDeploymentMark.size());
    return std::string(description.substr(0, description.find(' ')));
}

Answer<engine::PublishAck> parse_publish_ack(std::string_view text) {
    auto document = parse(text);
    if (!document) return tl::make_unexpected(document.error());
    std::string stream = member_or(*document, "stream", std::string());
    const auto sequence = member_or(*document, "seq", std::uint64_t{0});
    if (stream.empty() || sequence == 0)
        return tl::make_unexpected(ApiError{0, 0, "an acknowledgement without a stream and a sequence"});
    return engine::PublishAck{std::move(stream), engine::StreamSequence(sequence),
                              member_or(*document, "duplicate", false), 0};
}

std::string stream_create(const StreamSpec& spec) {
    return engine::wire::json_text(json{{"name", spec.name},
                                        {"subjects", spec.subjects},
                                        {"retention", "limits"},
                                        {"storage", "file"},
                                        {"discard", "old"},
                                        {"max_consumers", -1},
                                        {"max_msgs", -1},
                                        {"max_bytes", -1},
                                        {"max_age", spec.max_age.count()},
                                        {"num_replicas", spec.replicas},
                                        {"duplicate_window", engine::kDuplicateWindow.count()}});
}

Answer<void> parse_status(std::string_view text) {
    auto document = parse(text);
    if (!document) return tl::make_unexpected(document.error());
    return {};
}

Answer<std::uint64_t> parse_message_limit(std::string_view info) {
    auto document = parse(info);
    if (!document) return tl::make_unexpected(document.error());
    const auto config = document->find("config");
    if (config == document->end() || !config->is_object())
        return tl::make_unexpected(ApiError{0, 0, "a stream description without its settings"});
    const auto limit = member_or(*config, "max_msg_size", std::int64_t{-1});
    return limit > 0 ? static_cast<std::uint64_t>(limit) : 0;
}

Answer<std::string> stream_update(std::string_view info, std::uint64_t message_limit) {
    auto document = parse(info);
    if (!document) return tl::make_unexpected(document.error());
    json config = object_or_empty(*document, "config");
    if (config.empty()) return tl::make_unexpected(ApiError{0, 0, "a stream description without its settings"});
    config["max_msg_size"] = message_limit;
    return engine::wire::json_text(config);
}

Answer<engine::StreamState> parse_stream_state(std::string_view text) {
    auto document = parse(text);
    if (!document) return tl::make_unexpected(document.error());
    const auto state = document->find("state");
    if (state == document->end() || !state->is_object())
        return tl::make_unexpected(ApiError{0, 0, "a stream description without its state"});
    const auto last = state->find("last_seq");
    if (last == state->end() || !last->is_number_unsigned())
        return tl::make_unexpected(ApiError{0, 0, "a stream description without its last sequence"});
    const json config = object_or_empty(*document, "config");
    const auto limits = [&config](const char* name) { return member_or(config, name, std::int64_t{-1}) > 0; };
    return engine::StreamState{engine::StreamSequence(member_or(*state, "first_seq", std::uint64_t{0})),
                               engine::StreamSequence(last->get<std::uint64_t>()),
                               time_or_epoch(member_or(*document, "created", std::string())),
                               limits("max_msgs") || limits("max_bytes") || limits("max_msgs_per_subject"),
                               !object_or_empty(*document, "cluster").empty()};
}

Answer<std::optional<engine::ConsumerState>> parse_consumer_state(std::string_view text) {
    auto document = parse(text);
    if (!document) {
        if (document.error().code == kNotFound && document.error().err_code != kErrStreamNotFound)
            return std::optional<engine::ConsumerState>();
        return tl::make_unexpected(document.error());
    }
    const auto waiting = document->find("num_pending");
    const auto in_hand = document->find("num_ack_pending");
    const json floor = object_or_empty(*document, "ack_floor");
    const auto sequence = floor.find("stream_seq");
    for (const auto& number : {waiting, in_hand}) {
        if (number == document->end() || !number->is_number_unsigned())
            return tl::make_unexpected(ApiError{0, 0, "a consumer description without its counts"});
    }
    if (sequence == floor.end() || !sequence->is_number_unsigned())
        return tl::make_unexpected(ApiError{0, 0, "a consumer description without its floor"});
    const json cluster = object_or_empty(*document, "cluster");
    return std::optional(engine::ConsumerState{
        waiting->get<std::uint64_t>(), in_hand->get<std::uint64_t>(),
        engine::StreamSequence(sequence->get<std::uint64_t>()), member_or(cluster, "leader", std::string()),
        deployment_in(member_or(object_or_empty(*document, "config"), "description", std::string()))});
}

std::string next_by_subject(std::string_view subject, std::uint64_t from_sequence) {
    return engine::wire::json_text(json{{"seq", std::max<std::uint64_t>(from_sequence, 1)}, {"next_by_subj", subject}});
}

std::string by_sequence(std::uint64_t sequence) { return engine::wire::json_text(json{{"seq", sequence}}); }

Answer<std::optional<engine::StoredMessage>> parse_stored_message(std::string_view text) {
    auto document = parse(text);
    if (!document) {
        if (document.error().err_code == kErrNoMessage) return std::optional<engine::StoredMessage>();
        return tl::make_unexpected(document.error());
    }
    const auto message = document->find("message");
    if (message == document->end() || !message->is_object())
        return tl::make_unexpected(ApiError{0, 0, "an answer without the message"});
    const auto sequence = member_or(*message, "seq", std::uint64_t{0});
    if (sequence == 0) return tl::make_unexpected(ApiError{0, 0, "an answer without the message's sequence"});
    return std::optional(engine::StoredMessage{
        engine::StreamSequence(sequence), message_id_in(base64_decode(member_or(*message, "hdrs", std::string()))),
        base64_decode(member_or(*message, "data", std::string())), member_or(*message, "subject", std::string()),
        time_or_epoch(member_or(*message, "time", std::string()))});
}

std::string deliver_subject_of(std::string_view durable) {
    // Below the inbox prefix, which every NATS user is normally allowed to subscribe to.
    return fmt::format("_INBOX.lockstep.{}", durable);
}

std::string consumer_create(const engine::ConsumerSpec& spec) {
    json config{{"durable_name", spec.durable},    {"deliver_subject", deliver_subject_of(spec.durable)},
                {"deliver_group", spec.queue},     {"deliver_policy", "all"},
                {"ack_policy", "explicit"},        {"ack_wait", spec.ack_wait.count()},
                {"max_deliver", spec.max_deliver}, {"filter_subject", spec.subject},
                {"replay_policy", "instant"},      {"max_ack_pending", spec.max_ack_pending}};
    if (spec.rate_limit_bps > 0) config["rate_limit_bps"] = spec.rate_limit_bps;
    if (!spec.deployment.empty()) config["description"] = described({}, spec.deployment);
    return engine::wire::json_text(json{{"stream_name", spec.stream}, {"config", config}});
}

Answer<std::string> consumer_update(std::string_view info, const ConsumerChange& change) {
    auto document = parse(info);
    if (!document) return tl::make_unexpected(document.error());
    json config = object_or_empty(*document, "config");
    std::string stream = member_or(*document, "stream_name", std::string());
    if (config.empty() || stream.empty())
        return tl::make_unexpected(ApiError{0, 0, "a consumer description without its configuration"});
    if (change.ack_wait) config["ack_wait"] = change.ack_wait->count();
    if (change.max_deliver) config["max_deliver"] = *change.max_deliver;
    if (change.max_ack_pending) config["max_ack_pending"] = *change.max_ack_pending;
    if (change.rate_limit_bps) config["rate_limit_bps"] = *change.rate_limit_bps;
    if (!change.deployment.empty())
        config["description"] = described(member_or(config, "description", std::string()), change.deployment);
    return engine::wire::json_text(json{{"stream_name", std::move(stream)}, {"config", std::move(config)}});
}

Answer<std::string> parse_difference(std::string_view info, const ConsumerChange& change) {
    auto document = parse(info);
    if (!document) return tl::make_unexpected(document.error());
    const json config = object_or_empty(*document, "config");
    std::string difference;
    const auto differs = [&difference](std::string_view what, const std::string& has, const std::string& want) {
        if (has != want) difference += fmt::format("{}{} {} -> {}", difference.empty() ? "" : ", ", what, has, want);
    };
    const auto span = [](std::int64_t nanos) { return engine::format_duration(engine::Duration(nanos)); };
    if (change.ack_wait)
        differs("ack_wait", span(member_or(config, "ack_wait", std::int64_t{0})), span(change.ack_wait->count()));
    const auto number = [&](const char* key, const auto& wanted) {
        if (wanted)
            differs(key, fmt::format("{}", member_or(config, key, std::int64_t{0})), fmt::format("{}", *wanted));
    };
    number("max_deliver", change.max_deliver);
    number("max_ack_pending", change.max_ack_pending);
    number("rate_limit_bps", change.rate_limit_bps);
    if (!change.deployment.empty()) {
        const std::string owner = deployment_in(member_or(config, "description", std::string()));
        differs("deployment", owner.empty() ? "none" : owner, change.deployment);
    }
    return difference;
}

Answer<ConsumerBinding> parse_consumer(std::string_view text, const engine::ConsumerSpec& wanted) {
    auto document = parse(text);
    if (!document) return tl::make_unexpected(document.error());
    const json config = object_or_empty(*document, "config");
    ConsumerBinding binding{member_or(config, "deliver_subject", std::string()),
                            member_or(config, "deliver_group", std::string()),
                            member_or(config, "rate_limit_bps", std::int64_t{0}),
                            {},
                            deployment_in(member_or(config, "description", std::string()))};
    const auto differs = [&](std::string_view what, const std::string& has, const std::string& want) {
        if (has == want) return;
        binding.difference += fmt::format("{}{} is {}, wanted {}", binding.difference.empty() ? "" : "; ", what,
                                          has.empty() ? "unset" : has, want);
    };
    differs("deliver_group", binding.deliver_group, wanted.queue);
    differs("filter_subject", member_or(config, "filter_subject", std::string()), wanted.subject);
    differs("ack_policy", member_or(config, "ack_policy", std::string()), "explicit");
    differs("ack_wait", engine::format_duration(engine::Duration(member_or(config, "ack_wait", std::int64_t{0}))),
            engine::format_duration(wanted.ack_wait));
    differs("max_deliver", fmt::format("{}", member_or(config, "max_deliver", 0)),
            fmt::format("{}", wanted.max_deliver));
    differs("max_ack_pending", fmt::format("{}", member_or(config, "max_ack_pending", 0)),
            fmt::format("{}", wanted.max_ack_pending));
    if (binding.deliver_subject.empty()) differs("deliver_subject", "", "a subject (it is a pull consumer)");
    return binding;
}

std::optional<DeliveryInfo> parse_ack_subject(std::string_view reply) {
    constexpr std::string_view kPrefix = "$JS.ACK.";
    if (!reply.starts_with(kPrefix)) return std::nullopt;
    // $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>
    // $JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>[.<more>]
    std::array<std::string_view, 12> tokens;
    std::size_t count = 0;
    std::string_view rest = reply.substr(kPrefix.size());
    while (count < tokens.size()) {
        const auto dot = rest.find('.');
        tokens[count++] = rest.substr(0, dot);
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
    }
    std::size_t first = 0;
    if (count >= 9)
        first = 2;
    else if (count != 7)
        return std::nullopt;
    const auto delivered = number(tokens[first + 2]);
    const auto sequence = number(tokens[first + 3]);
    const auto stored_at = number(tokens[first + 5]);
    if (!delivered || !sequence) return std::nullopt;
    const std::chrono::nanoseconds since_epoch(static_cast<std::int64_t>(stored_at.value_or(0)));
    return DeliveryInfo{tokens[first], *delivered, *sequence, engine::WallTime(since_epoch)};
}

Answer<HandedOut> parse_handed_out(std::string_view text) {
    auto document = parse(text);
    if (!document) return tl::make_unexpected(document.error());
    const json delivered = object_or_empty(*document, "delivered");
    return HandedOut{member_or(delivered, "stream_seq", std::uint64_t{0}),
                     member_or(delivered, "consumer_seq", std::uint64_t{0}), member_or(*document, "push_bound", false)};
}

std::string ack_subject(std::string_view stream, std::string_view durable, std::uint64_t sequence,
                        std::uint64_t delivery) {
    return fmt::format("$JS.ACK.{}.{}.1.{}.{}.0.0", stream, durable, sequence, delivery);
}

std::string nak_body(engine::Duration delay) {
    if (delay.count() <= 0) return "-NAK";
    return fmt::format("-NAK {{\"delay\": {}}}", delay.count());
}

}  // namespace lockstep::prod::jetstream
