// Which dead letters are meant by --topic, --tenant, --reason, --older-than and --newer-than, and where a page of them begins.
// Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::prod {

struct LetterFilter {
    std::string topic;   // empty: any
    std::string tenant;  // empty: any; the entry does not name it, its job's record does
    std::string reason;  // the code, such as timeout; empty: any
    std::optional<engine::Duration> older_than;
    std::optional<engine::Duration> newer_than;

    /// Whether it leaves anything out.
    [[nodiscard]] bool narrows() const;
};

/// `written_at` is the entry's score in its index, `now` by the clock of Redis; both in seconds since the epoch. The tenant is
/// empty where the job's record has expired: then no --tenant fits.
[[nodiscard]] bool fits(const LetterFilter& filter, const nlohmann::json& entry, const std::string& tenant,
                        std::int64_t written_at, std::int64_t now);

/// Where one page ends and the next begins: behind this entry, in the order of ZREVRANGE (newest first, then by id backwards).
struct LetterCursor {
    std::int64_t written_at = 0;
    std::string id;

    [[nodiscard]] bool before(std::int64_t other_written_at, std::string_view other_id) const;
};
/// SECONDS:ID, as it is printed below a page.
[[nodiscard]] std::string to_string(const LetterCursor& cursor);
/// Nothing for text of another form.
[[nodiscard]] std::optional<LetterCursor> parse_letter_cursor(std::string_view text);

}  // namespace lockstep::prod
