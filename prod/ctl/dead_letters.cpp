#include "prod/ctl/dead_letters.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/store/keys.h"
#include "engine/store/scripts.h"
#include "engine/store/scripts/common.lua.h"
#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"
#include "prod/ctl/document.h"
#include "prod/ctl/reason_codes.h"
#include "prod/ctl/scripts/remove_dead_letter.lua.h"
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
    if (found->is_string()) return printable(found->get<std::string>());
    std::string text = json_text(*found);
    text.pop_back();  // its newline
    return text;
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

namespace {

/// Entries whose records are read in one go.
constexpr std::int64_t kPage = 500;

struct Letter {
    std::string id;
    std::int64_t written_at = 0;
    std::string bytes;  // of its entry, as it was read
    json entry{};       // the same, parsed
    std::string tenant{};
};

struct LetterPage {
    std::vector<Letter> letters;
    bool last = false;
};

/// Goes through an index from the newest to the oldest. Letters that are removed on the way make it skip none.
class LetterWalk {
public:
    LetterWalk(Session& session, std::string index, std::optional<LetterCursor> after)
        : session_(session), index_(std::move(index)), cursor_(std::move(after)) {}

    [[nodiscard]] engine::Task<tl::expected<LetterPage, std::string>> next();

private:
    Session& session_;
    std::string index_;
    std::optional<LetterCursor> cursor_;
    std::int64_t passed_over_ = 0;  // entries of the cursor's second that were met before
};

engine::Task<tl::expected<LetterPage, std::string>> LetterWalk::next() {
    LetterPage page;
    engine::RedisCommand range{"ZREVRANGEBYSCORE",
                               index_,
                               cursor_ ? std::to_string(cursor_->written_at) : "+inf",
                               "-inf",
                               "WITHSCORES",
                               "LIMIT",
                               std::to_string(passed_over_),
                               std::to_string(kPage)};
    const auto listed = co_await session_.redis().command(std::move(range), session_.deadline());
    if (!listed.applied()) co_return tl::make_unexpected(listed.failure().detail);
    const auto* list = listed.value().array();
    const std::size_t count = list == nullptr ? 0 : list->size() / 2;
    page.last = static_cast<std::int64_t>(count) < kPage;
    for (std::size_t i = 0; i < count; ++i) {
        Letter letter{std::string((*list)[2 * i].text()), (*list)[2 * i + 1].integer_or(0), {}};
        if (!cursor_ || cursor_->before(letter.written_at, letter.id)) page.letters.push_back(std::move(letter));
    }
    if (page.letters.empty()) {
        passed_over_ += static_cast<std::int64_t>(count);
        co_return page;
    }
    passed_over_ = 0;
    cursor_ = LetterCursor{page.letters.back().written_at, page.letters.back().id};

    std::vector<engine::RedisCommand> gets;
    for (const Letter& letter : page.letters) {
        gets.push_back({"GET", entry_key(letter.id)});
        gets.push_back({"HGET", engine::keys::job_meta(engine::JobId(letter.id)), "tenant"});
    }
    // One entry that cannot be read hides no other.
    const auto found = co_await session_.redis().pipeline(std::move(gets), session_.deadline());
    if (!found.applied()) co_return tl::make_unexpected(found.failure().detail);
    engine::RedisCommand stale{"ZREM", index_};
    std::vector<Letter> known;
    for (std::size_t i = 0; i < page.letters.size(); ++i) {
        Letter& letter = page.letters[i];
        if (found.value()[2 * i].is_nil()) {
            stale.push_back(letter.id);
            continue;
        }
        letter.bytes = found.value()[2 * i].text();
        letter.entry = wire::read_json(letter.bytes);
        letter.tenant = found.value()[2 * i + 1].text();
        if (letter.entry.is_object()) known.push_back(std::move(letter));
    }
    page.letters = std::move(known);
    if (stale.size() > 2) (void)co_await session_.redis().command(std::move(stale), session_.deadline());
    co_return page;
}

std::string index_of(bool undecodable) { return std::string(undecodable ? engine::keys::kUndecodable : kIndex); }

engine::Task<tl::expected<std::int64_t, std::string>> seconds_of_redis(Session& session) {
    engine::RedisCommand time{"TIME"};
    const auto told = co_await session.redis().command(std::move(time), session.deadline());
    if (!told.applied()) co_return tl::make_unexpected(told.failure().detail);
    co_return told.value().at(0).integer_or(0);
}

/// Those that fit, `limit` at most and the first `offset` left out; `more`: there are others behind them.
struct Selected {
    std::vector<Letter> letters;
    bool more = false;
};

engine::Task<tl::expected<Selected, std::string>> select_letters(Session& session, ListLettersOptions options) {
    const auto now = co_await seconds_of_redis(session);
    if (!now) co_return tl::make_unexpected(now.error());
    LetterWalk walk(session, index_of(options.undecodable), options.after);
    Selected selected;
    while (true) {
        auto page = co_await walk.next();
        if (!page) co_return tl::make_unexpected(page.error());
        for (Letter& letter : page->letters) {
            if (!fits(options.filter, letter.entry, letter.tenant, letter.written_at, *now)) continue;
            if (options.offset > 0) {
                --options.offset;
                continue;
            }
            if (static_cast<std::int64_t>(selected.letters.size()) == options.limit) {
                selected.more = true;
                co_return selected;
            }
            selected.letters.push_back(std::move(letter));
        }
        if (page->last) co_return selected;
    }
}

}  // namespace

