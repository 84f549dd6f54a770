#include "prod/ctl/why.h"

#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/config/overlay.h"
#include "engine/snapshot/worker_snapshot.h"
#include "engine/store/keys.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/document.h"
#include "prod/ctl/overview.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;
using nlohmann::json;

/// Submissions that are looked through for one of which Redis knows nothing.
constexpr int kSubmissionsMax = 500;
/// Jobs whose records are read in one go.
constexpr std::size_t kRecordsAtATime = 200;
constexpr std::size_t kAnswersPerJob = 8;
/// Tenants of a queue whose turns count for a position.
constexpr int kTenantsMax = 100;

Micros micros_since_epoch(engine::WallTime time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::string tenant_key(const char* kind, const std::string& tenant) {
    return fmt::format("lockstep:tenant:{}:{}", kind, tenant.empty() ? "default" : tenant);
}

/// Another tenant gets as many turns before the job as jobs of its own tenant come before it, if it has that many waiting.
engine::Task<tl::expected<void, std::string>> add_turns_of_others(Session& session, JobOnFile& record) {
    const std::string queue = record.get("ls_queue");
    std::vector<engine::RedisCommand> turns{
        {"ZRANGE", "lockstep:capacity:turns:" + queue, "0", fmt::format("{}", kTenantsMax - 1)}};
    const auto tenants = co_await session.read_all(std::move(turns));
    if (!tenants) co_return tl::make_unexpected(tenants.error());
    std::vector<engine::RedisCommand> counts;
    if (const auto* list = tenants.value()[0].array()) {
        for (const engine::RedisValue& tenant : *list) {
            std::string key = fmt::format("lockstep:capacity:jobs:{}{}", queue, tenant.text());
            if (key != record.capacity_key()) counts.push_back({"ZCARD", std::move(key)});
        }
    }
    if (counts.empty()) co_return tl::expected<void, std::string>{};
    const auto waiting = co_await session.read_all(std::move(counts));
    if (!waiting) co_return tl::make_unexpected(waiting.error());
    for (const engine::RedisValue& count : waiting.value())
        record.capacity_position += std::min(count.integer_or(0), record.capacity_rank);
    co_return tl::expected<void, std::string>{};
}

/// The records of jobs in their order; one that is not known has no fields.
engine::Task<tl::expected<std::vector<JobOnFile>, std::string>> load_records(Session& session,
                                                                             std::vector<std::string> jobs) {
    std::vector<engine::RedisCommand> first;
    for (const std::string& job : jobs) first.push_back({"HGETALL", engine::keys::job_meta(engine::JobId(job))});
    const auto hashes = co_await session.read_all(std::move(first));
    if (!hashes) co_return tl::make_unexpected(hashes.error());
    std::vector<JobOnFile> records;
    std::vector<engine::RedisCommand> second;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        JobOnFile record;
        record.job = jobs[i];
        if (const auto* list = hashes.value()[i].array())
            for (std::size_t n = 0; n + 1 < list->size(); n += 2)
                record.fields.emplace((*list)[n].text(), (*list)[n + 1].text());
        const std::string tenant = record.get("tenant");
        const engine::JobId id(jobs[i]);
        second.push_back({"EXISTS", engine::keys::job_request(id)});
        second.push_back({"PTTL", engine::keys::job_lock(id)});
        second.push_back({"ZSCORE", tenant_key("slots", tenant), jobs[i]});
        second.push_back({"ZRANK", tenant_key("waiting", tenant), jobs[i]});
        second.push_back({"ZCARD", tenant_key("waiting", tenant)});
        second.push_back({"ZCARD", tenant_key("slots", tenant)});
        second.push_back({"ZSCORE", tenant_key("woken", tenant), jobs[i]});
        second.push_back({"ZRANK", record.capacity_key(), jobs[i]});
        records.push_back(std::move(record));
    }
    const auto more = co_await session.read_all(std::move(second));
    if (!more) co_return tl::make_unexpected(more.error());
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto answer = [&](std::size_t n) -> const engine::RedisValue& {
            return more.value()[i * kAnswersPerJob + n];
        };
        records[i].request_stored = answer(0).integer_or(0) == 1;
        records[i].lock_ms_left = answer(1).integer_or(-2);
        records[i].holds_slot = !answer(2).is_nil() || !answer(6).is_nil();
        records[i].place_in_line = answer(3).is_nil() ? 0 : answer(3).integer_or(-1) + 1;
        records[i].line_length = answer(4).integer_or(0);
        records[i].slots_taken = answer(5).integer_or(0);
        records[i].capacity_rank = answer(7).is_nil() ? 0 : answer(7).integer_or(-1) + 1;
        records[i].capacity_position = records[i].capacity_rank;
    }
    for (JobOnFile& record : records) {
        if (record.capacity_rank == 0) continue;
        auto placed = co_await add_turns_of_others(session, record);
        if (!placed) co_return tl::make_unexpected(placed.error());
    }
    co_return records;
}

