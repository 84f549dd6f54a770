#include "sim/model/output_names.h"

#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/output_members.h"

namespace lockstep::sim {

namespace {

constexpr std::uint64_t kLookedAtFirst = 4;
constexpr std::uint64_t kOneIn = 16;

}  // namespace

std::string subject_family(std::string_view subject) {
    if (engine::wire::worker_of(subject)) return "worker.*.jobs";
    return subject.starts_with("job.") ? "job.*" : std::string(subject);
}

bool has_named_fields(std::string_view family) { return family == "job:meta:*" || family == "lockstep:durable:*"; }

bool has_named_members(std::string_view family, std::string_view text) {
    return text.starts_with('{') && family != "lockstep:wf:def:*" && family != "*:redacted:*";
}

bool holds_requests(std::string_view family) { return family == "lockstep:saga:*" || family == "saga:*:stack"; }

bool is_payload_family(std::string_view family) { return family == "res:*" || family == "ctx:*"; }

OutputNames::Kind* OutputNames::kind_of_key(std::string_view key, std::string_view& family) {
    if (families_ == nullptr) return nullptr;
    if (key != last_key_) {
        last_key_ = key;
        last_family_ = families_->family_of(key);
        const bool is_none = last_family_.empty() || is_payload_family(last_family_);
        last_kind_ = is_none ? nullptr : &kinds_[std::string(last_family_)];
    }
    family = last_family_;
    return last_kind_;
}

bool OutputNames::is_looked_at(Kind& kind) { return kind.met++ < kLookedAtFirst || kind.met % kOneIn == 0; }

void OutputNames::tell(Kind& kind, std::string_view kind_name, std::string_view member, const Told& told) {
    if (kind.members.contains(member)) return;
    kind.members.emplace(member);
    told(*names_.emplace(std::string(kind_name) + ' ' + std::string(member)).first);
}

void OutputNames::field(std::string_view key, std::string_view field, std::string_view value, const Told& told) {
    if (value.empty()) return;
    std::string_view family;
    Kind* kind = kind_of_key(key, family);
    if (kind != nullptr) tell(*kind, family, has_named_fields(family) ? field : "*", told);
}

void OutputNames::member(std::string_view key, const Told& told) {
    std::string_view family;
    if (Kind* kind = kind_of_key(key, family)) tell(*kind, family, "member", told);
}

void OutputNames::text(std::string_view key, std::string_view text, const Told& told) {
    std::string_view family;
    Kind* kind = kind_of_key(key, family);
    if (kind == nullptr) return;
    if (holds_requests(family)) {
        cap::JobRequest request;
        if (request.ParseFromArray(text.data(), static_cast<int>(text.size()))) message(family, request, told);
        return;
    }
    if (!is_looked_at(*kind)) return;
    if (!has_named_members(family, text)) return tell(*kind, family, "value", told);
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_discarded()) return;
    std::string path;
    const auto visit = [&](std::string_view at, const nlohmann::json&) { tell(*kind, family, at, told); };
    visit_members(document, path, visit);
}

void OutputNames::message(std::string_view kind_name, const google::protobuf::Message& message, const Told& told) {
    Kind& kind = kinds_[std::string(kind_name)];
    if (!is_looked_at(kind)) return;
    std::string path;
    const auto visit = [&](std::string_view at, const FieldPlace&) { tell(kind, kind_name, at, told); };
    visit_fields(message, path, visit);
}

void OutputNames::sent(const fakes::Event& event, const Told& told) {
    if (families_ == nullptr || event.when != fakes::When::before) return;
    const auto ask = [&](auto question, std::string_view kind_name) {
        if (question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
            message(kind_name, question, told);
    };
    if (event.kind == fakes::EventKind::kernel_check)
        ask(cap::PolicyCheckRequest(), "input policy");
    else if (event.kind == fakes::EventKind::output_check)
        ask(cap_output::OutputCheckRequest(), "output policy");
    else if (event.packet != nullptr)
        message(subject_family(event.subject), *event.packet, told);
}

}  // namespace lockstep::sim
