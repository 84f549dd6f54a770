#include "sim/oracles/dead_letter_complete.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "engine/announce/output_audit.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/request_facts.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kEntryPrefix = "dlq:entry:";
constexpr std::string_view kIndex = "dlq:index";
constexpr std::string_view kUndecodableIndex = "lockstep:undecodable:index";
/// A sum is told once a minute; what disturbed the telling of one explains the next.
constexpr engine::Duration kUntilToldAgain = std::chrono::minutes{2};
/// A minute, less what the telling of the former one may have taken.
constexpr engine::Duration kBetweenSums = std::chrono::seconds{50};
/// Of what the bus is told about several messages at once. The number of them comes first in its text.
constexpr std::string_view kSumPrefix = "undecodable:";

/// Of a job that somebody has ended without a letter (D-11).
constexpr std::string_view kRepaired = "redelivery_dlq_retry";

/// A delivery before may still be in somebody's hands.
constexpr std::int64_t kWatchedBefore = 3;

/// The first delivery at which a message is given up.
std::int64_t burial_start(const engine::Tunables& tunables) {
    constexpr std::int64_t kLeft = 5;
    return tunables.bus_max_deliver - std::min(kLeft, (tunables.bus_max_deliver - 1) / 2);
}

std::string letter_of(const fakes::Event& event) { return fmt::format("poison:{}:{}", event.stream, event.sequence); }

const fakes::redis::SortedSet* index_of(const fakes::redis::Keyspace& keys, std::string_view key) {
    const auto* entry = keys.find(key);
    return entry == nullptr ? nullptr : std::get_if<fakes::redis::SortedSet>(&entry->value);
}

bool is_bad(std::string_view state) {
    return state == "DENIED" || state == "FAILED" || state == "TIMEOUT" || state == "OUTPUT_QUARANTINED";
}

std::string code_of(std::string_view entry) {
    const auto json = nlohmann::json::parse(entry, nullptr, false);
    return json.is_object() ? json.value("reason_code", "") : std::string{};
}

}  // namespace

void DeadLetterComplete::on_event(const fakes::Event& event, Time now) {
    if (is_result_in_hand(event) && event.packet->job_result().status() == cap::JOB_STATUS_FAILED_RETRYABLE)
        retryable_.insert(event.packet->job_result().job_id());
    switch (event.kind) {
        case fakes::EventKind::deliver:
            note_delivery(event);
            if (event.number >= tunables_.bus_max_deliver) last_out_.insert(message_of(event));
            on_delivery(event, now);
            break;
        case fakes::EventKind::nak:
            if (event.when == fakes::When::before) judge_verdict(event);
            break;
        case fakes::EventKind::ack:
        case fakes::EventKind::term: on_verdict(event); break;
        case fakes::EventKind::max_deliveries:
            exercise();
            last_out_.erase(message_of(event));
            if (!done_with_.contains(message_of(event)) && was_to_be_given_up(message_of(event)))
                given_up_.emplace(letter_of(event), present());
            break;
        case fakes::EventKind::stored: note_told(event, now); break;
        case fakes::EventKind::fault:
            // What the stream has lost is not delivered again, and the server says nothing about it.
            if (event.name == "nats.power_cut") {
                last_out_.clear();
                spent_.clear();
                handed_out_before_cut_.insert(handed_out_.begin(), handed_out_.end());
            }
            break;
        default: break;
    }
}

/// Of a submission of a job that somebody else has ended before it came.
void DeadLetterComplete::note_delivery(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_request() || !is_scheduler(event.node)) return;
    handed_out_.emplace(event.job);
    // One that comes again may have been dealt with before. Whoever has lost its power may have forgotten that.
    if (event.number > 1 || handed_out_before_cut_.contains(event.job)) return;
    const auto ended = ended_by_others_.find(event.job);
    if (ended == ended_by_others_.end()) return;
    // What is no request, or names a job of another tenant, is dropped.
    const cap::JobRequest& request = event.packet->job_request();
    const auto tenant = tenants_.find(event.job);
    if (tenant != tenants_.end() && tenant->second == tenant_named_by(request) && !engine::wire::malformation(request))
        ended->second.found_by.insert(event.node);
}