struct Unsettled {
    engine::StreamSequence sequence;
    engine::WallTime stored_at{};
    std::string topic;
    bool found = false;
    int looked_at = 0;
};

/// The submission of that job among those that no scheduler has settled; not found where there are none, or too many before it.
engine::Task<tl::expected<Unsettled, std::string>> find_submission(Session& session, std::string job) {
    Unsettled answer;
    const std::string stream(wire::kStreamSys);
    const std::string durable = wire::durable_name(wire::kQueueScheduler, wire::kSubjectSubmit);
    const auto state = co_await session.bus().consumer_state(stream, durable, session.deadline());
    if (!state.applied()) co_return tl::make_unexpected(state.failure().detail);
    std::uint64_t next = state.value() ? state.value()->ack_floor.value() + 1 : 1;
    for (; answer.looked_at < kSubmissionsMax; ++answer.looked_at) {
        auto message = co_await session.bus().read_stream(stream, std::string(wire::kSubjectSubmit),
                                                          engine::StreamSequence(next), session.deadline());
        if (!message.applied()) co_return tl::make_unexpected(message.failure().detail);
        if (!message.value()) break;
        next = message.value()->sequence.value() + 1;
        const auto packet = wire::decode(message.value()->payload);
        if (!packet || !packet->has_job_request() || packet->job_request().job_id() != job) continue;
        answer.found = true;
        answer.sequence = message.value()->sequence;
        answer.topic = packet->job_request().topic();
        answer.stored_at = message.value()->stored_at;
        break;
    }
    co_return answer;
}

void print_answer(const JobOnFile& job, const Waiting& waiting, Micros now) {
    fmt::print("{}  {}  {}\n", printable(job.job), printable(job.get("state")), waiting.cause);
    fmt::print("  {}\n", printable(waiting.says));
    const auto line = [&](const char* label, const std::string& text) {
        if (!text.empty()) fmt::print("  {:<9}{}\n", label, printable(text));
    };
    const auto span = [](Micros micros) { return length(std::chrono::microseconds(micros)); };
    line("topic", job.get("topic"));
    line("tenant", job.get("tenant"));
    line("attempts", job.get("attempts"));
    if (waiting.since)
        line("since",
             fmt::format("{} ({})", micros_as_time(std::to_string(*waiting.since)), span(now - *waiting.since)));
    if (waiting.until)
        line("until",
             fmt::format("{} {}", micros_as_time(std::to_string(*waiting.until)),
                         *waiting.until > now ? fmt::format("(in {})", span(*waiting.until - now)) : "(past)"));
    if (const auto deadline = job.time("deadline_unix"))
        line("deadline", fmt::format("{}", micros_as_time(std::to_string(*deadline))));
    line("do", waiting.hint);
}

}  // namespace

std::optional<Micros> snapshot_time(std::string_view snapshot) {
    const auto document = wire::read_json(snapshot);
    if (!document.is_object() || !document.contains("captured_at") || !document["captured_at"].is_string())
        return std::nullopt;
    google::protobuf::Timestamp time;
    if (!google::protobuf::util::TimeUtil::FromString(document["captured_at"].get<std::string>(), &time))
        return std::nullopt;
    return google::protobuf::util::TimeUtil::TimestampToMicroseconds(time);
}