engine::Task<int> list_dead_letters(Session& session, ListLettersOptions options) {
    const auto selected = co_await select_letters(session, options);
    if (!selected) co_return complain(kFailed, selected.error());
    json document = json::array();
    for (const Letter& letter : selected->letters) document.push_back(letter.entry);
    if (options.json)
        fmt::print("{}", json_text(document));
    else
        for (const auto& entry : document)
            fmt::print("{}  {}  {}  {}  {}\n", word(entry, "created_at"), word(entry, "job_id"), word(entry, "topic"),
                       word(entry, "reason_code"), word(entry, "reason"));
    if (selected->more && !options.json) {
        const Letter& end = selected->letters.back();
        std::fflush(stdout);
        fmt::print(stderr, "there are more: --after {}\n", printable(to_string(LetterCursor{end.written_at, end.id})));
    }
    co_return kDone;
}

engine::Task<int> show_dead_letter(Session& session, std::string job) {
    const auto text = co_await load_letter(session, job);
    if (!text) co_return complain(text.error().exit_code, text.error().message);
    const auto entry = wire::read_json(*text);
    fmt::print("{}", entry.is_discarded() ? printable(*text) + "\n" : json_text(entry, 2));
    if (!entry.is_object()) co_return kDone;
    std::fflush(stdout);
    const auto code = entry.find("reason_code");
    fmt::print(
        stderr, "{}",
        explain_reason_code(code != entry.end() && code->is_string() ? code->get<std::string>() : std::string()));
    co_return kDone;
}

namespace {

enum class Removal : std::uint8_t { removed, gone, changed };

/// `as_read`: only an entry of these bytes; empty: whatever it is.
engine::Task<tl::expected<Removal, std::string>> remove_letter(Session& session, std::string job, std::string as_read) {
    static const engine::RedisScript kScript(
        "remove_dead_letter", std::string(engine::scripts::kCommon) + std::string(scripts::kRemoveDeadLetter));
    std::vector<std::string> keys{entry_key(job), kIndex, std::string(engine::keys::kUndecodable)};
    std::vector<std::string> arguments{std::move(job), std::move(as_read)};
    const auto reply =
        co_await session.redis().script(kScript, std::move(keys), std::move(arguments), session.deadline());
    if (!reply.applied()) co_return tl::make_unexpected(reply.failure().detail);
    const std::int64_t said = reply.value().integer_or(0);
    co_return said > 0 ? Removal::removed : said < 0 ? Removal::changed : Removal::gone;
}

/// The purge of one letter of those that were selected: 0, or the exit code.
engine::Task<int> purge_letter(Session& session, Letter letter) {
    const auto removal = co_await remove_letter(session, letter.id, std::move(letter.bytes));
    if (!removal) co_return complain(kFailed, fmt::format("the dead letter of job {}: {}", letter.id, removal.error()));
    if (*removal == Removal::changed)
        co_return complain(kFailed, fmt::format("the dead letter of job {} was written anew meanwhile, and stays: look "
                                                "at it and try again",
                                                letter.id));
    co_return kDone;  // one that somebody else has removed meanwhile is what a purge wants
}

}  // namespace

engine::Task<int> delete_dead_letter(Session& session, std::string job, bool as_json) {
    const auto removal = co_await remove_letter(session, job, {});
    if (!removal) co_return complain(kFailed, fmt::format("the dead letter of job {}: {}", job, removal.error()));
    if (*removal == Removal::gone) co_return complain(kNotFound, fmt::format("there is no dead letter of job {}", job));
    if (as_json) fmt::print("{}", document_line({{"job_id", job}, {"deleted", true}}));
    co_return kDone;
}