void DeadLetterComplete::on_verdict(const fakes::Event& event) {
    const bool ack = event.kind == fakes::EventKind::ack;
    if (event.when == fakes::When::before) {
        const auto ended = ack ? ended_by_others_.find(event.job) : ended_by_others_.end();
        if (ended != ended_by_others_.end() && event.packet != nullptr && event.packet->has_job_request() &&
            ended->second.found_by.contains(event.node))
            ended->second.found = present();
        if (!ack) judge_termination(event);
        judge_verdict(event);
        if (ack) done_with_.insert(message_of(event));
        return;
    }
    if (event.when != fakes::When::applied) return;
    done_with_.erase(message_of(event));
    last_out_.erase(message_of(event));
    if (ack) return;
    exercise();
    terminated_.emplace(letter_of(event), present());
}

void DeadLetterComplete::on_delivery(const fakes::Event& event, Time now) {
    if (!event.name.starts_with(kSchedulersDurables) || event.number + kWatchedBefore < burial_start(tunables_)) return;
    Spent& message = spent_[message_of(event)];
    message.unclear = message.unclear || message.in_hand || event.packet == nullptr;
    message.node = event.node;
    message.number = event.number;
    message.since = now;
    message.event = present();
    message.in_hand = true;
}

bool DeadLetterComplete::was_to_be_given_up(const Message& message) const {
    const auto spent = spent_.find(message);
    return spent != spent_.end() && spent->second.number >= burial_start(tunables_);
}

void DeadLetterComplete::judge_verdict(const fakes::Event& event) {
    const auto entry = spent_.find(message_of(event));
    if (entry == spent_.end() || !entry->second.in_hand) return;
    Spent& message = entry->second;
    message.in_hand = false;
    message.unclear = message.unclear || message.node != event.node;
    if (event.kind == fakes::EventKind::term || message.unclear || message.number < burial_start(tunables_)) return;
    exercise();
    const bool handed_back = event.kind == fakes::EventKind::nak;
    if (handed_back && !weather_.clear_for(event.node, message.since)) return;
    violated(event.node, event.job,
             fmt::format("message {} of {} is {} at delivery {} of {}: by then it is to be given up", event.sequence,
                         event.stream, handed_back ? "handed back" : "acknowledged", message.number,
                         tunables_.bus_max_deliver),
             message.event);
}

void DeadLetterComplete::judge_termination(const fakes::Event& event) {
    if (!event.name.starts_with(kSchedulersDurables) || lost_letters_) return;
    const std::string id = letter_of(event);
    if (letters_.contains(id)) return;
    if (told_.contains(id) && weather_.stopping(event.node) && last_out_.contains(message_of(event))) return;
    violated(
        event.node, event.job,
        fmt::format("message {} of {} is terminated, and {} has no dead letter yet", event.sequence, event.stream, id));
}

void DeadLetterComplete::note_told(const fakes::Event& event, Time now) {
    if (event.subject != engine::wire::kSubjectDlq || event.packet == nullptr) return;
    const auto& result = event.packet->job_result();
    if (result.error_code() == engine::kCodeQuarantineFailed) return;  // of a job whose own letter is still to come
    // A letter about no job bears its name as the trace of its packet.
    told_.insert(result.job_id().empty() ? event.packet->trace_id() : result.job_id());
    if (!result.job_id().starts_with(kSumPrefix)) return;
    std::uint64_t count = 0;
    const std::string& text = result.error_message();
    std::from_chars(text.data(), text.data() + text.size(), count);
    undecodable_told_ += count;
    const bool calm = weather_.clear_for(event.node, now - kUntilToldAgain);
    if (!calm) may_repeat_ += count;
    const auto [last, first] = sums_told_.try_emplace(result.job_id(), now);
    if (!first && calm && is_scheduler(event.node) && now - last->second < kBetweenSums)
        violated(event.node, {},
                 fmt::format("the bus is told of {} a second time within {} ms", result.job_id(),
                             engine::to_millis(kBetweenSums)));
    last->second = now;
}

