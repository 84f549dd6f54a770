#include "prod/ctl/dead_letters.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/store/keys.h"
#include "engine/store/scripts.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "prod/ctl/submit.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;
using nlohmann::json;

constexpr const char* kIndex = "dlq:index";
constexpr const char* kCleaningLock = "cordum:dlq:cleanup";
/// A gateway cleans at this interval and holds the lock for as long.
constexpr const char* kCleaningLockSeconds = "3600";
constexpr std::int64_t kCleaningBatch = 500;

std::string entry_key(std::string_view job) { return fmt::format("dlq:entry:{}", job); }

std::string word(const json& entry, const char* key) {
    const auto found = entry.find(key);
    if (found == entry.end()) return "-";
    return printable(found->is_string() ? found->get<std::string>() : found->dump());
}

engine::Task<tl::expected<std::string, CommandError>> load_letter(Session& session, std::string job) {
    engine::RedisCommand get{"GET", entry_key(job)};
    const auto entry = co_await session.redis().command(std::move(get), session.deadline());
    if (!entry.applied()) co_return tl::make_unexpected(CommandError{kFailed, entry.failure().detail});
    if (entry.value().is_nil())
        co_return tl::make_unexpected(CommandError{kNotFound, fmt::format("there is no dead letter of job {}", job)});
    co_return std::string(entry.value().text());
}

}  // namespace

engine::Task<int> list_dead_letters(Session& session, std::int64_t offset, std::int64_t limit, bool undecodable,
                                    bool as_json) {
    const std::string index(undecodable ? engine::keys::kUndecodable : kIndex);
    engine::RedisCommand range{"ZREVRANGE", index, std::to_string(offset), std::to_string(offset + limit - 1)};
    const auto ids = co_await session.redis().command(std::move(range), session.deadline());
    if (!ids.applied()) co_return complain(kFailed, ids.failure().detail);
    json document = json::array();
    const auto* list = ids.value().array();
    if (list != nullptr && !list->empty()) {
        std::vector<engine::RedisCommand> gets;
        for (const auto& id : *list) gets.push_back({"GET", entry_key(id.text())});
        // One entry that cannot be read hides no other.
        const auto entries = co_await session.redis().pipeline(std::move(gets), session.deadline());
        if (!entries.applied()) co_return complain(kFailed, entries.failure().detail);
        engine::RedisCommand stale{"ZREM", index};
        for (std::size_t i = 0; i < list->size(); ++i) {
            if (entries.value()[i].is_nil()) {
                stale.emplace_back((*list)[i].text());
                continue;
            }
            auto entry = json::parse(entries.value()[i].text(), nullptr, false);
            if (entry.is_object()) document.push_back(std::move(entry));
        }
        if (stale.size() > 2) (void)co_await session.redis().command(std::move(stale), session.deadline());
    }
    if (as_json) {
        fmt::print("{}\n", document.dump(-1, ' ', false, json::error_handler_t::replace));
        co_return kDone;
    }
    for (const auto& entry : document)
        fmt::print("{}  {}  {}  {}  {}\n", word(entry, "created_at"), word(entry, "job_id"), word(entry, "topic"),
                   word(entry, "reason_code"), word(entry, "reason"));
    co_return kDone;
}

engine::Task<int> show_dead_letter(Session& session, std::string job) {
    const auto text = co_await load_letter(session, job);
    if (!text) co_return complain(text.error().exit_code, text.error().message);
    const auto entry = json::parse(*text, nullptr, false);
    fmt::print("{}\n",
               entry.is_discarded() ? printable(*text) : entry.dump(2, ' ', false, json::error_handler_t::replace));
    co_return kDone;
}

engine::Task<int> delete_dead_letter(Session& session, std::string job) {
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"MULTI"});
    commands.push_back({"DEL", entry_key(job)});
    commands.push_back({"ZREM", kIndex, job});
    commands.push_back({"ZREM", std::string(engine::keys::kUndecodable), job});
    commands.push_back({"EXEC"});
    const auto replies = co_await session.read_all(std::move(commands));
    if (!replies) co_return complain(kFailed, replies.error());
    if (replies.value().back().at(0).integer_or(0) == 0)
        co_return complain(kNotFound, fmt::format("there is no dead letter of job {}", job));
    co_return kDone;
}

