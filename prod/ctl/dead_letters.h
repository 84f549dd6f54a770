// `dlq list|show|delete|retry|clean`: the dead letters of the store.
#pragma once

#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

/// Newest first; those of messages that could not be decoded have a list of their own. Entries whose record has expired are
/// dropped from the index on the way.
[[nodiscard]] engine::Task<int> list_dead_letters(Session& session, std::int64_t offset, std::int64_t limit,
                                                  bool undecodable, bool json);
[[nodiscard]] engine::Task<int> show_dead_letter(Session& session, std::string job);
[[nodiscard]] engine::Task<int> delete_dead_letter(Session& session, std::string job);
/// Submits the dead job's request again as a new job and removes the entry.
[[nodiscard]] engine::Task<int> retry_dead_letter(Session& session, std::string job, bool json);
/// Drops every entry of both indexes whose record has expired, unless somebody else is at it (redis-schema.md 4).
[[nodiscard]] engine::Task<int> clean_dead_letters(Session& session, bool json);

}  // namespace lockstep::prod
