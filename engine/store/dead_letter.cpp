#include "engine/store/dead_letter.h"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/saga/compensation.h"
#include "engine/wire/error_codes.h"
#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine {

namespace {

/// Takes the next of the words that single spaces part; empty at the end.
std::string_view next_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

bool read_number(std::string_view word, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc{} && end == word.data() + word.size();
}

}  // namespace

std::string dead_letter_head(const DeadLetter& letter, WallTime created_at) {
    nlohmann::json entry{{"job_id", letter.id}, {"created_at", wire::rfc3339(created_at)}};
    if (!letter.topic.empty()) entry["topic"] = letter.topic;
    if (letter.status != cap::JOB_STATUS_UNSPECIFIED) entry["status"] = cap::JobStatus_Name(letter.status);
    if (!letter.reason.empty()) entry["reason"] = letter.reason;
    if (!letter.reason_code.empty()) entry["reason_code"] = letter.reason_code;
    std::string head = wire::json_text(entry);
    head.pop_back();
    return head;
}

cap::BusPacket dead_letter_packet(const DeadLetter& letter, WallTime created_at) {
    cap::JobResult result;
    const bool of_saga = letter.reason_code == kSagaUnmarshalFailed || letter.reason_code == kSagaEntryExpired;
    if (!of_saga) result.set_job_id(letter.id);
    result.set_status(letter.status);
    result.set_error_code(letter.reason_code);
    result.set_error_message(letter.reason);
    wire::fill_error_code(result);
    return wire::make_packet(std::move(result), letter.id, std::string(of_saga ? kSagaSender : wire::kSchedulerSender),
                             created_at);
}

std::optional<DeadLetter> parse_dead_letter(std::string_view entry_json) {
    const auto entry = wire::read_json(entry_json);
    if (!entry.is_object()) return std::nullopt;
    DeadLetter letter;
    letter.id = wire::text_member(entry, "job_id");
    letter.topic = wire::text_member(entry, "topic");
    letter.reason = wire::text_member(entry, "reason");
    letter.reason_code = wire::text_member(entry, "reason_code");
    cap::JobStatus_Parse(wire::text_member(entry, "status"), &letter.status);
    if (letter.id.empty()) return std::nullopt;
    return letter;
}

std::optional<UndecodableSum> parse_undecodable_sum(std::string_view name, std::string_view value) {
    UndecodableSum sum{.name = std::string(name), .value = std::string(value)};
    if (name.starts_with('>')) name.remove_prefix(1);
    sum.stream = next_word(name);
    sum.subject = next_word(name);
    std::uint64_t first = 0, last = 0;
    const bool counted = read_number(next_word(value), sum.count) && read_number(next_word(value), first) &&
                         read_number(next_word(value), last);
    if (!counted || sum.subject.empty() || sum.count == 0) return std::nullopt;
    sum.first = StreamSequence(first);
    sum.last = StreamSequence(last);
    return sum;
}

DeadLetter letter_of(const UndecodableSum& sum) {
    return {fmt::format("undecodable:{}:{}", sum.stream, sum.subject), sum.subject, cap::JOB_STATUS_FAILED,
            fmt::format("{} messages not decodable, from sequence {} to {} of {}", sum.count, sum.first, sum.last,
                        sum.stream),
            std::string(kPoisonMessage)};
}

}  // namespace lockstep::engine
