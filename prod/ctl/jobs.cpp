#include "prod/ctl/jobs.h"

#include <fmt/core.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/output/output_verdict.h"
#include "engine/store/job_store.h"
#include "engine/store/keys.h"
#include "engine/store/sweep_store.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/document.h"
#include "prod/ctl/job_document.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;
using Fields = std::map<std::string, std::string>;
using nlohmann::json;

constexpr auto kPollPause = std::chrono::milliseconds(50);
constexpr const char* kCanceller = "api-gateway";

struct JobView {
    Fields fields;
    std::vector<std::string> events;  // "<micros>|<STATE>"
    [[nodiscard]] std::string get(const std::string& name) const {
        const auto found = fields.find(name);
        return found == fields.end() ? std::string() : found->second;
    }
    [[nodiscard]] bool known() const { return !get("state").empty(); }
    [[nodiscard]] bool ended() const {
        const auto state = engine::parse_job_state(get("state"));
        return state && engine::is_terminal(*state);
    }
};

/// The error when Redis does not tell.
engine::Task<tl::expected<JobView, std::string>> load_job(Session& session, std::string job) {
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"HGETALL", engine::keys::job_meta(engine::JobId(job))});
    commands.push_back({"LRANGE", "job:events:" + job, "0", "-1"});
    const auto replies = co_await session.read_all(std::move(commands));
    if (!replies) co_return tl::make_unexpected(replies.error());
    JobView view;
    if (const auto* list = replies.value()[0].array())
        for (std::size_t i = 0; i + 1 < list->size(); i += 2)
            view.fields.emplace((*list)[i].text(), (*list)[i + 1].text());
    if (const auto* list = replies.value()[1].array())
        for (const auto& event : *list) view.events.emplace_back(event.text());
    co_return view;
}

/// What policy has said about the output, in a few words; empty when it was not asked.
std::string output_line(const JobView& view) {
    const auto verdict = engine::parse_output_record(view.get("output_safety"));
    if (!verdict) return view.get("ls_scan_pending").empty() ? "" : "not scanned yet";
    std::string text(engine::to_string(verdict->decision));
    if (!verdict->rule_id.empty()) text += fmt::format(" by {}", verdict->rule_id);
    if (!verdict->reason.empty()) text += fmt::format(": {}", verdict->reason);
    if (!view.get("ls_scan_pending").empty()) text += ", its content not scanned yet";
    return text;
}

void print_job(const std::string& job, const JobView& view) {
    fmt::print("{}  {}\n", printable(job), printable(view.get("state")));
    const auto line = [&](const char* label, const std::string& value) {
        if (!value.empty()) fmt::print("  {:<12}{}\n", label, printable(value));
    };
    line("topic", view.get("topic"));
    line("tenant", view.get("tenant"));
    line("worker", view.get("worker_id"));
    line("attempts", view.get("attempts"));
    line("decision", view.get("safety_decision"));
    line("reason", view.get("safety_reason"));
    line("rule", view.get("safety_rule_id"));
    line("output", output_line(view));
    line("failure", view.get("failure_reason"));
    line("result", view.get("result_ptr"));
    line("trace", view.get("trace_id"));
    for (const auto& event : view.events) {
        const auto bar = event.find('|');
        if (bar != std::string::npos)
            fmt::print("    {}  {}\n", micros_as_time(event.substr(0, bar)), printable(event.substr(bar + 1)));
    }
}

}  // namespace

engine::Task<int> show_status(Session& session, StatusOptions options) {
    const engine::MonoTime limit = session.clock().in(options.wait_limit);
    json all = json::array();
    int code = kDone;
    for (const std::string& job : options.jobs) {
        auto view = co_await load_job(session, job);
        while (options.wait && view && !view->ended() && session.clock().monotonic() < limit) {
            co_await session.clock().sleep(kPollPause);
            view = co_await load_job(session, job);
        }
        if (!view) co_return complain(kFailed, fmt::format("job {}: {}", job, view.error()));
        if (!view->known()) {
            code = std::max(code, complain(kNotFound, fmt::format("there is no job {} (or it has expired)", job)));
            continue;
        }
        if (options.wait && view->get("state") != "SUCCEEDED") code = kEndedBadly;
        if (options.json)
            all.push_back(job_document(job, view->fields, view->events));
        else
            print_job(job, *view);
    }
    if (options.json) {
        const bool one = options.jobs.size() == 1 && !all.empty();
        fmt::print("{}", one ? document_line(all[0]) : json_text(all));
    }
    co_return code;
}

engine::Task<int> show_result(Session& session, std::string job) {
    const auto view = co_await load_job(session, job);
    if (!view) co_return complain(kFailed, view.error());
    if (!view->known()) co_return complain(kNotFound, fmt::format("there is no job {}", job));
    if (view->get("state") == "OUTPUT_QUARANTINED")
        co_return complain(kEndedBadly,
                           fmt::format("the output of job {} is withheld: {}", job, printable(output_line(*view))));
    std::string key = view->get("result_ptr");
    if (key.empty())
        co_return complain(kNotFound, fmt::format("job {} is {} and has no result", job, view->get("state")));
    if (key.starts_with("redis://")) key = key.substr(8);
    engine::RedisCommand get{"GET", key};
    const auto value = co_await session.redis().command(std::move(get), session.deadline());
    if (!value.applied()) co_return complain(kFailed, value.failure().detail);
    if (value.value().is_nil()) co_return complain(kNotFound, fmt::format("{} has expired", key));
    std::fwrite(value.value().text().data(), 1, value.value().text().size(), stdout);
    co_return kDone;
}

