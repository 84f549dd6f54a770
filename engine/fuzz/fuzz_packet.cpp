#include <google/protobuf/stubs/logging.h>

#include "engine/fuzz/targets.h"
#include "engine/saga/compensation.h"
#include "engine/saga/effect.h"
#include "engine/testing/fuzz_target.h"
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"

namespace lockstep::fuzz {

namespace {

namespace wire = engine::wire;

void request(cap::JobRequest request) {
    wire::trim_identity(request);
    const cap::JobRequest trimmed = request;
    wire::trim_identity(request);
    FUZZ_MUST(wire::serialise(request) == wire::serialise(trimmed));
    FUZZ_MUST(!wire::tenant_of(request).empty());
    if (const auto reason = wire::rejection(request)) FUZZ_MUST(!reason->empty());
    FUZZ_MUST(wire::deadline_of(request) >= engine::Duration{0});

    // What is stored as JSON and read back is the same job to whoever has approved it.
    const std::string hash = wire::job_hash(request);
    const auto stored = wire::to_json(request, wire::Unpopulated::emit);
    const auto back = wire::from_json<cap::JobRequest>(stored);
    FUZZ_MUST(back.has_value());
    FUZZ_MUST(wire::job_hash(*back) == hash);

    (void)engine::workflow_of(request);
    (void)engine::is_compensation(request);
    for (const auto status : {cap::JOB_STATUS_SUCCEEDED, cap::JOB_STATUS_FAILED_FATAL}) {
        const auto plan = engine::plan_saga(status, request);
        if (!plan.effect || plan.effect->compensation.empty()) continue;
        // A compensation that has been recorded is a job, if only one that will be refused by name.
        const auto job = engine::compensation_job(plan.effect->saga, plan.effect->compensation);
        FUZZ_MUST(job.has_value());
        (void)wire::rejection(*job);
    }
    (void)engine::compensation_job({engine::SagaName::Kind::workflow, "t", "saga"}, wire::serialise(request));
    wire::strip_message_id_label(request);
}

}  // namespace

void packet(std::string_view input) {
    // The parser has its own opinion about text that is no UTF-8, and prints it.
    google::protobuf::SetLogHandler(nullptr);
    auto packet = wire::decode(input);
    if (!packet) {
        FUZZ_MUST(!packet.error().detail.empty());
        return;
    }
    // Nothing that was decoded is lost, fields of later versions included.
    const std::string bytes = wire::serialise(*packet);
    const auto again = wire::decode(bytes);
    FUZZ_MUST(again.has_value());
    FUZZ_MUST(wire::serialise(*again) == bytes);

    for (const auto subject : {wire::kSubjectSubmit, wire::kSubjectResult, wire::kSubjectDlq})
        (void)wire::message_id(*packet, subject);
    (void)wire::to_json(*packet);
    if (packet->has_job_result()) (void)wire::rejection(packet->job_result());
    if (packet->has_job_request()) request(packet->job_request());
}

}  // namespace lockstep::fuzz
