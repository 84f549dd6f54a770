#include "sim/explain/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::array<std::string_view, 2> kTickLocks{"cordum:reconciler:default", "cordum:replayer:pending"};
/// What a job's record says about when it is to be tried again.
constexpr std::array<std::string_view, 3> kFields{"ls_next_attempt_at", "ls_waits_since", "ls_last_cause"};
constexpr std::string_view kListed = "listed";
constexpr std::size_t kSweepsMax = 3;

/// The words of a script that reads a page: EVALSHA, its sum, how many keys, the tick lock, the index.
constexpr std::size_t kLockWord = 3;
constexpr std::size_t kIndexWord = 4;

bool contains(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool is_index(std::string_view key) { return key.starts_with("job:index:") || key == "job:deadline"; }

/// The bulk strings of an answer in the protocol of Redis.
std::vector<std::string> texts_of(std::string_view reply) {
    std::vector<std::string> texts;
    while (!reply.empty()) {
        const std::size_t end = reply.find("\r\n");
        if (end == std::string_view::npos) break;
        std::size_t length = 0;
        const bool bulk = reply.front() == '$' && !reply.starts_with("$-");
        if (bulk) std::from_chars(reply.data() + 1, reply.data() + end, length);
        reply.remove_prefix(end + 2);
        if (!bulk) continue;
        texts.emplace_back(reply.substr(0, length));
        reply.remove_prefix(std::min(reply.size(), length + 2));
    }
    return texts;
}

std::string index_of(std::string_view state) {
    std::string key = "job:index:";
    for (const char c : state) key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return key;
}

using Facts = std::vector<SweepLog::Fact>;

/// What was known of it at that event; empty: nothing.
std::string_view value_at(const Facts& facts, std::string_view what, std::uint64_t event) {
    std::string_view value;
    for (const SweepLog::Fact& fact : facts)
        if (fact.event <= event && fact.what == what) value = fact.value;
    return value;
}

std::string why(const SweepLog::Page& page, const Facts& facts, std::string_view job) {
    if (!page.held) return "the tick lock was not its own any more, and it read nothing";
    if (contains(page.named, job)) return "the page named it, and what was done then did not move it on";
    if (value_at(facts, page.index, page.event).empty()) return "it was not listed there";
    std::string out = "it was listed, and the page passed it over as not due";
    for (const std::string_view field : kFields) {
        const std::string_view value = value_at(facts, field, page.event);
        if (!value.empty()) out += fmt::format(", {} {}", field, value);
    }
    return out;
}

}  // namespace

void SweepRecorder::note(std::string_view job, std::string_view what, std::string_view value) {
    auto found = log_.jobs.find(job);
    if (found == log_.jobs.end()) found = log_.jobs.emplace(job, Facts{}).first;
    found->second.push_back({events_ + 1, std::string(what), std::string(value)});
}

void SweepRecorder::on_event(const fakes::Event& event, Time now) {
    if (!in_digest(event.kind)) return;
    ++events_;
    const bool answers = event.kind == fakes::EventKind::redis && event.when == fakes::When::applied;
    if (!reading_ || !answers) return;
    reading_->event = events_;
    reading_->ns = now.time_since_epoch().count();
    reading_->named = texts_of(event.payload);
    log_.pages.push_back(*std::exchange(reading_, std::nullopt));
}

void SweepRecorder::command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t) {
    if (words.size() <= kIndexWord || !contains(kTickLocks, words[kLockWord]) || !is_index(words[kIndexWord])) return;
    reading_.emplace();
    reading_->node = static_cast<std::int16_t>(client.value);
    reading_->index = words[kIndexWord];
}

void SweepRecorder::zset_listed(fakes::NodeId, std::string_view key) {
    if (reading_ && reading_->index == key) reading_->held = true;
}

void SweepRecorder::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double* before,
                             double) {
    if (before == nullptr && is_index(key)) note(member, key, kListed);
}

void SweepRecorder::zset_removed(fakes::NodeId, std::string_view key, std::string_view member, double) {
    if (is_index(key)) note(member, key, {});
}

void SweepRecorder::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                             std::string_view after) {
    const auto job = contains(kFields, field) ? job_of_hash(key) : std::nullopt;
    if (job) note(*job, field, after);
}

void SweepRecorder::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    const auto job = contains(kFields, field) ? job_of_hash(key) : std::nullopt;
    if (job) note(*job, field, {});
}

void SweepRecorder::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal,
                                const fakes::redis::Value& last, std::int64_t) {
    const auto* zset = is_index(key) ? std::get_if<fakes::redis::SortedSet>(&last) : nullptr;
    if (zset != nullptr)
        for (const auto& entry : zset->ranking()) note(entry.member, key, {});
    const auto job = job_of_hash(key);
    if (!job || !log_.jobs.contains(*job)) return;
    for (const std::string_view field : kFields) note(*job, field, {});
}

void SweepRecorder::losing(const fakes::redis::Keyspace& before) {
    for (const std::string_view key : before.keys())
        key_removed({}, key, fakes::redis::Removal::evicted, before.find(key)->value, fakes::redis::kNever);
}

void SweepRecorder::restored(const fakes::redis::Keyspace& now) {
    for (const std::string_view key : now.keys()) {
        const fakes::redis::Value& value = now.find(key)->value;
        const auto* zset = is_index(key) ? std::get_if<fakes::redis::SortedSet>(&value) : nullptr;
        if (zset != nullptr)
            for (const auto& entry : zset->ranking()) note(entry.member, key, kListed);
        const auto* hash = std::get_if<fakes::redis::Hash>(&value);
        if (hash != nullptr)
            for (const auto& [field, content] : *hash) hash_set({}, key, field, nullptr, content);
    }
}

SweepLog SweepRecorder::take() { return std::exchange(log_, {}); }

std::vector<std::string> sweep_lines(const SweepLog& log, const std::vector<std::string>& nodes, std::string_view job,
                                     std::string_view state, std::uint64_t since) {
    if (state.empty() || is_final(state)) return {};
    const std::string index = index_of(state);
    std::vector<const SweepLog::Page*> seen;
    for (const SweepLog::Page& page : log.pages)
        if (page.index == index && page.event > since) seen.push_back(&page);
    if (seen.empty()) return {fmt::format("nobody swept {} since it became {} (#{})", index, state, since)};
    const auto known = log.jobs.find(job);
    const Facts facts = known == log.jobs.end() ? Facts{} : known->second;
    std::vector<std::string> lines{
        fmt::format("sweeps of {} since it became {} (#{}): {}, the last", index, state, since, seen.size())};
    for (std::size_t i = seen.size() - std::min(seen.size(), kSweepsMax); i < seen.size(); ++i) {
        const SweepLog::Page& page = *seen[i];
        const std::string_view node =
            page.node < 0 ? "nobody" : std::string_view(nodes.at(static_cast<std::size_t>(page.node)));
        lines.push_back(fmt::format("  #{} {}.{:06}s {}: {}", page.event, page.ns / 1'000'000'000,
                                    page.ns / 1'000 % 1'000'000, node, why(page, facts, job)));
    }
    return lines;
}

}  // namespace lockstep::sim
