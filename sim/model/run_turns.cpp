#include "sim/model/run_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

/// Of one run, turns and lost tokens: older ones overlap with nothing that still goes on, unless a holder has been frozen for that
/// long, and then the newest of these tells.
constexpr std::size_t kRememberedMax = 16;

}  // namespace

const RunTurn* RunTurns::Run::read_by(std::string_view holder) const {
    const auto found = std::ranges::find(reads, holder, &RunTurn::holder);
    return found == reads.end() ? nullptr : &*found;
}

const RunTurns::Lost* RunTurns::Run::loss_of(std::string_view by_token) const {
    const auto found = std::ranges::find(lost, by_token, &Lost::token);
    return found == lost.end() ? nullptr : &*found;
}

void RunTurns::Run::lose_token(std::uint64_t command) {
    if (token.empty()) return;
    std::erase_if(lost, [this](const Lost& one) { return one.token == token; });
    lost.push_back({std::exchange(token, {}), command});
    if (lost.size() <= kRememberedMax) return;
    forget_read(lost.front().token);
    lost.pop_front();
}

void RunTurns::Run::forget_read(std::string_view holder) {
    std::erase_if(reads, [holder](const RunTurn& read) { return read.holder == holder; });
}

std::optional<RunChange> RunTurns::command(fakes::NodeId client, std::span<const std::string_view> words,
                                           EventNumber present) {
    // What has done nothing may be a script that the server does not know: its reply tells.
    if (words.empty()) return doing_.has_effect ? finish(present) : std::nullopt;
    begin(client, words);
    return std::nullopt;
}

std::optional<RunChange> RunTurns::replied(const fakes::Event& reply, EventNumber present) {
    if (reply.node != client_) return std::nullopt;
    if (reply.payload.starts_with('-')) doing_ = {};
    return finish(present);
}

void RunTurns::begin(fakes::NodeId client, std::span<const std::string_view> words) {
    ++number_;
    client_ = client;
    doing_ = {};
    if (by_user(client)) return;
    for (const std::string_view word : words) {
        const std::string_view run = run_of_document_key(word);
        if (run.empty()) continue;
        // A command about several runs reads them, and changes none.
        doing_.is_of_one = doing_.run.empty();
        if (doing_.is_of_one) doing_.run = run;
    }
    if (!doing_.is_of_one) return;
    const std::string own_id = fmt::format(R"("id":"{}")", doing_.run);
    const Run& run = runs_[doing_.run];
    for (const std::string_view word : words) {
        if (word.starts_with('{') && word.find(own_id) != std::string_view::npos) doing_.brings_document = true;
        if (!word.empty() && (word == run.token || run.loss_of(word) != nullptr || run.read_by(word) != nullptr))
            doing_.token = word;
    }
}

void RunTurns::string_set(fakes::NodeId client, std::string_view key, std::string_view after) {
    if (is_run_lock(key)) {
        const std::string_view name = key.substr(kRunLockPrefix.size());
        Run& run = runs_[std::string(name)];
        if (run.token != after) run.lose_token(number_);
        run.token = after;
        doing_.has_effect = true;
        if (doing_.is_of_one && name == doing_.run) doing_.token = after;
    } else if (const std::string_view run = run_of_document_key(key); !run.empty() && !by_user(client)) {
        if (run == doing_.run) doing_.wrote = doing_.has_effect = true;
    }
}

void RunTurns::key_removed(std::string_view key) {
    const auto run = is_run_lock(key) ? runs_.find(key.substr(kRunLockPrefix.size())) : runs_.end();
    if (run != runs_.end()) run->second.lose_token(number_);
}

std::optional<RunChange> RunTurns::finish(EventNumber present) {
    if (!doing_.is_of_one) return std::nullopt;
    Run& run = runs_[doing_.run];
    std::optional<RunChange> change;
    const bool holds = !doing_.token.empty() && doing_.token == run.token;
    if (doing_.brings_document || doing_.wrote) {
        change = end_turn(run);
    } else if (holds || run.token.empty() || go_unlocked) {  // else it asks in vain, and reads nothing
        const std::string holder = holds ? run.token : fmt::format("node {}", client_.value);
        run.forget_read(holder);
        run.reads.push_back({.holder = holder, .client = client_, .begin = number_, .read = present});
    }
    doing_ = {};
    return change;
}

std::optional<RunChange> RunTurns::end_turn(Run& run) {
    // That of the token which the command names, else the last one of its client.
    const RunTurn* read = run.read_by(doing_.token);
    for (const RunTurn& one : run.reads | std::views::reverse)
        if (read == nullptr && one.client == client_) read = &one;
    // A holder of the lock that has been refused the change goes on from what it read.
    if (read == nullptr || (!doing_.wrote && read->holder == run.token)) return std::nullopt;
    RunChange change{doing_.run, *read, {run.changes.begin(), run.changes.end()}};
    change.turn.wrote = doing_.wrote;
    change.turn.end = number_;
    if (const Lost* lost = run.loss_of(read->holder); lost != nullptr && !doing_.wrote)
        change.turn.end = std::min(change.turn.end, lost->command);
    run.forget_read(change.turn.holder);
    run.changes.push_back(change.turn);
    if (run.changes.size() > kRememberedMax) run.changes.pop_front();
    return change;
}

void RunTurns::data_lost() {
    runs_.clear();
    doing_ = {};
}

}  // namespace lockstep::sim
