#include "prod/rehearsal/mirror.h"

#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "fakes/redis/text.h"

namespace lockstep::prod::rehearsal {

namespace {

namespace redis = fakes::redis;

constexpr std::size_t kDifferencesMax = 5;
/// What MONITOR tells is a little later than the time that Redis goes by.
constexpr std::int64_t kExpiryToleranceMs = 2000;

bool calls_script(const MonitorLine& line) {
    return redis::same_word(line.words[0], "EVAL") || redis::same_word(line.words[0], "EVALSHA");
}

bool same(const redis::SortedSet& a, const redis::SortedSet& b) {
    if (a.size() != b.size()) return false;
    for (const auto& one : a.ranking()) {
        const double* score = b.score(one.member);
        if (score == nullptr || *score != one.score) return false;
    }
    return true;
}

bool same(const redis::Value& a, const redis::Value& b) {
    if (a.index() != b.index()) return false;
    if (const auto* zset = std::get_if<redis::SortedSet>(&a)) return same(*zset, std::get<redis::SortedSet>(b));
    if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
    if (const auto* hash = std::get_if<redis::Hash>(&a)) return *hash == std::get<redis::Hash>(b);
    if (const auto* list = std::get_if<redis::List>(&a)) return *list == std::get<redis::List>(b);
    return std::get<redis::Set>(a) == std::get<redis::Set>(b);
}

bool about_to_expire(const redis::Keyspace::Entry& entry, std::int64_t now_ms) {
    return entry.expires_at != redis::kNever && entry.expires_at < now_ms + kExpiryToleranceMs;
}

/// Empty when they agree.
std::string difference(const redis::Keyspace::Entry& ours, const redis::Keyspace::Entry& real) {
    if (!same(ours.value, real.value)) return "holds something else";
    if ((ours.expires_at == redis::kNever) != (real.expires_at == redis::kNever)) return "expires at one side only";
    if (std::abs(ours.expires_at - real.expires_at) > kExpiryToleranceMs)
        return fmt::format("expires {} ms apart", std::abs(ours.expires_at - real.expires_at));
    return {};
}

}  // namespace

Mirror::Mirror(fakes::Trace& trace, fakes::NodeId server, Owner owner)
    : trace_(trace), server_(server), owner_(std::move(owner)), events_(trace, server, redis::default_lock_keys()) {
    database_.keyspace().add_observer(events_);
}

redis::Session& Mirror::session(const std::string& client) {
    auto& known = sessions_[client];
    if (!known) known = std::make_unique<redis::Session>(database_.watches(), owner_(client));
    return *known;
}

void Mirror::apply(const MonitorLine& line) {
    if (line.inside_script() && !command_) return;  // of one that the recording began in
    if (!line.inside_script()) end_command();
    redis::Session& caller = session(line.inside_script() ? command_->client : line.client);
    const std::vector<std::string_view> words(line.words.begin(), line.words.end());
    if (!line.inside_script()) {
        // A script's words stand for all that it does.
        command_ = line;
        runs_ = true;
        caller_ = caller.client();
        script_ = scripts_.of(command_->words);
        if (!script_.empty()) tell_call(fakes::When::before);
        command_views_.assign(command_->words.begin(), command_->words.end());
        database_.keyspace().tell_command(caller_, command_views_, line.at_us / 1000);
        if (calls_script(line)) return;  // what it does follows, command by command
    }
    const redis::Command* command = redis::find_command(words);
    // A transaction's commands are told as it executes them, so EXEC itself does nothing more.
    if (command == nullptr || !command->has(redis::kWrite) || command->has(redis::kTransaction)) return;
    // For a script the time stands still, however long it takes.
    (void)database_.execute(caller, words, engine::WallTime(std::chrono::microseconds(command_->at_us)));
}

void Mirror::end_command() {
    if (!std::exchange(runs_, false)) return;
    database_.keyspace().tell_command(caller_, {}, command_->at_us / 1000);
    if (!script_.empty()) tell_call(fakes::When::applied);
}

void Mirror::expire_due(engine::WallTime now) {
    if (runs_ && command_->at_us <= engine::to_unix_micros(now)) end_command();
    if (!runs_) database_.expire_due(now);
}

void Mirror::tell_call(fakes::When when) {
    const std::vector<std::string>& words = command_->words;
    fakes::Event event;
    event.kind = fakes::EventKind::redis;
    event.when = when;
    event.node = caller_;
    event.peer = server_;
    event.command = words[0];
    event.script = script_;
    if (words.size() > 3 && words[2] != "0") event.key = words[3];
    event.job = redis::job_of_key(event.key);
    trace_.emit(event);
}

void Mirror::replace(Contents contents) {
    end_command();
    database_.keyspace().restore([&] {
        redis::Keyspace& keys = database_.keyspace();
        keys.clear();
        for (auto& [key, entry] : contents) keys.put_back(key, std::move(entry));
    });
}

std::vector<std::string> Mirror::differences(const Contents& real, engine::WallTime now) const {
    const std::int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    std::map<std::string_view, const redis::Keyspace::Entry*> missing;
    for (const std::string_view key : keyspace().keys()) missing.emplace(key, keyspace().find(key));
    std::vector<std::string> found;
    for (const auto& [key, entry] : real) {
        const auto ours = missing.find(key);
        if (ours == missing.end()) {
            if (!about_to_expire(entry, now_ms)) found.push_back(fmt::format("{} is missing in the mirror", key));
            continue;
        }
        if (const std::string what = difference(*ours->second, entry); !what.empty())
            found.push_back(fmt::format("{} {}", key, what));
        missing.erase(ours);
    }
    for (const auto& [key, entry] : missing) {
        if (!about_to_expire(*entry, now_ms)) found.push_back(fmt::format("{} is in the mirror only", key));
    }
    if (found.size() > kDifferencesMax) found.resize(kDifferencesMax);
    return found;
}

}  // namespace lockstep::prod::rehearsal