engine::Task<tl::expected<Surroundings, std::string>> read_surroundings(Session& session) {
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"TIME"});
    commands.push_back({"GET", std::string(engine::keys::kWorkerSnapshot)});
    commands.push_back({"GET", "cordum:cb:safety:failures"});
    commands.push_back({"PTTL", "cordum:cb:safety:failures"});
    commands.push_back({"GET", "cfg:system:default"});
    const auto replies = co_await session.read_all(std::move(commands));
    if (!replies) co_return tl::make_unexpected(replies.error());
    const auto& answers = replies.value();
    Surroundings around;
    around.tunables = session.settings().tunables;
    around.now = answers[0].at(0).integer_or(0) * 1'000'000 + answers[0].at(1).integer_or(0);
    if (const auto snapshot = engine::parse_worker_snapshot(answers[1].text())) {
        for (const engine::Worker& worker : snapshot->workers)
            around.workers[worker.id.text()] = {worker.pool, worker.active_jobs, worker.max_parallel_jobs};
    }
    if (const auto written = snapshot_time(answers[1].text())) {
        around.snapshot_known = true;
        around.snapshot_at = *written;
    }
    around.circuit_failures = answers[2].integer_or(0);
    around.circuit_ms_left = answers[3].integer_or(-2);
    if (auto overlay = engine::read_overlay(answers[4].text())) {
        around.pools = std::move(overlay->pools);
        around.timeouts = std::move(overlay->timeouts);
    }
    co_return around;
}

engine::Task<int> show_why(Session& session, std::string job, bool as_json) {
    const auto around = co_await read_surroundings(session);
    if (!around) co_return complain(kFailed, around.error());
    const auto records = co_await load_records(session, {job});
    if (!records) co_return complain(kFailed, records.error());
    JobOnFile record = (*records)[0];
    Waiting waiting;
    if (!record.get("state").empty()) {
        waiting = why_it_waits(record, *around);
    } else {
        if (!session.has_bus())
            co_return complain(kNotFound, fmt::format("Redis knows no job {}, and NATS could not be asked", job));
        const auto submission = co_await find_submission(session, job);
        if (!submission)
            co_return complain(kFailed, fmt::format("Redis knows no job {}; NATS: {}", job, submission.error()));
        if (!submission->found)
            co_return complain(kNotFound,
                               fmt::format("there is no job {} (or it has expired), and none of the {} oldest "
                                           "submissions that are not settled is its",
                                           job, submission->looked_at));
        record.fields["topic"] = submission->topic;
        waiting.cause = "not_taken";
        waiting.since = micros_since_epoch(submission->stored_at);
        waiting.says = fmt::format(
            "its submission is message {} of {}, which no scheduler has taken; {} unsettled ones are before it",
            submission->sequence.value(), wire::kStreamSys, submission->looked_at);
        waiting.hint = "look whether a scheduler is ready, and at its consumer: lockstepctl doctor";
    }
    if (as_json)
        fmt::print("{}", document_line(waiting_json(record, waiting)));
    else
        print_answer(record, waiting, around->now);
    co_return kDone;
}

namespace {

struct Group {
    std::int64_t jobs = 0;
    std::optional<Micros> oldest;
    std::string example;
    std::string says;
};
using Groups = std::map<std::tuple<std::string, std::string>, Group>;  // by cause and topic

void print_groups(const Groups& groups, Micros now) {
    std::vector<const Groups::value_type*> by_size;
    for (const auto& group : groups) by_size.push_back(&group);
    std::ranges::sort(by_size, [](const auto* a, const auto* b) {
        return std::tie(b->second.jobs, a->first) < std::tie(a->second.jobs, b->first);
    });
    for (const auto* entry : by_size) {
        const auto& [key, group] = *entry;
        const auto& [cause, topic] = key;
        fmt::print("{:>7}  {:<18} {:<24} oldest {} ({})\n", group.jobs, cause, printable(topic),
                   group.oldest ? length(std::chrono::microseconds(now - *group.oldest)) : "?",
                   printable(group.example));
        fmt::print("         {}\n", printable(group.says));
    }
}

json groups_json(const Groups& groups) {
    json list = json::array();
    for (const auto& [key, group] : groups)
        list.push_back({{"cause", std::get<0>(key)},
                        {"topic", std::get<1>(key)},
                        {"jobs", group.jobs},
                        {"oldest", group.oldest ? json(micros_as_time(std::to_string(*group.oldest))) : json()},
                        {"example", group.example},
                        {"says", group.says}});
    return list;
}

}  // namespace

