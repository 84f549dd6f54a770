// A dead letter: the record in the store and the packet on sys.job.dlq (redis-schema.md 4; wire.md 8.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// The reason code of a recorded compensation that cannot be read: such a letter is about no job.
inline constexpr std::string_view kSagaUnmarshalFailed = "saga_unmarshal_failed";
/// Of one that other tenants' rollbacks have come across for too long.
inline constexpr std::string_view kSagaEntryExpired = "saga_entry_expired";
/// Of a message that is no job's: its bytes are no packet, or it has come again until nobody tries it any more.
inline constexpr std::string_view kPoisonMessage = "poison_message";

/// Of a job or run whose handling never came back: lost_handlings.h.
inline constexpr std::string_view kHandlingLost = "handling_lost";

struct DeadLetter {
    std::string id;  // the job, or poison:<stream>:<sequence>, saga-unmarshal-<uuid>, saga-expired-<uuid> or run:<run>
    std::string topic;
    cap::JobStatus status{};
    std::string reason;
    std::string reason_code;
};

/// Messages of one subject whose bytes are no packet, buried since the last sum was told.
struct UndecodableSum {
    std::string name, value;  // as the store keeps it
    std::string stream, subject;
    std::uint64_t count = 0;
    StreamSequence first, last;  // the lowest and the highest sequence among them
};
/// Nothing when it is not one.
[[nodiscard]] std::optional<UndecodableSum> parse_undecodable_sum(std::string_view name, std::string_view value);
/// As it is told: `undecodable:<stream>:<subject>`, one entry for whoever lists what it hears.
[[nodiscard]] DeadLetter letter_of(const UndecodableSum& sum);

/// The entry as a JSON object without its closing brace: the script adds the last state and the attempts.
[[nodiscard]] std::string dead_letter_head(const DeadLetter& letter, WallTime created_at);
/// The packet that tells the bus. One about no job names none, and is traced by the letter's id (wire.md 2.2).
[[nodiscard]] cap::BusPacket dead_letter_packet(const DeadLetter& letter, WallTime created_at);
/// Reads a stored entry back; nothing when it is not one.
[[nodiscard]] std::optional<DeadLetter> parse_dead_letter(std::string_view entry_json);

}  // namespace lockstep::engine
