#include "prod/ctl/dead_letter_filter.h"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/runtime/span.h"

namespace lockstep::prod {

namespace {

bool says(const nlohmann::json& entry, const char* member, const std::string& wanted) {
    if (wanted.empty()) return true;
    const auto found = entry.find(member);
    return found != entry.end() && found->is_string() && found->get_ref<const std::string&>() == wanted;
}

}  // namespace

bool LetterFilter::narrows() const {
    return !topic.empty() || !tenant.empty() || !reason.empty() || older_than.has_value() || newer_than.has_value();
}

bool fits(const LetterFilter& filter, const nlohmann::json& entry, const std::string& tenant, std::int64_t written_at,
          std::int64_t now) {
    const auto age =
        engine::bounded(std::chrono::duration<double>(static_cast<double>(now) - static_cast<double>(written_at)));
    return entry.is_object() && says(entry, "topic", filter.topic) && says(entry, "reason_code", filter.reason) &&
           (filter.tenant.empty() || filter.tenant == tenant) && (!filter.older_than || age > *filter.older_than) &&
           (!filter.newer_than || age < *filter.newer_than);
}

bool LetterCursor::before(std::int64_t other_written_at, std::string_view other_id) const {
    return other_written_at < written_at || (other_written_at == written_at && other_id < id);
}

std::string to_string(const LetterCursor& cursor) { return fmt::format("{}:{}", cursor.written_at, cursor.id); }

std::optional<LetterCursor> parse_letter_cursor(std::string_view text) {
    LetterCursor cursor;
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + colon, cursor.written_at);
    if (error != std::errc{} || end != text.data() + colon) return std::nullopt;
    cursor.id = text.substr(colon + 1);
    return cursor;
}

}  // namespace lockstep::prod