void DeadLetterComplete::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double) {
    if (key != kUndecodableIndex) return;
    undecodable_.emplace(member);
    last_undecodable_ = told_at();
}

void DeadLetterComplete::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                  const std::string*, std::string_view after) {
    const auto job = job_of_hash(key);
    if (job && field == "tenant") tenants_.insert_or_assign(std::string(*job), std::string(after));
    if (job && field == "ls_retryable") may_be_retried_.emplace(*job);
    if (!job || field != "state") return;
    if (const auto ended = ended_by_others_.find(*job); ended != ended_by_others_.end()) ended_by_others_.erase(ended);
    if (!is_scheduler(client) && (after == "DENIED" || after == "FAILED"))
        ended_by_others_.emplace(*job, EndedByOthers{std::string(after), {}, 0});
    if (is_bad(after) && is_scheduler(client)) {
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
    const bool by_scheduler = is_scheduler(client);
    if (const auto gone = ran_out_.find(id); gone != ran_out_.end()) ran_out_.erase(gone);
    if (by_scheduler && before == nullptr && code_of(after) == kRepaired && may_be_retried_.contains(id))
        violated(client, id, "its failure may be retried by its submitter, and it is given a dead letter");
    if (before == nullptr) {
        letters_.insert_or_assign(std::string(id), Letter{code_of(after), by_scheduler, upcoming()});
    } else if (by_scheduler && *before != after) {
        violated(client, id, fmt::format("its dead letter said {}, and is overwritten with {}", *before, after));
    }
}

void DeadLetterComplete::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                                     const fakes::redis::Value&, std::int64_t) {
    if (const auto job = job_of_hash(key)) {
        if (const auto ended = ended_by_others_.find(*job); ended != ended_by_others_.end())
            ended_by_others_.erase(ended);
        if (const auto known = may_be_retried_.find(*job); known != may_be_retried_.end()) may_be_retried_.erase(known);
    }
    const bool lost = why == fakes::redis::Removal::evicted;
    if (key.starts_with(kEntryPrefix)) {
        const std::string_view id = key.substr(kEntryPrefix.size());
        if (const auto letter = letters_.find(id); letter != letters_.end()) {
            letter->second.lost = lost;
            Letter gone = letter->second;
            gone.by_scheduler = false;
            gone_.insert_or_assign(std::string(id), std::move(gone));
            // As if it had never had one.
            const auto ended = ended_.find(id);
            if (lost && ended != ended_.end() && (ended->second == "DENIED" || ended->second == "FAILED"))
                ended_by_others_.insert_or_assign(std::string(id), EndedByOthers{ended->second, {}, 0});
        }
        if (why != fakes::redis::Removal::deleted) ran_out_.emplace(id);
    } else if (why != fakes::redis::Removal::deleted && (key == kIndex || key == kUndecodableIndex)) {
        index_lost_ = true;
    }
}

void DeadLetterComplete::restored(const fakes::redis::Keyspace& now) {
    ended_by_others_.clear();
    // Letters that were lost before anybody told of them are not owed any more, nor are those of ends that never happened. One that
    // had gone before has been written all the same, where its end stands.
    std::erase_if(ended_, [&now](const auto& end) { return job_state(now, end.first) != end.second; });
    letters_.clear();
    for (const std::string_view key : now.keys()) {
        const auto* entry = key.starts_with(kEntryPrefix) ? now.find(key) : nullptr;
        const auto* text = entry == nullptr ? nullptr : std::get_if<std::string>(&entry->value);
        if (text != nullptr)
            letters_.insert_or_assign(std::string(key.substr(kEntryPrefix.size())), Letter{code_of(*text), false});
    }
    std::erase_if(gone_, [this](const auto& letter) { return !ended_.contains(letter.first); });
    letters_.insert(gone_.begin(), gone_.end());
    lost_letters_ = true;
    // Whatever the two no longer say of each other is lost.
    index_lost_ = true;
    for (const std::string_view key : {kIndex, kUndecodableIndex}) {
        const auto* index = index_of(now, key);
        if (index == nullptr) continue;
        for (const auto& item : index->ranking()) ran_out_.emplace(item.member);
    }
    undecodable_.clear();  // how many were still to be told of is lost as well
    std::erase_if(given_up_, [this](const auto& letter) { return !letters_.contains(letter.first); });
    std::erase_if(terminated_, [this](const auto& letter) { return !letters_.contains(letter.first); });
}

