#include "sim/run/expected_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/scenario/check.h"
#include "sim/scenario/glob.h"

namespace lockstep::sim {

namespace {

using fakes::redis::Keyspace;
using fakes::redis::Value;

constexpr std::string_view kEntryPrefix = "dlq:entry:";
constexpr std::size_t kShownMax = 200;

const Value* value_of(const Keyspace& keys, std::string_view key, std::int64_t now_ms) {
    const Keyspace::Entry* entry = keys.find(key);
    // A key that nobody has touched since its time was over is gone to everybody who would ask.
    if (entry == nullptr || (entry->expires_at != fakes::redis::kNever && entry->expires_at < now_ms)) return nullptr;
    return &entry->value;
}

/// What is asked for of the value, as text; nothing where it is not there, or the value is of another type.
std::optional<std::string> found_in(const Value& value, const RedisExpectation& wanted) {
    if (!wanted.field.empty()) {
        const auto* hash = std::get_if<fakes::redis::Hash>(&value);
        const auto field = hash == nullptr ? fakes::redis::Hash::const_iterator{} : hash->find(wanted.field);
        return hash == nullptr || field == hash->end() ? std::nullopt : std::optional(field->second);
    }
    if (!wanted.member.empty()) {
        if (const auto* sorted = std::get_if<fakes::redis::SortedSet>(&value)) {
            const double* score = sorted->score(wanted.member);
            return score == nullptr ? std::nullopt : std::optional(fmt::format("{}", *score));
        }
        const auto* set = std::get_if<fakes::redis::Set>(&value);
        const auto* list = std::get_if<fakes::redis::List>(&value);
        const bool there = (set != nullptr && set->contains(wanted.member)) ||
                           (list != nullptr && std::ranges::count(*list, wanted.member) > 0);
        return there ? std::optional(wanted.member) : std::nullopt;
    }
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr ? *text : fmt::format("a {}", fakes::redis::type_name(value));
}

std::string described(const RedisExpectation& wanted) {
    std::string out = wanted.key;
    if (!wanted.field.empty()) out += ", field " + wanted.field;
    if (!wanted.member.empty()) out += ", member " + wanted.member;
    if (wanted.at) out += ", at " + engine::format_duration(*wanted.at);
    return out + (wanted.absent ? " is absent" : wanted.value ? " is " + *wanted.value : " is there");
}

ExpectationOutcome outcome_of(const RedisExpectation& wanted, const Keyspace& keys, engine::WallTime now,
                              std::string pointer) {
    const Value* value = value_of(keys, wanted.key, engine::to_millis(now.time_since_epoch()));
    std::optional<std::string> found = value == nullptr ? std::nullopt : found_in(*value, wanted);
    const bool held = wanted.absent ? !found : found && (!wanted.value || glob_matches(*wanted.value, *found));
    if (found && found->size() > kShownMax) found = found->substr(0, kShownMax) + "...";
    return {
        .expected = described(wanted), .actual = found.value_or("absent"), .held = held, .pointer = std::move(pointer)};
}

std::string described(const DeadLetterExpectation& wanted) {
    std::string out = "dead letters";
    for (const auto& [name, glob] :
         {std::pair{"job", &wanted.job}, {"code", &wanted.code}, {"reason", &wanted.reason}}) {
        if (!glob->empty()) out += fmt::format(", {} {}", name, *glob);
    }
    return fmt::format("{} {}", out, wanted.count.text);
}

bool is_one(const DeadLetterExpectation& wanted, std::string_view job, const nlohmann::json& entry) {
    const auto passes = [&entry](const std::string& glob, const char* field) {
        if (glob.empty()) return true;
        return entry.is_object() && glob_matches(glob, entry.value(field, std::string{}));
    };
    return (wanted.job.empty() || glob_matches(wanted.job, job)) && passes(wanted.code, "reason_code") &&
           passes(wanted.reason, "reason");
}

}  // namespace

std::vector<Duration> ExpectedValues::moments() const {
    std::vector<Duration> all;
    for (const RedisExpectation& wanted : expect_.redis)
        if (wanted.at) all.push_back(*wanted.at);
    std::ranges::sort(all);
    const auto again = std::ranges::unique(all);
    all.erase(again.begin(), again.end());
    return all;
}

std::string ExpectedValues::pointer_of(const char* part, std::size_t index) const {
    return child(child(expect_.pointer, part), index);
}

void ExpectedValues::look(Duration at, const Keyspace& keys, engine::WallTime now) {
    for (std::size_t i = 0; i < expect_.redis.size(); ++i)
        if (expect_.redis[i].at == at)
            seen_.insert_or_assign(i, outcome_of(expect_.redis[i], keys, now, pointer_of("redis", i)));
}

void ExpectedValues::judge(const Keyspace& keys, engine::WallTime now, RunResult& result) const {
    for (std::size_t i = 0; i < expect_.redis.size(); ++i) {
        const RedisExpectation& wanted = expect_.redis[i];
        const auto seen = seen_.find(i);
        if (!wanted.at)
            result.expectations.push_back(outcome_of(wanted, keys, now, pointer_of("redis", i)));
        else if (seen != seen_.end())
            result.expectations.push_back(seen->second);
        else
            result.expectations.push_back({.expected = described(wanted),
                                           .actual = "the run was over before",
                                           .pointer = pointer_of("redis", i)});
    }
    if (expect_.dead_letters.empty()) return;
    std::vector<std::uint64_t> counts(expect_.dead_letters.size());
    std::map<std::string, int> codes;
    const std::int64_t now_ms = engine::to_millis(now.time_since_epoch());
    for (const std::string_view key : keys.keys()) {
        if (!key.starts_with(kEntryPrefix)) continue;
        const Value* value = value_of(keys, key, now_ms);
        const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
        if (text == nullptr) continue;
        const auto entry = engine::wire::read_json(*text);
        ++codes[entry.is_object() ? entry.value("reason_code", std::string{}) : ""];
        for (std::size_t i = 0; i < counts.size(); ++i)
            counts[i] += is_one(expect_.dead_letters[i], key.substr(kEntryPrefix.size()), entry) ? 1 : 0;
    }
    std::string all;
    for (const auto& [code, number] : codes)
        all += fmt::format("{}{} {}", all.empty() ? "" : ", ", number, code.empty() ? "without a code" : code);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const Expected& wanted = expect_.dead_letters[i].count;
        const auto count = static_cast<double>(counts[i]);
        result.expectations.push_back({.expected = described(expect_.dead_letters[i]),
                                       .actual = fmt::format("{}", counts[i]),
                                       .held = wanted.holds(count),
                                       .too_few = wanted.is_too_few(count),
                                       .pointer = pointer_of("dead_letters", i),
                                       .others = wanted.holds(count) || all.empty() ? "" : "in all " + all});
    }
}

}  // namespace lockstep::sim
