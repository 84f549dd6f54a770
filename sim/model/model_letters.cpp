// What the model makes of dead letters, and of the deliveries and ends that ask for them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/model/request_facts.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventKind;
using fakes::When;
namespace wire = engine::wire;

namespace {

/// Of dead letters, each with what else is to be told.
constexpr std::string_view kOutbox = "lockstep:dead_letter:outbox";
/// Of a job whose own dead letter is still to come, or never will: the store has none of it.
constexpr std::string_view kQuarantineFailed = "quarantine_failed";
constexpr std::string_view kSumPrefix = "undecodable:";

}  // namespace

std::string_view Model::code_of_letter(std::string_view letter) {
    const auto json = wire::read_json(letter);
    return label_names_.name_of(label_names_.number_of(json.is_object() ? json.value("reason_code", "") : ""));
}

void Model::write_letter(fakes::NodeId client, Job& about, const std::string* before, std::string_view after) {
    record_letter(client, about, before, after);
    DeadLetter& letter = about.letter;
    letter.stored = true;
    letter.may_be_listed = false;
    if (before != nullptr) return;
    letter.known = true;
    letter.lost = letter.taken_back = false;
    letter.written = upcoming();
    letter.by_scheduler = is_scheduler(client);
    letter.code = code_of_letter(after);
    if (letter.first_code.empty()) letter.first_code = letter.code;
}

void Model::remove_letter(std::string_view key, fakes::redis::Removal why, const fakes::redis::Value& last) {
    const bool evicted = why == fakes::redis::Removal::evicted;
    letter_index_lost_ |= why != fakes::redis::Removal::deleted && is_letter_index(key);
    const auto* outbox = evicted && key == kOutbox ? std::get_if<fakes::redis::SortedSet>(&last) : nullptr;
    if (outbox != nullptr)
        for (const auto& entry : outbox->ranking()) job(entry.member).output.letter_lost = true;
    if (!key.starts_with(kLetterPrefix)) return;
    Job& about = job(key.substr(kLetterPrefix.size()));
    about.letter.remove(evicted);
    about.letter.may_be_listed |= why != fakes::redis::Removal::deleted;
    if (!evicted) return;
    about.output.letter_lost = true;
    if (const State end = about.bad_end.by_scheduler; BadEnd::is_repaired(end)) about.bad_end.leave_unexplained(end);
}

void Model::restore_letters(const fakes::redis::Keyspace& now) {
    letter_index_lost_ = true;
    letter_sums_.messages = letter_sums_.published = letter_sums_.may_repeat = 0;
    for (Job& job : jobs_) job.letter.stored = job.bad_end.may_be_retried = false;
    for (const std::string_view key : now.keys()) {
        const auto& value = now.find(key)->value;
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && key.starts_with(kLetterPrefix)) {
            DeadLetter& letter = job(key.substr(kLetterPrefix.size())).letter;
            letter.stored = true;
            letter.code = code_of_letter(*text);
        }
        if (is_letter_index(key))
            for (const std::string_view listed : jobs_listed(value)) job(listed).letter.may_be_listed = true;
        if (const auto name = job_of_hash(key); name && hash_field(now, key, "ls_retryable"))
            job(*name).bad_end.may_be_retried = true;
    }
    for (Job& job : jobs_) {
        BadEnd& end = job.bad_end;
        end.leave_unexplained(State::absent);
        if (end.by_scheduler != job.in_hash) end.by_scheduler = State::absent;
        job.letter.restored(end.by_scheduler != State::absent);
    }
}

void Model::list_letter(std::string_view key, std::string_view member) {
    if (!is_letter_index(key)) return;
    DeadLetter& letter = job(member).letter;  // the model knows each member from then on
    if (key != kUndecodableIndex) return;
    if (!std::exchange(letter.in_sum, true)) ++letter_sums_.messages;
    letter_sums_.latest_message = clock_.told_at();
}