engine::Task<int> retry_dead_letter(Session& session, std::string job, bool as_json) {
    const auto entry = co_await load_letter(session, job);
    if (!entry) co_return complain(entry.error().exit_code, entry.error().message);
    std::vector<engine::RedisCommand> gets;
    gets.push_back({"GET", "job:req:" + job});
    gets.push_back({"GET", "ctx:" + job});
    const auto stored = co_await session.read_all(std::move(gets));
    if (!stored) co_return complain(kFailed, stored.error());
    const auto request = engine::wire::from_json<cap::JobRequest>(stored.value()[0].text());
    if (!request)
        co_return complain(kFailed,
                           fmt::format("job {} cannot be submitted again: its request is gone or unreadable ({})", job,
                                       request.error().detail));

    SubmitOptions options;
    options.id = fmt::format("{}-retry-{}", job, session.entropy().uuid().substr(0, 8));
    options.topic = request->topic();
    options.tenant = request->tenant_id().empty() ? "default" : request->tenant_id();
    options.principal = request->principal_id();
    options.priority = request->priority();
    options.trace = "dlq-retry-" + job;
    options.budget = std::chrono::milliseconds(request->budget().deadline_ms());
    options.capability = request->meta().capability();
    options.required = {request->meta().requires_().begin(), request->meta().requires_().end()};
    options.risk_tags = {request->meta().risk_tags().begin(), request->meta().risk_tags().end()};
    for (const auto& [key, value] : request->labels())
        // An approval was given to the job that died, and its message id would make the stream swallow this one.
        if (!key.starts_with("approval_") && key != "cordum.bus_msg_id") options.labels[key] = value;
    for (const auto& [key, value] : request->env()) options.env[key] = value;
    options.workflow = request->workflow_id();
    if (request->has_compensation())
        options.compensation = wire::to_json(request->compensation(), wire::Unpopulated::omit);
    options.labels["retry_of_job"] = job;
    options.labels["dlq_entry"] = job;
    options.labels["retry"] = "true";
    options.payload = stored.value()[1].is_nil() ? "{}" : std::string(stored.value()[1].text());
    options.json = as_json;
    const int code = co_await submit(session, std::move(options));
    if (code != kDone) co_return code;
    co_return co_await delete_dead_letter(session, std::move(job));
}

namespace {

/// The index entries of one batch without a record are removed: how many. The next batch begins behind those that stay.
engine::Task<tl::expected<std::int64_t, std::string>> clean_batch(Session& session, std::string index,
                                                                  std::int64_t& from) {
    engine::RedisCommand range{"ZRANGE", index, std::to_string(from), std::to_string(from + kCleaningBatch - 1)};
    const auto ids = co_await session.redis().command(std::move(range), session.deadline());
    if (!ids.applied()) co_return tl::make_unexpected(ids.failure().detail);
    const auto* list = ids.value().array();
    if (list == nullptr || list->empty()) {
        from = -1;
        co_return 0;
    }
    std::vector<engine::RedisCommand> lookups;
    for (const auto& id : *list) lookups.push_back({"EXISTS", entry_key(id.text())});
    const auto found = co_await session.read_all(std::move(lookups));
    if (!found) co_return tl::make_unexpected(found.error());
    engine::RedisCommand stale{"ZREM", std::move(index)};
    for (std::size_t i = 0; i < list->size(); ++i) {
        if (found.value()[i].integer_or(1) == 0) stale.emplace_back((*list)[i].text());
    }
    const auto removed = static_cast<std::int64_t>(stale.size()) - 2;
    if (removed > 0) {
        const auto done = co_await session.redis().command(std::move(stale), session.deadline());
        if (!done.applied()) co_return tl::make_unexpected(done.failure().detail);
    }
    from += static_cast<std::int64_t>(list->size()) - removed;
    co_return removed;
}

}  // namespace

engine::Task<int> clean_dead_letters(Session& session, bool as_json) {
    const std::string token = session.entropy().uuid();
    engine::RedisCommand take{"SET", kCleaningLock, token, "NX", "EX", kCleaningLockSeconds};
    const auto taken = co_await session.redis().command(std::move(take), session.deadline());
    if (!taken.applied()) co_return complain(kFailed, taken.failure().detail);
    if (taken.value().is_nil()) co_return complain(kFailed, "somebody else is cleaning the dead letters");

    std::int64_t removed = 0;
    std::string trouble;
    for (const std::string_view index : {std::string_view(kIndex), engine::keys::kUndecodable}) {
        for (std::int64_t from = 0; from >= 0 && trouble.empty();) {
            const auto batch = co_await clean_batch(session, std::string(index), from);
            if (batch)
                removed += *batch;
            else
                trouble = batch.error();
        }
    }
    const engine::StoreScripts scripts;
    // Only if it is still ours; else, and when nobody answers, it runs out by itself.
    (void)co_await session.redis().script(scripts.release_lock, {kCleaningLock}, {token}, session.deadline());
    if (!trouble.empty()) co_return complain(kFailed, trouble);
    fmt::print("{}\n",
               as_json ? json{{"removed", removed}}.dump() : fmt::format("{} expired entries removed", removed));
    co_return kDone;
}

}  // namespace lockstep::prod