void DeadLetterComplete::judge_index(const fakes::redis::Keyspace& keys) {
    const auto* index = index_of(keys, kIndex);
    const auto* undecodable = index_of(keys, kUndecodableIndex);
    const auto lists = [](const fakes::redis::SortedSet* in, const std::string& id) {
        return in != nullptr && in->score(id) != nullptr;
    };
    for (const auto& [id, letter] : letters_) {
        const bool there = keys.find(fmt::format("{}{}", kEntryPrefix, id)) != nullptr;
        const bool listed = lists(index, id) || lists(undecodable, id);
        if (letter.by_scheduler && there && !listed && !index_lost_)
            violated({}, id, fmt::format("it has a dead letter ({}), and {} does not list it", letter.code, kIndex),
                     letter.event);
    }
    for (const auto& [key, listing] : {std::pair{kIndex, index}, std::pair{kUndecodableIndex, undecodable}}) {
        if (listing == nullptr) continue;
        for (const auto& item : listing->ranking()) {
            const bool there = keys.find(fmt::format("{}{}", kEntryPrefix, item.member)) != nullptr;
            if (!there && !ran_out_.contains(item.member))
                violated({}, item.member, fmt::format("{} lists it, and it has no dead letter", key));
        }
    }
    const auto limit = static_cast<std::size_t>(tunables_.dlq_undecodable_max_size);
    if (undecodable != nullptr && undecodable->ranking().size() > limit)
        violated({}, {}, fmt::format("{} lists more than {} letters", kUndecodableIndex, limit));
}

void DeadLetterComplete::judge_messages() {
    for (const auto& [id, event] : terminated_) {
        if (!letters_.contains(id) && !told_.contains(id))
            violated({}, {}, fmt::format("its message was terminated, and {} has no dead letter", id), event);
    }
    for (const auto& [id, event] : given_up_) {
        if (!letters_.contains(id) && !told_.contains(id))
            violated({}, {}, fmt::format("its message is not delivered any more, and {} has no dead letter", id),
                     event);
    }
}

void DeadLetterComplete::judge_told() {
    for (const auto& [id, letter] : letters_) {
        if (letter.by_scheduler && !letter.lost && !told_.contains(id) && !undecodable_.contains(id))
            violated({}, id,
                     fmt::format("all is quiet, and nobody has told the bus of its dead letter ({})", letter.code),
                     letter.event);
    }
    if (undecodable_told_ < undecodable_.size())
        violated({}, {},
                 fmt::format(
                     "all is quiet, {} messages were buried because nobody can read them, and the bus was told of {}",
                     undecodable_.size(), undecodable_told_));
    if (undecodable_told_ > undecodable_.size() + may_repeat_)
        violated({}, {},
                 fmt::format("{} messages were buried because nobody can read them, and the bus was told of {}",
                             undecodable_.size(), undecodable_told_));
}

/// It is left to the end of the run where it has not come for longer than it may take.
bool DeadLetterComplete::is_sum_to_come() const {
    return undecodable_told_ < undecodable_.size() && told_at() - last_undecodable_ < kUntilToldAgain;
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
    for (const auto& [job, ended] : ended_by_others_) {
        if (ended.found == 0 || may_be_retried_.contains(job)) continue;
        exercise();
        const auto letter = letters_.find(job);
        if (letter == letters_.end() || letter->second.lost)
            violated({}, job,
                     fmt::format("it was {} without a dead letter, and whoever came across it has not "
                                 "written one",
                                 ended.state),
                     ended.found);
    }
    judge_messages();
    judge_index(view.redis);
    if (view.quiet) judge_told();
}

}  // namespace lockstep::sim
