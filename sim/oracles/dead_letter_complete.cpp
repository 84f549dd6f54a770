#include "sim/oracles/dead_letter_complete.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kEntryPrefix = "dlq:entry:";
constexpr std::string_view kIndex = "dlq:index";

bool of_a_scheduler(std::string_view script) {
    return script == "commit" || script == "time_out" || script == "put_dead_letter" || script == "repair_dead_letter";
}

bool is_bad(std::string_view state) {
    return state == "DENIED" || state == "FAILED" || state == "TIMEOUT" || state == "OUTPUT_QUARANTINED";
}

std::string code_of(std::string_view entry) {
    const auto json = nlohmann::json::parse(entry, nullptr, false);
    return json.is_object() ? json.value("reason_code", "") : std::string{};
}

}  // namespace

void DeadLetterComplete::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case fakes::EventKind::redis:
            if (event.when == fakes::When::before && of_a_scheduler(event.script)) schedulers_.insert(event.node);
            break;
        case fakes::EventKind::deliver:
            if (event.packet != nullptr && event.packet->has_job_result() &&
                event.packet->job_result().status() == cap::JOB_STATUS_FAILED_RETRYABLE)
                retryable_.insert(event.packet->job_result().job_id());
            break;
        case fakes::EventKind::term:
            if (event.when != fakes::When::applied) break;
            exercise();
            terminated_.emplace(fmt::format("poison:{}:{}", event.stream, event.sequence), present());
            break;
        case fakes::EventKind::stored:
            if (event.subject == engine::wire::kSubjectDlq && event.packet != nullptr)
                told_.insert(event.packet->job_result().job_id());
            break;
        default: break;
    }
}

void DeadLetterComplete::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                  const std::string*, std::string_view after) {
    const auto job = job_of_hash(key);
    if (!job || field != "state") return;
    if (is_bad(after) && schedulers_.contains(client)) {
        exercise();
        ended_.insert_or_assign(std::string(*job), std::string(after));
        ended_at_.insert_or_assign(std::string(*job), present());
    } else {
        ended_.erase(std::string(*job));
    }
}

void DeadLetterComplete::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                                    std::string_view after, std::int64_t, std::int64_t) {
    if (!key.starts_with(kEntryPrefix)) return;
    const std::string_view id = key.substr(kEntryPrefix.size());
    const bool by_scheduler = schedulers_.contains(client);
    if (const auto gone = ran_out_.find(id); gone != ran_out_.end()) ran_out_.erase(gone);
    if (before == nullptr) {
        letters_.insert_or_assign(std::string(id), Letter{code_of(after), by_scheduler, upcoming()});
    } else if (by_scheduler && *before != after) {
        violated(client, id, fmt::format("its dead letter said {}, and is overwritten with {}", *before, after));
    }
}

void DeadLetterComplete::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                                     const fakes::redis::Value&, std::int64_t) {
    if (why == fakes::redis::Removal::deleted) return;
    if (key == kIndex) index_lost_ = true;
    if (key.starts_with(kEntryPrefix)) ran_out_.emplace(key.substr(kEntryPrefix.size()));
}

void DeadLetterComplete::restored(const fakes::redis::Keyspace& now) {
    // Letters that were lost before anybody told of them are not owed any more, nor are those of ends that never happened.
    letters_.clear();
    for (const std::string_view key : now.keys()) {
        const auto* entry = key.starts_with(kEntryPrefix) ? now.find(key) : nullptr;
        const auto* text = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
        if (text != nullptr) letters_.emplace(key.substr(kEntryPrefix.size()), Letter{code_of(*text), false});
    }
    // Whatever the two no longer say of each other is lost.
    index_lost_ = true;
    const auto* entry = now.find(kIndex);
    if (const auto* index = entry == nullptr ? nullptr : std::get_if<fakes::redis::SortedSet>(&entry->value)) {
        for (const auto& item : index->ranking()) ran_out_.emplace(item.member);
    }
    std::erase_if(ended_, [&now](const auto& end) { return job_state(now, end.first) != end.second; });
    std::erase_if(terminated_, [this](const auto& letter) { return !letters_.contains(letter.first); });
}

void DeadLetterComplete::judge_index(const fakes::redis::Keyspace& keys) {
    const auto* entry = keys.find(kIndex);
    const auto* index = entry == nullptr ? nullptr : std::get_if<fakes::redis::SortedSet>(&entry->value);
    for (const auto& [id, letter] : letters_) {
        const bool there = keys.find(fmt::format("{}{}", kEntryPrefix, id)) != nullptr;
        const bool listed = index != nullptr && index->score(id) != nullptr;
        if (letter.by_scheduler && there && !listed && !index_lost_)
            violated({}, id, fmt::format("it has a dead letter ({}), and {} does not list it", letter.code, kIndex),
                     letter.event);
    }
    if (index == nullptr) return;
    for (const auto& item : index->ranking()) {
        const bool there = keys.find(fmt::format("{}{}", kEntryPrefix, item.member)) != nullptr;
        if (!there && !ran_out_.contains(item.member))
            violated({}, item.member, fmt::format("{} lists it, and it has no dead letter", kIndex));
    }
}

bool DeadLetterComplete::needs_letter(std::string_view job, std::string_view state) const {
    if (state == "FAILED") return !retryable_.contains(job);
    return state != "TIMEOUT" || tunables_.reconciler_emit_dead_letter;
}

void DeadLetterComplete::at_rest(const RestView& view) {
    for (const auto& [job, state] : ended_) {
        if (!needs_letter(job, state)) continue;
        const auto letter = letters_.find(job);
        if (letter == letters_.end()) {
            violated({}, job, fmt::format("it ended {}, and it never had a dead letter", state), ended_at_[job]);
        } else if (letter->second.code.empty()) {
            violated({}, job, fmt::format("it ended {}, and its dead letter has no reason code", state),
                     letter->second.event);
        } else if (state == "OUTPUT_QUARANTINED" && !letter->second.code.starts_with("output_quarantined")) {
            violated({}, job, fmt::format("its output is withheld, and its dead letter says {}", letter->second.code),
                     letter->second.event);
        }
    }
    for (const auto& [id, event] : terminated_) {
        if (!letters_.contains(id))
            violated({}, {}, fmt::format("its message was terminated, and {} has no dead letter", id), event);
    }
    judge_index(view.redis);
    if (!view.quiet) return;
    for (const auto& [id, letter] : letters_) {
        if (letter.by_scheduler && !told_.contains(id))
            violated({}, id,
                     fmt::format("all is quiet, and nobody has told the bus of its dead letter ({})", letter.code),
                     letter.event);
    }
}

}  // namespace lockstep::sim