void Model::on_letter_told(const Event& event) {
    if (event.subject != wire::kSubjectDlq || event.packet == nullptr) return;
    const cap::JobResult& result = event.packet->job_result();
    // One about no job bears its name as the trace of its packet.
    const std::string& name = result.job_id().empty() ? event.packet->trace_id() : result.job_id();
    if (name.empty() || result.error_code() == kQuarantineFailed) return;
    Job& about = job(name);
    about.letter.published = true;
    if (name.starts_with(kSumPrefix)) on_sum_told(event, name);
    const bool withheld = result.error_code().starts_with("output_quarantined");
    if (withheld && about.output.letter == 0) about.output.letter = clock_.present();
}

/// The number of messages comes first in its text.
void Model::on_sum_told(const Event& event, const std::string& name) {
    const auto count = static_cast<std::uint64_t>(whole_number(event.packet->job_result().error_message()));
    letter_sums_.published += count;
    const Time now = clock_.told_at();
    if (!weather_.clear_for(event.node, now - LetterSums::kDisturbedFor)) letter_sums_.may_repeat += count;
    SumPublished& fact = note(SumPublished{}, event.node, nullptr, clock_.present());
    fact.name = name;
    const auto [latest, is_first] = letter_sums_.latest.try_emplace(name, now);
    if (!is_first) fact.before = std::exchange(latest->second, now);
}

Job& Model::letter_of_message(const Event& event) {
    return job(fmt::format("poison:{}:{}", event.stream, event.sequence));
}

void Model::on_late_answer(const Event& event) {
    const bool terminates = event.kind == EventKind::term;
    if (event.when == When::applied && event.kind != EventKind::nak) late_deliveries_.settled(event);
    if (event.when == When::applied && terminates) {
        DeadLetter& letter = letter_of_message(event).letter;
        if (letter.terminated == 0 && !letter.taken_back) letter.terminated = clock_.present();
    }
    if (event.when != When::before) return;
    const auto late = late_deliveries_.answered(event);
    const bool by_scheduler = terminates && event.name.starts_with(kSchedulersDurables);
    if (!late && !by_scheduler) return;
    const Job* letter = by_scheduler ? &letter_of_message(event) : nullptr;
    LateAnswer& fact = note(LateAnswer{}, event.node, event.job.empty() ? nullptr : &job_of(event), clock_.present());
    fact.terminates = letter;
    fact.requeues = event.kind == EventKind::nak;
    fact.stream = event.stream;
    fact.sequence = event.sequence;
    fact.is_last = late_deliveries_.is_last(event);
    fact.delivery = late;
}

void Model::on_exhausted(const Event& event) {
    note(DeliveriesExhausted{}, event.node, nullptr, clock_.present());
    const std::int64_t number = late_deliveries_.exhausted(event);
    if (number == 0) return;
    DeadLetter& letter = letter_of_message(event).letter;
    letter.last_number = number;
    if (letter.exhausted == 0) letter.exhausted = clock_.present();
}

/// A scheduler is delivered a submission of a job that has ended before, or acknowledges it.
void Model::meet_end(const Event& event) {
    if (event.job.empty() || event.packet == nullptr || !event.packet->has_job_request()) return;
    Job& about = job_of(event);
    BadEnd& end = about.bad_end;
    if (event.kind == EventKind::ack && event.when == When::before && std::ranges::count(end.met_by, event.node) > 0)
        end.met = clock_.present();
    if (event.kind != EventKind::deliver || !is_scheduler(event.node)) return;
    end.delivered = true;
    // One that comes again may have been handled before, and after a power cut any may have been. A frozen replica may receive the first
    // delivery after later ones.
    const auto was_delivered = [&](const Submission::FirstDelivery& first) {
        return first.sequence == event.sequence && first.event < clock_.present();
    };
    const bool comes_again = event.number > 1 || std::ranges::any_of(about.submission.first_delivered, was_delivered);
    if (comes_again || end.delivered_before_cut || end.unexplained == State::absent) return;
    // What is no request, or names a job of another tenant, is dropped.
    const cap::JobRequest& request = event.packet->job_request();
    if (about.tenant == &tenant(tenant_named_by(request)) && !wire::malformation(request))
        end.met_by.push_back(event.node);
}

}  // namespace lockstep::sim
