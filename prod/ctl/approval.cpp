#include "prod/ctl/approval.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/store/dead_letter.h"
#include "engine/store/dead_letter_store.h"
#include "engine/store/keys.h"
#include "engine/store/scripts/common.lua.h"
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/document.h"
#include "prod/ctl/scripts/decide_approval.lua.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;

constexpr const char* kDecider = "api-gateway";
constexpr auto kBusyPause = std::chrono::milliseconds(100);
constexpr int kBusyAttempts = 50;

struct Question {
    std::string request_json;
    cap::JobRequest request;
    std::string trace_id;
    std::string snapshot;
    std::string hash;
};

engine::Task<tl::expected<Question, CommandError>> load_question(Session& session, std::string job) {
    const auto fail = [](int code, std::string what) {
        return tl::make_unexpected(CommandError{code, std::move(what)});
    };
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"GET", "job:req:" + job});
    commands.push_back({"HMGET", engine::keys::job_meta(engine::JobId(job)), "state", "safety_job_hash", "trace_id",
                        "safety_snapshot", "safety_decision", "safety_approval_required"});
    const auto replies = co_await session.read_all(std::move(commands));
    if (!replies) co_return fail(kFailed, replies.error());
    const auto& meta = replies.value()[1];
    const std::string state(meta.at(0).text());
    if (state.empty()) co_return fail(kNotFound, fmt::format("there is no job {}", job));
    if (state != "APPROVAL_REQUIRED")
        co_return fail(kFailed, fmt::format("job {} does not wait for approval: it is {}", job, state));
    Question waiting;
    waiting.request_json = replies.value()[0].text();
    auto request = wire::from_json<cap::JobRequest>(waiting.request_json);
    if (!request)
        co_return fail(kFailed,
                       fmt::format("the stored request of job {} cannot be read: {}", job, request.error().detail));
    waiting.request = std::move(*request);
    waiting.trace_id = meta.at(2).text();
    waiting.snapshot = meta.at(3).text();
    waiting.hash = wire::job_hash(waiting.request);
    if (meta.at(4).text() != "REQUIRE_APPROVAL" && meta.at(5).text() != "true")
        co_return fail(kFailed, fmt::format("job {}: its policy decision asks for no approval", job));
    if (const auto recorded = meta.at(1).text(); !recorded.empty() && recorded != waiting.hash)
        co_return fail(kFailed, fmt::format("job {}: the request is not the one that the policy decided about", job));
    co_return waiting;
}

/// Hands the approved request to the scheduler again, under a message id that the stream has not seen.
engine::Task<engine::Outcome<engine::PublishAck>> resubmit(Session& session, cap::JobRequest request,
                                                           std::string trace) {
    const auto packet = wire::make_packet(std::move(request), std::move(trace), kDecider, session.clock().now());
    const std::string subject(wire::kSubjectSubmit);
    const std::string id = wire::message_id(packet, subject);
    auto outcome = co_await session.bus().publish(subject, wire::serialise(packet), id, session.deadline());
    co_return outcome;
}

engine::Task<engine::Outcome<engine::PublishAck>> publish_rejection(Session& session, const ApprovalOptions& options,
                                                                    const cap::JobRequest& request) {
    const engine::StoreScripts scripts;
    engine::DeadLetterStore letters(session.redis(), session.clock(), session.settings().tunables, scripts);
    const engine::DeadLetter letter{options.job, request.topic(), cap::JOB_STATUS_DENIED, options.reason,
                                    "approval_rejected"};
    // Stored first: should the publish be lost, a scheduler repeats it from the outbox.
    (void)co_await letters.put(letter);
    const auto packet = engine::dead_letter_packet(letter, session.clock().now());
    const std::string bytes = wire::serialise(packet);
    if (wire::is_approval_gate(request.topic())) {
        const std::string result(wire::kSubjectResult);
        const std::string result_id = wire::message_id(packet, result);
        (void)co_await session.bus().publish(result, bytes, result_id, session.deadline());
    }
    const std::string subject(wire::kSubjectDlq);
    const std::string id = wire::message_id(packet, subject);
    auto outcome = co_await session.bus().publish(subject, bytes, id, session.deadline());
    if (outcome.applied()) (void)co_await letters.sent(options.job);
    co_return outcome;
}

}  // namespace

engine::Task<int> decide_approval(Session& session, ApprovalOptions options) {
    const engine::RedisScript script("decide_approval",
                                     std::string(engine::scripts::kCommon) + std::string(scripts::kDecideApproval));
    const std::string ttl = std::to_string(engine::to_millis(session.settings().tunables.job_meta_ttl));
    const std::string target = options.approve ? "PENDING" : "DENIED";
    for (int attempt = 0; attempt < kBusyAttempts; ++attempt) {
        auto waiting = co_await load_question(session, options.job);
        if (!waiting) co_return complain(waiting.error().exit_code, waiting.error().message);
        cap::JobRequest request = waiting->request;
        std::string stored;
        if (options.approve) {
            auto& labels = *request.mutable_labels();
            labels["approval_granted"] = "true";
            labels["approval_reason"] = options.reason;
            labels["approval_note"] = options.note;
            labels[std::string(wire::kMessageIdLabel)] = "approval:" + options.job;
            stored = wire::to_json(request, wire::Unpopulated::emit);
        }
        std::vector<std::string> keys{engine::keys::job_meta(engine::JobId(options.job)),
                                      engine::keys::job_lock(engine::JobId(options.job)), "job:req:" + options.job};
        std::vector<std::string> arguments{options.job,
                                           target,
                                           ttl,
                                           waiting->request_json,
                                           stored,
                                           "approval_by",
                                           options.by,
                                           "approval_role",
                                           "operator",
                                           "approval_reason",
                                           options.reason,
                                           "approval_note",
                                           options.note,
                                           "approval_policy_snapshot",
                                           waiting->snapshot,
                                           "approval_job_hash",
                                           waiting->hash};
        const auto reply =
            co_await session.redis().script(script, std::move(keys), std::move(arguments), session.deadline());
        if (!reply.applied())
            co_return complain(kFailed, fmt::format("job {}: {}", options.job, reply.failure().detail));
        const std::string_view outcome = reply.value().at(0).text();
        if (outcome != "ok") {
            // Somebody works on the job at this moment, or changed it: look again.
            co_await session.clock().sleep(kBusyPause);
            continue;
        }
        engine::Outcome<engine::PublishAck> told = engine::NotApplied{};
        if (options.approve)
            told = co_await resubmit(session, std::move(request), waiting->trace_id);
        else
            told = co_await publish_rejection(session, options, request);
        if (!told.applied())
            complain(kDone,
                     fmt::format("the decision is recorded, but the message about it may be lost ({}){}",
                                 told.failure().detail,
                                 options.approve ? "; the scheduler takes the job up by itself within minutes" : ""));
        if (options.approve && wire::leads_elsewhere(waiting->request.context_ptr()))
            complain(kDone,
                     fmt::format("the input of job {} lies at {}, and the approval does not cover it: no scheduler "
                                 "reads there, so whoever may write there may exchange it until the worker has read it",
                                 options.job, wire::trim(waiting->request.context_ptr())));
        if (options.json)
            fmt::print("{}",
                       document_line({{"job_id", options.job}, {"approved", options.approve}, {"state", target}}));
        else
            fmt::print("{} {}\n", printable(options.job), options.approve ? "approved" : "rejected");
        co_return kDone;
    }
    co_return complain(kFailed, fmt::format("job {} is being worked on all the time; try again", options.job));
}

}  // namespace lockstep::prod
