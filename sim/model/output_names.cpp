#include "sim/model/output_names.h"

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/output_members.h"

namespace lockstep::sim {

namespace {

constexpr std::uint64_t kLookedAtFirst = 4;
constexpr std::uint64_t kOneIn = 64;

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

void OutputNames::metric(std::string_view name, bool has_labels, const Told& told) {
    if (families_ == nullptr) return;
    Kind& kind = kind_of(name);
    if (kind.met++ > 0) return;
    tell(kind, "value", told);
    if (has_labels) tell(kind, "labels", told);
}

OutputNames::Kind& OutputNames::kind_of(std::string_view name) {
    auto known = kinds_.find(name);
    if (known == kinds_.end()) {
        known = kinds_.emplace(std::string(name), Kind{}).first;
        known->second.name = name;
    }
    return known->second;
}

OutputNames::Kind* OutputNames::kind_of_key(std::string_view key) {
    if (families_ == nullptr) return nullptr;
    return of_keys_.of(key, [this](std::string_view asked) {
        const std::string_view family = families_->family_of(asked);
        return family.empty() || is_payload_family(family) ? nullptr : &kind_of(family);
    });
}

bool OutputNames::is_looked_at(Kind& kind) { return kind.met++ < kLookedAtFirst || kind.met % kOneIn == 0; }

void OutputNames::tell(Kind& kind, std::string_view member, const Told& told) {
    if (kind.told.contains(member)) return;
    told(kind.told.emplace(std::string(member), kind.name + ' ' + std::string(member)).first->second);
}

void OutputNames::field(std::string_view key, std::string_view field, std::string_view value, const Told& told) {
    if (value.empty()) return;
    if (Kind* kind = kind_of_key(key)) tell(*kind, has_named_fields(kind->name) ? field : "*", told);
}

void OutputNames::member(std::string_view key, const Told& told) {
    if (Kind* kind = kind_of_key(key)) tell(*kind, "member", told);
}

void OutputNames::text(std::string_view key, std::string_view text, const Told& told) {
    Kind* kind = kind_of_key(key);
    if (kind == nullptr) return;
    if (holds_requests(kind->name)) {
        cap::JobRequest request;
        if (is_looked_at(*kind) && request.ParseFromArray(text.data(), static_cast<int>(text.size())))
            message(*kind, request, told);
        return;
    }
    if (!has_named_members(kind->name, text)) return tell(*kind, "value", told);
    if (!is_looked_at(*kind)) return;
    const auto document = engine::wire::read_json(text);
    if (document.is_discarded()) return;
    std::string path;
    const auto visit = [&](std::string_view at, const nlohmann::json&) { tell(*kind, at, told); };
    visit_members(document, path, visit);
}

void OutputNames::message(Kind& kind, const google::protobuf::Message& message, const Told& told) {
    std::string path;
    const auto visit = [&](std::string_view at, const FieldPlace&) { tell(kind, at, told); };
    visit_fields(message, path, visit);
}

void OutputNames::sent(const fakes::Event& event, const Told& told) {
    if (families_ == nullptr || event.when != fakes::When::before) return;
    const auto ask = [&](auto question, std::string_view kind_name) {
        Kind& kind = kind_of(kind_name);
        if (is_looked_at(kind) && question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
            message(kind, question, told);
    };
    if (event.kind == fakes::EventKind::kernel_check) {
        ask(cap::PolicyCheckRequest(), "input policy");
    } else if (event.kind == fakes::EventKind::output_check) {
        ask(cap_output::OutputCheckRequest(), "output policy");
    } else if (event.packet != nullptr) {
        Kind& kind = kind_of(subject_family(event.subject));
        if (is_looked_at(kind)) message(kind, *event.packet, told);
    }
}

}  // namespace lockstep::sim
