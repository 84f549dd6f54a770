#include "sim/oracles/run_exclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/oracles/run_documents.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

/// Finished spans, and lost tokens, that are remembered of one run: older ones overlap with nothing that is still going on, unless
/// somebody has been frozen for that long, and then the newest of these tells.
constexpr std::size_t kRememberedMax = 16;

}  // namespace

RunExclusion::RunExclusion(Judge& judge, const engine::Tunables& tunables)
    : Oracle(judge), goes_without_(tunables.wf_on_redis_error == "local" || tunables.wf_on_contention == "local") {}

void RunExclusion::command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t) {
    if (!words.empty()) return begin_command(client, words);
    // What has done nothing may be a script that the server does not know: its reply tells.
    if (doing_.has_effect) finish_command();
}

void RunExclusion::on_event(const fakes::Event& event, Time) {
    const bool replies = event.kind == fakes::EventKind::redis && event.when == fakes::When::applied;
    if (!replies || event.node != client_) return;
    if (event.payload.starts_with('-'))
        doing_ = {};
    else
        finish_command();
}

void RunExclusion::begin_command(fakes::NodeId client, std::span<const std::string_view> words) {
    ++number_;
    client_ = client;
    doing_ = {};
    if (by_user(client)) return;
    for (const std::string_view word : words) {
        const std::string_view run = run_of_document_key(word);
        // A command about several runs reads them, and changes none.
        if (!run.empty() && !doing_.run.empty()) doing_.names_document = false;
        if (run.empty() || !doing_.run.empty()) continue;
        doing_.run = run;
        doing_.names_document = true;
    }
    if (!doing_.names_document) return;
    const std::string own_id = fmt::format(R"("id":"{}")", doing_.run);
    Run& run = runs_[doing_.run];
    for (const std::string_view word : words) {
        if (word.starts_with('{') && word.find(own_id) != std::string_view::npos) doing_.brings_document = true;
        if (!word.empty() &&
            (word == run.token || run.lost.contains(std::string(word)) || run.reads.contains(std::string(word))))
            doing_.token = word;
    }
}

void RunExclusion::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                              std::int64_t, std::int64_t) {
    if (key.starts_with(kRunLockPrefix)) {
        Run& run = runs_[std::string(key.substr(kRunLockPrefix.size()))];
        if (run.token != after) {
            if (!run.token.empty()) run.lost[run.token] = number_;
            run.token = after;
        }
        doing_.has_effect = true;
        if (doing_.names_document && key.substr(kRunLockPrefix.size()) == doing_.run) doing_.token = after;
        return;
    }
    const std::string_view run = run_of_document_key(key);
    if (run.empty() || by_user(client)) return;
    if (run == doing_.run) doing_.wrote = doing_.has_effect = true;
}

void RunExclusion::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                               std::int64_t) {
    if (!key.starts_with(kRunLockPrefix)) return;
    const auto run = runs_.find(key.substr(kRunLockPrefix.size()));
    if (run == runs_.end() || run->second.token.empty()) return;
    run->second.lost[run->second.token] = number_;
    run->second.token.clear();
    while (run->second.lost.size() > kRememberedMax) {
        const auto oldest =
            std::ranges::min_element(run->second.lost, {}, [](const auto& lost) { return lost.second; });
        run->second.reads.erase(oldest->first);
        run->second.lost.erase(oldest);
    }
}

void RunExclusion::finish_command() {
    const Doing doing = doing_;
    if (!doing.names_document) return;
    Run& run = runs_[doing.run];
    if (doing.brings_document || doing.wrote)
        judge_change(run);
    else
        note_read(run);
    doing_ = {};
}

void RunExclusion::note_read(Run& run) {
    const bool holds = !doing_.token.empty() && doing_.token == run.token;
    // Somebody else holds it: whoever asks in vain reads nothing.
    if (!holds && !run.token.empty() && !goes_without_) return;
    std::string holder = holds ? run.token : fmt::format("node {}", client_.value);
    run.reads[holder] = {holder, client_, number_, 0, present(), false};
}

/// That of the token which the command names, else the last one of its client.
const RunExclusion::Span* RunExclusion::read_of(const Run& run) const {
    if (const auto named = run.reads.find(doing_.token); named != run.reads.end()) return &named->second;
    const Span* last = nullptr;
    for (const auto& [holder, span] : run.reads)
        if (span.client == client_ && (last == nullptr || span.begin > last->begin)) last = &span;
    return last;
}

void RunExclusion::judge_change(Run& run) {
    const Span* read = read_of(run);
    // Who holds the lock and has been refused the change goes on from what was read.
    if (read == nullptr || (!doing_.wrote && read->holder == run.token)) return;
    Span span = *read;
    span.wrote = doing_.wrote;
    span.end = number_;
    if (const auto lost = run.lost.find(span.holder); lost != run.lost.end() && !span.wrote)
        span.end = std::min(span.end, lost->second);
    for (const Span& other : run.changes) {
        if (other.holder == span.holder) continue;
        exercise();
        const bool overwrites = span.wrote && other.wrote && other.end > span.begin && other.end < span.end;
        const bool overlaps = other.begin < span.end && other.end > span.begin;
        if (!overwrites && (goes_without_ || !overlaps)) continue;
        violated(client_, {},
                 fmt::format("the run {} was changed by {} since {} has read it, which changes it now", doing_.run,
                             other.holder, span.holder),
                 span.read);
    }
    run.reads.erase(span.holder);
    run.changes.push_back(std::move(span));
    if (run.changes.size() > kRememberedMax) run.changes.pop_front();
}

void RunExclusion::restored(const fakes::redis::Keyspace&) {
    runs_.clear();
    doing_ = {};
}

}  // namespace lockstep::sim