namespace {

/// Members of an index that are looked at in one go.
constexpr std::int64_t kIndexPage = 200;

/// The first `limit` jobs that the index lists and that are still known; the others are removed from it on the way.
engine::Task<tl::expected<std::vector<engine::StaleJob>, std::string>> known_jobs(Session& session,
                                                                                  engine::JobState state,
                                                                                  std::int64_t limit) {
    const engine::StoreScripts scripts;
    engine::StoreNews news(session.clock());
    engine::SweepStore sweeps(session.redis(), session.clock(), session.settings().tunables, scripts, news);
    std::vector<engine::StaleJob> known;
    std::string after;
    do {
        auto page = co_await sweeps.index_page(state, engine::Duration{0}, after, kIndexPage);
        if (!page.applied()) co_return tl::make_unexpected(page.failure().detail);
        for (engine::StaleJob& job : page.value().jobs) known.push_back(std::move(job));
        after = std::move(page.value().last_score);
    } while (!after.empty() && static_cast<std::int64_t>(known.size()) < limit);
    if (static_cast<std::int64_t>(known.size()) > limit) known.resize(static_cast<std::size_t>(limit));
    co_return known;
}

}  // namespace

engine::Task<int> list_jobs(Session& session, std::string state, std::int64_t limit, bool as_json) {
    if (state.empty()) {
        // What has expired is no job: the oldest of each final state are looked at before they are counted.
        for (int i = 0; i < engine::kJobStateCount; ++i) {
            const auto ended = static_cast<engine::JobState>(i);
            if (!engine::is_terminal(ended)) continue;
            const auto pruned = co_await known_jobs(session, ended, 1);
            if (!pruned) co_return complain(kFailed, pruned.error());
        }
        std::vector<engine::RedisCommand> commands;
        for (int i = 0; i < engine::kJobStateCount; ++i)
            commands.push_back({"ZCARD", engine::keys::state_index(static_cast<engine::JobState>(i))});
        const auto counts = co_await session.read_all(std::move(commands));
        if (!counts) co_return complain(kFailed, counts.error());
        json document = json::object();
        for (int i = 0; i < engine::kJobStateCount; ++i) {
            const std::string name(engine::to_string(static_cast<engine::JobState>(i)));
            const auto count = counts.value()[static_cast<std::size_t>(i)].integer_or(0);
            document[name] = count;
            if (!as_json) fmt::print("{:<20}{:>10}\n", name, count);
        }
        if (as_json) fmt::print("{}", json_text(document));
        co_return kDone;
    }
    for (char& c : state) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const auto wanted = engine::parse_job_state(state);
    if (!wanted)
        co_return complain(kWrongUse, fmt::format("--state: \"{}\" is no job state (PENDING, RUNNING, ...)", state));
    const auto jobs = co_await known_jobs(session, *wanted, limit);
    if (!jobs) co_return complain(kFailed, jobs.error());
    json document = json::array();
    for (const auto& [job, at] : *jobs) {
        if (as_json)
            document.push_back({{"job_id", job.text()}, {"updated_at", time_document(at)}});
        else
            fmt::print("{}  {}\n", micros_as_time(at), printable(job.text()));
    }
    if (as_json) fmt::print("{}", json_text(document));
    co_return kDone;
}

engine::Task<int> cancel_job(Session& session, std::string job, std::string reason, bool as_json) {
    const engine::StoreScripts scripts;
    engine::JobStore store(session.redis(), session.clock(), session.settings().tunables, scripts);
    const auto cancelled = co_await store.cancel(engine::JobId(job));
    if (!cancelled.applied())
        co_return complain(kFailed, fmt::format("job {}: {}{}", job, cancelled.failure().detail,
                                                cancelled.kind() == engine::OutcomeKind::unknown
                                                    ? "; it may have been cancelled: ask with `status`"
                                                    : ""));
    const auto& states = cancelled.value();
    if (!states.before) co_return complain(kNotFound, fmt::format("there is no job {}", job));
    const bool now = !engine::is_terminal(*states.before);
    if (now) {
        cap::JobCancel message;
        message.set_job_id(job);
        message.set_reason(reason);
        message.set_requested_by(kCanceller);
        const auto cancel = wire::make_packet(std::move(message), job, kCanceller, session.clock().now());
        const auto told =
            co_await session.bus().publish_core(std::string(wire::kSubjectCancel), wire::serialise(cancel));
        cap::JobResult result;
        result.set_job_id(job);
        result.set_status(cap::JOB_STATUS_CANCELLED);
        result.set_error_message(reason);
        const auto packet = wire::make_packet(std::move(result), job, kCanceller, session.clock().now());
        const std::string subject(wire::kSubjectResult);
        const std::string id = wire::message_id(packet, subject);
        const auto published = co_await session.bus().publish(subject, wire::serialise(packet), id, session.deadline());
        if (!told.applied() || !published.applied())
            co_return complain(kFailed, fmt::format("job {} is cancelled, but not everybody could be told", job));
    }
    if (as_json)
        fmt::print("{}",
                   document_line({{"job_id", job},
                                  {"cancelled", now},
                                  {"state", engine::to_string(now ? engine::JobState::cancelled : *states.before)}}));
    else if (now)
        fmt::print("{} cancelled (was {})\n", printable(job), engine::to_string(*states.before));
    else
        fmt::print("{} had ended already: {}\n", printable(job), engine::to_string(*states.before));
    co_return kDone;
}

}  // namespace lockstep::prod
