#include "engine/saga/effect.h"

#include "engine/saga/compensation.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine {

namespace {

bool concerns_saga(cap::JobStatus status) {
    return status == cap::JOB_STATUS_SUCCEEDED || status == cap::JOB_STATUS_FAILED_FATAL;
}

}  // namespace

SagaPlan plan_saga(cap::JobStatus status, const std::string& stored_request) {
    if (!concerns_saga(status)) return {};
    if (stored_request.empty()) return {std::nullopt, "no request is stored for it", true};
    const auto request = wire::from_json<cap::JobRequest>(stored_request);
    if (!request) return {std::nullopt, request.error().detail, false};
    return plan_saga(status, *request);
}

SagaPlan plan_saga(cap::JobStatus status, const cap::JobRequest& request) {
    if (!concerns_saga(status) || is_compensation(request)) return {};
    std::optional<SagaName> saga = saga_of(request);
    if (!saga) return {};
    SagaEffect effect{std::move(*saga), {}, status == cap::JOB_STATUS_FAILED_FATAL};
    if (!effect.rollback) {
        if (!request.has_compensation()) return {};
        const auto undo = compensation_template(request);
        if (!undo) return {std::nullopt, undo.error(), true};
        effect.compensation = wire::serialise(*undo);
    }
    return {std::move(effect), {}, true};
}

}  // namespace lockstep::engine