namespace {

/// What becomes of a letter's job: one id for one letter, so that a repetition finds the job that came of it.
std::string id_of_retry(const Letter& letter) {
    return fmt::format("{}-retry-{}", letter.id, wire::sha256_hex(letter.bytes).substr(0, 16));
}

/// The stored request as it was, but for what names the former job: its id, where its input lies, its approval, which was given to that job,
/// and its message id, by which the stream would swallow this one. Labels say which job it was.
cap::JobRequest request_of_retry(cap::JobRequest request, const Letter& letter) {
    request.set_job_id(id_of_retry(letter));
    if (!wire::key_of_pointer(request.context_ptr()).empty())
        request.set_context_ptr("redis://ctx:" + request.job_id());
    wire::strip_message_id_label(request);
    auto& labels = *request.mutable_labels();
    std::vector<std::string> of_approval;
    for (const auto& [name, value] : labels)
        if (wire::ascii_lower(name).starts_with("approval_")) of_approval.push_back(name);
    for (const std::string& name : of_approval) labels.erase(name);
    labels["retry_of_job"] = letter.id;
    labels["dlq_entry"] = letter.id;
    labels["retry"] = "true";
    return request;
}

/// Why a request cannot be submitted again; empty: it can.
std::string obstacle_to_retry(const cap::JobRequest& request, const std::string& job) {
    const std::string_view pointer = wire::trim(request.context_ptr());
    if (!pointer.empty() && wire::key_of_pointer(pointer) != "ctx:" + job)
        return fmt::format("its input lies at {}, and only what lies at ctx:{} is copied", pointer, job);
    if (const auto wrong = wire::rejection(request)) return fmt::format("its request is refused: {}", *wrong);
    return {};
}

struct Retried {
    int exit_code = kDone;
    std::string job;
    bool existing = false;
};

engine::Task<Retried> resubmit_letter(Session& session, Letter letter) {
    const auto refuse = [&letter](std::string_view why) {
        return Retried{complain(kFailed, fmt::format("job {0} cannot be submitted again: {1}. Submit the work as a new "
                                                     "job (lockstepctl submit), then lockstepctl dlq delete {0}",
                                                     letter.id, why)),
                       {},
                       false};
    };
    std::vector<engine::RedisCommand> gets;
    gets.push_back({"GET", engine::keys::job_request(engine::JobId(letter.id))});
    const auto stored = co_await session.read_all(std::move(gets));
    if (!stored) co_return Retried{complain(kFailed, fmt::format("job {}: {}", letter.id, stored.error())), {}, false};
    if (stored.value()[0].is_nil()) co_return refuse(fmt::format("its request (job:req:{}) has expired", letter.id));
    std::string text(stored.value()[0].text());
    auto request = wire::from_json<cap::JobRequest>(text);
    if (!request)
        co_return refuse(fmt::format("its request (job:req:{}) cannot be read: {}", letter.id, request.error().detail));
    if (const std::string obstacle = obstacle_to_retry(*request, letter.id); !obstacle.empty())
        co_return refuse(obstacle);
    cap::JobRequest again = request_of_retry(std::move(*request), letter);
    Retried retried{kDone, again.job_id(), false};
    LetterClaim claim{letter.id, letter.bytes, std::move(text)};
    const Submitted submitted = co_await submit_again(session, std::move(again), std::move(claim));
    if (!submitted.trouble.empty()) complain(kDone, submitted.trouble);
    if (!submitted.is_recorded()) retried.exit_code = submitted.letter_gone ? kNotFound : kFailed;
    retried.existing = !submitted.existing.empty();
    co_return retried;
}

}  // namespace

engine::Task<int> retry_dead_letter(Session& session, std::string job, bool as_json) {
    auto entry = co_await load_letter(session, job);
    if (!entry) co_return complain(entry.error().exit_code, entry.error().message);
    const Retried retried = co_await resubmit_letter(session, Letter{.id = std::move(job), .bytes = std::move(*entry)});
    if (retried.exit_code != kDone) co_return retried.exit_code;
    if (as_json)
        fmt::print("{}",
                   document_line({{"job_id", retried.job}, {"existing", retried.existing}, {"record_expired", false}}));
    else
        fmt::print("{}{}\n", printable(retried.job),
                   retried.existing ? " (submitted earlier, of this very letter)" : "");
    co_return kDone;
}

engine::Task<int> handle_dead_letters(Session& session, BulkOptions options) {
    const auto selected = co_await select_letters(session, {.filter = options.filter,
                                                            .limit = options.limit,
                                                            .offset = 0,
                                                            .after = {},
                                                            .undecodable = options.undecodable,
                                                            .json = options.json});
    if (!selected) co_return complain(kFailed, selected.error());
    const bool retry = options.action == BulkAction::retry;
    json jobs = json::array();
    json failed = json::array();
    for (const Letter& letter : selected->letters) {
        int code = kDone;
        if (!options.dry_run && retry) {
            const Retried retried = co_await resubmit_letter(session, letter);
            code = retried.exit_code;
        } else if (!options.dry_run) {
            code = co_await purge_letter(session, letter);
        }
        const bool done = code == kDone;
        (done ? jobs : failed).push_back(letter.id);
        if (done && !options.json)
            fmt::print("{}{} {}\n", options.dry_run ? "would be " : "", retry ? "retried" : "purged",
                       printable(letter.id));
    }
    if (options.json)
        fmt::print("{}", document_line({{"action", retry ? "retry" : "purge"},
                                        {"dry_run", options.dry_run},
                                        {"jobs", jobs},
                                        {"failed", failed},
                                        {"more", selected->more}}));
    else
        fmt::print("{} {}{}, {} failed{}\n", jobs.size(), options.dry_run ? "would be " : "",
                   retry ? "retried" : "purged", failed.size(),
                   selected->more ? "; there are more that fit (--limit)" : "");
    co_return failed.empty() ? kDone : kFailed;
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
    fmt::print("{}",
               as_json ? document_line({{"removed", removed}}) : fmt::format("{} expired entries removed\n", removed));
    co_return kDone;
}

}  // namespace lockstep::prod
