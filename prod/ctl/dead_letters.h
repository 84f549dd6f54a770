// `dlq list|show|delete|retry|purge|clean`: the dead letters of the store.
#pragma once

#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/dead_letter_filter.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct ListLettersOptions {
    LetterFilter filter;
    std::int64_t limit = 100;
    std::int64_t offset = 0;            // of those that fit
    std::optional<LetterCursor> after;  // where the page before ended
    bool undecodable = false;           // messages that could not be decoded have a list of their own
    bool json = false;
};
/// Newest first. Where there is more, standard error says how the next page is asked for. Entries whose record has expired are
/// dropped from the index on the way.
[[nodiscard]] engine::Task<int> list_dead_letters(Session& session, ListLettersOptions options);
[[nodiscard]] engine::Task<int> show_dead_letter(Session& session, std::string job);
[[nodiscard]] engine::Task<int> delete_dead_letter(Session& session, std::string job, bool json);
/// Submits the dead job's request again, as it was, as a new job in place of the entry: both in one step, so that two who do it at once
/// have one job. Refuses with the reason where the request or the input is not there any more.
[[nodiscard]] engine::Task<int> retry_dead_letter(Session& session, std::string job, bool json);

enum class BulkAction : std::uint8_t { retry, purge };
struct BulkOptions {
    BulkAction action = BulkAction::retry;
    LetterFilter filter;
    std::int64_t limit = 1000;  // letters that something is done about
    bool undecodable = false;   // purge: of that list
    bool dry_run = false;       // only say which would be
    bool json = false;
};
/// Does it to all that fit, the newest first, one after the other: what has been done stays done when it stops. Exit code 1 when
/// one of them failed; the others are done all the same.
[[nodiscard]] engine::Task<int> handle_dead_letters(Session& session, BulkOptions options);

/// Drops every entry of both indexes whose record has expired, unless somebody else is at it (redis-schema.md 4).
[[nodiscard]] engine::Task<int> clean_dead_letters(Session& session, bool json);

}  // namespace lockstep::prod