engine::Task<int> show_queue(Session& session, QueueOptions options) {
    const auto around = co_await read_surroundings(session);
    if (!around) co_return complain(kFailed, around.error());
    constexpr std::array kStates{engine::JobState::pending, engine::JobState::approval_required,
                                 engine::JobState::scheduled, engine::JobState::dispatched};
    std::vector<engine::RedisCommand> commands;
    for (const auto state : kStates) {
        commands.push_back({"ZRANGE", engine::keys::state_index(state), "0", std::to_string(options.limit - 1)});
        commands.push_back({"ZCARD", engine::keys::state_index(state)});
    }
    const auto listed = co_await session.read_all(std::move(commands));
    if (!listed) co_return complain(kFailed, listed.error());
    std::vector<std::string> jobs;
    std::int64_t in_all = 0;
    for (std::size_t i = 0; i < kStates.size(); ++i) {
        in_all += listed.value()[2 * i + 1].integer_or(0);
        if (const auto* list = listed.value()[2 * i].array())
            for (const auto& job : *list) jobs.emplace_back(job.text());
    }

    Groups groups;
    json each = json::array();
    for (std::size_t from = 0; from < jobs.size(); from += kRecordsAtATime) {
        const std::size_t to = std::min(jobs.size(), from + kRecordsAtATime);
        std::vector<std::string> page(jobs.begin() + static_cast<std::ptrdiff_t>(from),
                                      jobs.begin() + static_cast<std::ptrdiff_t>(to));
        const auto records = co_await load_records(session, std::move(page));
        if (!records) co_return complain(kFailed, records.error());
        for (const JobOnFile& record : *records) {
            if (record.get("state").empty()) continue;  // expired; the reconciler drops it from the index
            const Waiting waiting = why_it_waits(record, *around);
            if (options.each && options.json) each.push_back(waiting_json(record, waiting));
            if (options.each && !options.json)
                fmt::print("{}  {:<18} {}  {}\n", waiting.since ? micros_as_time(std::to_string(*waiting.since)) : "?",
                           waiting.cause, printable(record.job), printable(waiting.says));
            Group& group = groups[{waiting.cause, record.get("topic")}];
            ++group.jobs;
            if (!group.oldest || (waiting.since && *waiting.since < *group.oldest)) {
                group.oldest = waiting.since;
                group.example = record.job;
                group.says = waiting.says;
            }
        }
    }
    const auto submissions = co_await messages_waiting(session, std::string(wire::kSubjectSubmit));
    const auto results = co_await messages_waiting(session, std::string(wire::kSubjectResult));
    const json messages{{"submissions", messages_json(submissions)}, {"results", messages_json(results)}};
    if (options.json) {
        json document{{"jobs_in_all", in_all}, {"groups", groups_json(groups)}, {"messages", messages}};
        if (options.each) document["jobs"] = std::move(each);
        fmt::print("{}", document_line(std::move(document)));
        co_return kDone;
    }
    if (!options.each) print_groups(groups, around->now);
    for (const auto& [name, state] : messages.items())
        if (state.is_object())
            fmt::print("{}: {} not delivered yet, {} in hand\n", name, state["waiting"].get<std::int64_t>(),
                       state["in_hand"].get<std::int64_t>());
    if (groups.empty()) fmt::print("no job waits\n");
    const auto looked_at = static_cast<std::int64_t>(jobs.size());
    if (looked_at < in_all)
        fmt::print("{} of {} jobs were looked at, the oldest of each state (--limit)\n", looked_at, in_all);
    co_return kDone;
}

}  // namespace lockstep::prod
