#include "prod/ctl/doctor.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "engine/config/relations.h"
#include "engine/store/keys.h"
#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/checks.h"
#include "prod/ctl/document.h"
#include "prod/ctl/kernel_check.h"
#include "prod/ctl/why.h"

namespace lockstep::prod {

namespace {

namespace wire = engine::wire;

/// Keys that expire by themselves, wherever they are held or set; one that does not stops whoever waits for it.
constexpr std::array kExpiring{"cordum:reconciler:default",        "cordum:replayer:pending",
                               "cordum:scheduler:snapshot:writer", "cordum:dlq:cleanup",
                               "cordum:wf:delay:poller",           "cordum:workflow-engine:reconciler:default",
                               "cordum:cb:safety:failures",        "cordum:cb:safety:output:failures"};
/// What these keys hold, wherever they are (redis-schema.md 1).
constexpr std::array<std::pair<const char*, const char*>, 10> kTypes{{{"job:recent", "zset"},
                                                                      {"job:deadline", "zset"},
                                                                      {"job:index:pending", "zset"},
                                                                      {"job:index:approval_required", "zset"},
                                                                      {"job:index:scheduled", "zset"},
                                                                      {"job:index:dispatched", "zset"},
                                                                      {"job:index:running", "zset"},
                                                                      {"dlq:index", "zset"},
                                                                      {"sys:workers:snapshot", "string"},
                                                                      {"cfg:system:default", "string"}}};
constexpr std::int64_t kNoExpiry = -1;

engine::Duration since_epoch(engine::WallTime time) {
    return std::chrono::duration_cast<engine::Duration>(time.time_since_epoch());
}

/// The environment as a scheduler reads it; what it refuses becomes findings. Nothing: it is refused.
std::optional<Settings> scheduler_settings(Findings& findings) {
    auto settings = read_settings(Environment::of_process(), kSchedulerRole);
    if (!settings) {
        findings.push_back({"settings.environment", Health::wrong,
                            "lockstepd would not start with this environment: " + settings.error(),
                            "correct these variables; lockstepd --check says the same"});
        return std::nullopt;
    }
    for (const std::string& warning : settings->warnings)
        findings.push_back({"settings.environment", Health::warn, warning, "lockstepd --check says the same"});
    if (settings->warnings.empty())
        findings.push_back({"settings.environment", Health::well, "lockstepd would start with it", {}});
    return std::move(*settings);
}

/// INFO, times, keys and a write. Replies that are refusals leave the fact unknown.
engine::Task<tl::expected<RedisFacts, std::string>> ask_redis(Session& session) {
    RedisFacts facts;
    const engine::WallTime before = session.clock().now();
    engine::RedisCommand time{"TIME"};
    const auto told = co_await session.redis().command(std::move(time), session.deadline());
    const engine::WallTime after = session.clock().now();
    if (!told.applied()) co_return tl::make_unexpected(told.failure().detail);
    const auto theirs = std::chrono::seconds(told.value().at(0).integer_or(0)) +
                        std::chrono::microseconds(told.value().at(1).integer_or(0));
    facts.clock_offset = theirs - since_epoch(before) - (after - before) / 2;

    std::vector<engine::RedisCommand> commands{{"INFO"}, {"CONFIG", "GET", "appendfsync"}};
    for (const char* key : kExpiring) commands.push_back({"PTTL", key});
    for (const auto& [key, type] : kTypes) commands.push_back({"TYPE", key});
    const auto replies = co_await session.redis().pipeline(std::move(commands), session.deadline());
    if (!replies.applied()) co_return tl::make_unexpected(replies.failure().detail);
    std::size_t next = 0;
    facts.info = parse_info(replies.value()[next++].text());
    facts.appendfsync = replies.value()[next++].at(1).text();
    for (const char* key : kExpiring)
        if (replies.value()[next++].integer_or(0) == kNoExpiry) facts.endless_locks.emplace_back(key);
    for (const auto& [key, type] : kTypes) {
        const std::string is(replies.value()[next++].text());
        if (!is.empty() && is != "none" && is != type) facts.wrong_types.push_back({key, is, type});
    }

    const engine::RedisScript probe("doctor_probe",
                                    "redis.call('SET', KEYS[1], '1', 'PX', 5000)\n"
                                    "redis.call('ZADD', KEYS[2], 1, 'probe')\n"
                                    "return redis.call('DEL', KEYS[1], KEYS[2])");
    const std::string key = "lockstep:doctor:" + session.entropy().uuid();
    const auto wrote = co_await session.redis().script(probe, {key, key + ":index"}, {}, session.deadline());
    if (!wrote.applied())
        facts.write_error = wrote.failure().detail;
    else if (wrote.value().integer_or(0) != 2)
        facts.write_error = "what it wrote was not there";
    co_return facts;
}

/// What the records of schedulers say of their limits. What cannot be read is left out: other checks say what is wrong with Redis.
engine::Task<std::map<std::string, std::map<std::string, std::string>>> limits_of_schedulers(Session& session) {
    std::map<std::string, std::map<std::string, std::string>> all;
    std::string cursor = "0";
    do {
        engine::RedisCommand scan{"SCAN", cursor, "MATCH", "cordum:instance:scheduler:*", "COUNT", "1000"};
        const auto page = co_await session.redis().command(std::move(scan), session.deadline());
        if (!page.applied()) co_return all;
        cursor = page.value().at(0).text();
        const auto* keys = page.value().at(1).array();
        if (keys == nullptr || keys->empty()) continue;
        engine::RedisCommand read{"MGET"};
        for (const engine::RedisValue& key : *keys) read.emplace_back(key.text());
        const auto records = co_await session.redis().command(std::move(read), session.deadline());
        if (!records.applied()) co_return all;
        for (std::size_t i = 0; i < keys->size(); ++i) {
            const nlohmann::json record = engine::wire::parse_bounded(records.value().at(i).text());
            if (!record.is_object() || !record.value("limits", nlohmann::json()).is_object()) continue;
            auto& limits = all[engine::wire::text_member(record, "id")];
            for (const auto& [variable, value] : record["limits"].items())
                if (value.is_string()) limits[variable] = value.get<std::string>();
        }
    } while (cursor != "0" && !cursor.empty());
    co_return all;
}

engine::Task<tl::expected<DeploymentFacts, std::string>> ask_deployment(Session& session, engine::Tunables tunables) {
    DeploymentFacts facts;
    auto around = co_await read_surroundings(session);
    if (!around) co_return tl::make_unexpected(around.error());
    facts.around = std::move(*around);
    facts.around.tunables = std::move(tunables);
    std::vector<engine::RedisCommand> commands;
    commands.push_back({"GET", "cfg:system:default"});
    commands.push_back({"ZRANGE", engine::keys::state_index(engine::JobState::pending), "0", "0", "WITHSCORES"});
    commands.push_back({"ZCARD", std::string(engine::keys::kOutbox)});
    const auto replies = co_await session.redis().pipeline(std::move(commands), session.deadline());
    if (!replies.applied()) co_return tl::make_unexpected(replies.failure().detail);
    if (!replies.value()[0].is_nil()) {
        if (auto overlay = engine::read_overlay(replies.value()[0].text()))
            facts.overlay = std::move(*overlay);
        else
            facts.overlay_unreadable = true;
    }
    // A score that is no whole number is nobody's of ours.
    if (const auto score = replies.value()[1].at(1).integer_or(0); score > 0) facts.oldest_pending = score;
    facts.untold_letters = replies.value()[2].integer_or(0);
    facts.limits = co_await limits_of_schedulers(session);
    co_return facts;
}

engine::ConsumerSpec wanted_consumer(std::string_view subject, const engine::Tunables& tunables) {
    engine::ConsumerSpec spec;
    spec.stream = wire::kStreamSys;
    spec.subject = subject;
    spec.queue = wire::kQueueScheduler;
    spec.durable = wire::durable_name(wire::kQueueScheduler, subject);
    spec.ack_wait = tunables.bus_ack_wait;
    spec.max_deliver = static_cast<int>(tunables.bus_max_deliver);
    spec.max_ack_pending = static_cast<int>(tunables.bus_max_ack_pending);
    return spec;
}

void add(Findings& findings, Findings more) {
    for (Finding& one : more) findings.push_back(std::move(one));
}

engine::Task<void> ask_nats(Session& session, const Settings& settings, engine::Duration dispatch_timeout,
                            Findings& findings) {
    if (!settings.nats.jetstream) {
        findings.push_back({"nats.jetstream", Health::warn,
                            "NATS_USE_JETSTREAM is off: messages are delivered at most once",
                            "leave it on for jobs that must not be lost"});
        co_return;
    }
    std::vector<std::string> refused;
    session.nats().on_problem([&refused](const std::string& what) { refused.push_back(what); });
    const std::array<std::pair<std::string_view, std::vector<std::string>>, 2> streams{
        {{wire::kStreamSys, {"sys.>"}}, {wire::kStreamJobs, {"job.>", "worker.*.jobs"}}}};
    for (const auto& [name, subjects] : streams) {
        const auto answer = co_await session.nats().ask_api(fmt::format("STREAM.INFO.{}", name), session.deadline());
        add(findings, check_stream(name, subjects, answer.value_or(""), settings));
    }
    std::string id;
    if (session.has_redis()) {
        const auto held =
            co_await session.redis().command({"GET", std::string(engine::keys::kDeployment)}, session.deadline());
        if (held.applied() && !held.value().is_nil()) id = held.value().text();
    }
    for (const std::string_view subject : {wire::kSubjectSubmit, wire::kSubjectResult}) {
        engine::ConsumerSpec wanted = wanted_consumer(subject, settings.tunables);
        wanted.deployment = id;
        const auto answer = co_await session.nats().ask_api(
            fmt::format("CONSUMER.INFO.{}.{}", wanted.stream, wanted.durable), session.deadline());
        add(findings, check_consumer(wanted, answer.value_or(""), settings, dispatch_timeout));
    }
    session.nats().on_problem([](const std::string&) {});
    for (const std::string& what : refused)
        findings.push_back(
            {"nats.permissions", Health::wrong, what, "see permissions.md for what each role may say and hear"});
}

}  // namespace

engine::Task<int> run_doctor(Session& session, DoctorOptions options) {
    Findings findings;
    const std::optional<Settings> of_scheduler = scheduler_settings(findings);
    Settings settings = of_scheduler.value_or(session.settings());
    engine::Duration dispatch_timeout = settings.tunables.dispatch_timeout;
    if (!session.has_redis()) {
        findings.push_back({"redis.reachable", Health::wrong, session.redis_trouble(),
                            "start it, or set its address with --redis or REDIS_URL"});
    } else {
        findings.push_back({"redis.reachable", Health::well, "it answers", {}});
        const auto facts = co_await ask_redis(session);
        if (facts)
            add(findings, check_redis(*facts, settings));
        else
            findings.push_back({"redis.reachable", Health::wrong, facts.error(), "look at its log"});
        const auto deployment = co_await ask_deployment(session, settings.tunables);
        if (deployment) {
            add(findings, check_deployment(*deployment));
            if (deployment->around.timeouts && deployment->around.timeouts->reconciler.given) {
                const auto reconciler = engine::with_fallbacks(deployment->around.timeouts->reconciler);
                if (!settings.pinned.dispatch_timeout) dispatch_timeout = reconciler.dispatch;
                if (!settings.pinned.reconciler_interval)
                    settings.tunables.reconciler_interval = reconciler.scan_interval;
            }
        } else {
            findings.push_back(
                {"redis.keys", Health::wrong, deployment.error(), "find out who writes that key, and rename it"});
        }
    }
    if (!session.has_bus()) {
        findings.push_back({"nats.reachable", Health::wrong, session.bus_trouble(),
                            "start it, or set its address with --nats or NATS_URL"});
    } else {
        findings.push_back({"nats.reachable", Health::well, "it answers", {}});
        co_await ask_nats(session, settings, dispatch_timeout, findings);
    }
    // What comes later than a replica waits is no answer to it.
    if (of_scheduler)
        add(findings, check_kernel(ask_kernel({.address = settings.kernel.address, .tls = settings.kernel.tls},
                                              settings.tunables.safety_timeout),
                                   settings.kernel));
    else
        findings.push_back({"kernel.reachable", Health::unknown,
                            "it was not asked: how to is said by an environment that is refused",
                            "correct what settings.environment says"});
    if (options.json)
        fmt::print("{}", document_line(findings_json(findings)));
    else
        fmt::print("{}", printable_lines(findings_text(findings, options.all)));
    co_return anything_wrong(findings) ? kUnwell : kDone;
}

}  // namespace lockstep::prod
