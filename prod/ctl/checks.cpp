#include "prod/ctl/checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/config/relations.h"
#include "engine/wire/json_text.h"
#include "prod/ctl/text.h"
#include "prod/nats/jetstream_api.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// What this is tested with; older ones lack nothing that is known of, and nobody has looked.
constexpr int kRedisMajorTested = 7;
/// Beyond it, times in logs and in Redis tell different stories.
constexpr engine::Duration kClockOffsetNoticed = 1s;
/// The streams know a message again for so long (wire.md 3.1).
constexpr engine::Duration kDuplicateWindowWanted = 2min;

class Report {
public:
    void well(std::string check, std::string says) {
        out_.push_back({std::move(check), Health::well, std::move(says), {}});
    }
    void add(Health health, std::string check, std::string says, std::string mend) {
        out_.push_back({std::move(check), health, std::move(says), std::move(mend)});
    }
    [[nodiscard]] Findings take() { return std::move(out_); }

private:
    Findings out_;
};

std::int64_t whole(const std::string& text, std::int64_t otherwise) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : otherwise;
}

std::string told(const RedisFacts& facts, const std::string& name) {
    const auto found = facts.info.find(name);
    return found == facts.info.end() ? std::string() : found->second;
}

void check_server(Report& report, const RedisFacts& facts, const Settings& settings) {
    const std::string version = told(facts, "redis_version");
    if (version.empty()) {
        report.add(Health::unknown, "redis.version", "INFO is not allowed, or tells nothing",
                   "let this user run INFO (ACL: +info)");
        return;
    }
    if (std::atoi(version.c_str()) < kRedisMajorTested)
        report.add(Health::warn, "redis.version", fmt::format("Redis is {}, older than what is tested", version),
                   fmt::format("use Redis {} or newer", kRedisMajorTested));
    else
        report.well("redis.version", "Redis " + version);

    if (told(facts, "cluster_enabled") == "1")
        report.add(Health::wrong, "redis.cluster", "Redis Cluster: the keys of one transaction lie on several servers",
                   "use one server, or Sentinels (redis-sentinel://)");
    if (told(facts, "role") != "master")
        report.add(Health::wrong, "redis.role",
                   fmt::format("this server is a {} and takes no writes", told(facts, "role")),
                   "set REDIS_URL to the primary, or to the Sentinels");
    const std::int64_t replicas = whole(told(facts, "connected_slaves"), 0);
    if (replicas < settings.tunables.redis_replicas)
        report.add(Health::wrong, "redis.replicas",
                   fmt::format("LOCKSTEP_REDIS_REPLICAS asks for {} and {} are connected: no write counts",
                               settings.tunables.redis_replicas, replicas),
                   "bring the replicas back, or lower LOCKSTEP_REDIS_REPLICAS on every replica");
    else
        report.well("redis.role", fmt::format("primary with {} replicas", replicas));
}

void check_memory(Report& report, const RedisFacts& facts) {
    const std::string policy = told(facts, "maxmemory_policy");
    const std::int64_t limit = whole(told(facts, "maxmemory"), 0);
    const std::int64_t used = whole(told(facts, "used_memory"), 0);
    if (policy.empty())
        report.add(Health::unknown, "redis.eviction", "the eviction policy is not told",
                   "let this user run INFO (ACL: +info)");
    else if (policy != "noeviction")
        report.add(
            limit > 0 ? Health::wrong : Health::warn, "redis.eviction",
            fmt::format(
                "maxmemory-policy is {}: {}, it drops locks, jobs and messages' marks, and jobs run twice or never",
                policy, limit > 0 ? "when memory is full" : "should maxmemory ever be set"),
            "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf");
    else
        report.well("redis.eviction", "noeviction");
    if (limit > 0 && used * 10 >= limit * 9)
        report.add(Health::warn, "redis.memory",
                   fmt::format("{} of {} bytes are used; at the limit every write is refused", used, limit),
                   "raise maxmemory, or shorten JOB_META_TTL and REDIS_DATA_TTL");
}

void check_persistence(Report& report, const RedisFacts& facts) {
    const std::string aof = told(facts, "aof_enabled");
    if (aof.empty()) {
        report.add(Health::unknown, "redis.persistence", "whether anything is written to disk is not told",
                   "let this user run INFO (ACL: +info)");
        return;
    }
    if (aof == "1" && told(facts, "aof_last_write_status") == "err")
        report.add(Health::wrong, "redis.persistence", "the append-only file cannot be written: writes are refused",
                   "make room on the disk of Redis, and look at its log");
    else if (told(facts, "rdb_last_bgsave_status") == "err")
        report.add(Health::wrong, "redis.persistence",
                   "the last snapshot to disk failed: Redis may refuse writes (MISCONF)",
                   "make room on the disk of Redis and memory for its fork, and look at its log");
    else if (aof != "1")
        report.add(Health::warn, "redis.persistence",
                   "no append-only file: what was answered since the last snapshot is lost when the server dies",
                   "appendonly yes and appendfsync always in redis.conf");
    else if (facts.appendfsync == "no")
        report.add(Health::warn, "redis.persistence",
                   "appendfsync is no: what was answered is lost when the machine dies",
                   "appendfsync always (or everysec, which may lose a second)");
    else
        report.well("redis.persistence",
                    "append-only file, appendfsync " + (facts.appendfsync.empty() ? "not told" : facts.appendfsync));
}

void check_redis_clock(Report& report, const RedisFacts& facts, const Settings& settings) {
    if (!facts.clock_offset) return;
    const engine::Duration off = *facts.clock_offset;
    const engine::Duration size = std::max(off, -off);
    const std::string says = fmt::format("the clock of Redis is {} {} this machine's", length(size),
                                         off.count() > 0 ? "ahead of" : "behind");
    if (size > settings.tunables.stream_clock_margin)
        report.add(Health::wrong, "redis.clock", says + ", more than stream_clock_margin allows for",
                   "keep all clocks with NTP: timedatectl, chronyc tracking");
    else if (size > kClockOffsetNoticed)
        report.add(Health::warn, "redis.clock", says, "keep all clocks with NTP: timedatectl, chronyc tracking");
    else
        report.well("redis.clock", "within a second of this machine's");
}

/// An answer of JetStream; nothing, with a finding made, where it is none.
std::optional<json> api_answer(Report& report, const std::string& check, std::string_view what, std::string_view answer,
                               const std::string& mend) {
    if (answer.empty()) {
        report.add(Health::unknown, check,
                   fmt::format("NATS did not answer about {} (no permission, or no JetStream)", what),
                   "let this user publish on $JS.API.> and hear its inbox; see permissions.md");
        return std::nullopt;
    }
    auto document = engine::wire::read_json(answer);
    if (!document.is_object()) document = json{{"error", {{"description", "the answer is no JSON"}}}};
    if (document.contains("error")) {
        std::string why =
            document["error"].is_object() ? document["error"].value("description", std::string("refused")) : "refused";
        report.add(Health::wrong, check, fmt::format("{}: {}", what, printable(why)), mend);
        return std::nullopt;
    }
    return document;
}

template <class T>
T member(const json& object, const char* name, T otherwise) {
    if (!object.is_object()) return otherwise;
    const auto found = object.find(name);
    if (found == object.end()) return otherwise;
    if constexpr (std::is_same_v<T, std::string>)
        return found->is_string() ? found->get<std::string>() : otherwise;
    else
        return found->is_number_integer() ? found->get<T>() : otherwise;
}

}  // namespace

std::string_view to_string(Health health) {
    switch (health) {
        case Health::well: return "well";
        case Health::unknown: return "unknown";
        case Health::warn: return "warn";
        case Health::wrong: return "wrong";
    }
    return "unknown";
}

std::map<std::string, std::string> parse_info(std::string_view text) {
    std::map<std::string, std::string> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const auto colon = line.find(':');
        if (line.starts_with('#') || colon == std::string_view::npos) continue;
        lines.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
    return lines;
}

Findings check_redis(const RedisFacts& facts, const Settings& settings) {
    Report report;
    check_server(report, facts, settings);
    check_memory(report, facts);
    check_persistence(report, facts);
    if (facts.write_error.empty())
        report.well("redis.writes", "a script may write, read and delete");
    else
        report.add(Health::wrong, "redis.writes", "a script cannot write: " + printable(facts.write_error),
                   "give the user the keys and commands of the deployment (ACL: ~* +@all), or make room");
    check_redis_clock(report, facts, settings);
    for (const std::string& key : facts.endless_locks)
        report.add(Health::wrong, "redis.locks",
                   fmt::format("{} never runs out, so that whoever waits for it waits for ever", printable(key)),
                   fmt::format("redis-cli DEL {}", printable(key)));
    for (const auto& key : facts.wrong_types)
        report.add(Health::wrong, "redis.keys",
                   fmt::format("{} is a {} and should be a {}", printable(key.key), key.is, key.wanted),
                   fmt::format("find out who writes it, then redis-cli RENAME {0} misplaced:{0}", printable(key.key)));
    return report.take();
}

namespace {

void check_limits(Report& report, const DeploymentFacts& facts) {
    std::set<std::string> variables;
    for (const auto& [replica, limits] : facts.limits)
        for (const auto& [variable, value] : limits) variables.insert(variable);
    for (const std::string& variable : variables) {
        std::map<std::string, std::string> replicas;  // by value, empty: not set
        for (const auto& [replica, limits] : facts.limits) {
            const auto found = limits.find(variable);
            std::string& names = replicas[found == limits.end() ? "" : found->second];
            names += (names.empty() ? "" : ", ") + printable(replica);
        }
        if (replicas.size() < 2) continue;
        std::string says = variable + " differs:";
        for (const auto& [value, names] : replicas)
            says += fmt::format("{} {} on {}", says.ends_with(':') ? "" : ";",
                                value.empty() ? "not set" : printable(value), names);
        report.add(Health::warn, "settings.limits", says,
                   "set it alike on every replica, and restart those that differ");
    }
}

}  // namespace

Findings check_deployment(const DeploymentFacts& facts) {
    Report report;
    check_limits(report, facts);
    const Surroundings& around = facts.around;
    const auto micros = [](engine::Duration span) {
        return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
    };
    const auto span = [](Micros time) { return length(std::chrono::microseconds(time)); };
    const bool fresh =
        around.snapshot_known && around.now - around.snapshot_at <= micros(snapshot_patience(around.tunables));
    if (!fresh)
        report.add(Health::wrong, "schedulers.alive",
                   around.snapshot_known ? fmt::format("no scheduler has written the snapshot of workers for {}",
                                                       span(around.now - around.snapshot_at))
                                         : "no scheduler has written a snapshot of workers",
                   "start lockstepd; where it runs, ask its /readyz");
    else
        report.well("schedulers.alive",
                    fmt::format("the snapshot of workers is {} old", span(around.now - around.snapshot_at)));
    if (fresh && around.workers.empty())
        report.add(Health::warn, "workers.alive", "no worker is known: nothing can be dispatched",
                   "start workers; where they run, look at what they say on sys.heartbeat");
    else if (fresh)
        report.well("workers.alive", fmt::format("{} workers", around.workers.size()));
    if (around.circuit_failures >= around.tunables.circuit_fail_budget)
        report.add(Health::warn, "policy.circuit",
                   fmt::format("the safety kernel has failed {} times in a row; it is asked again in {}",
                               around.circuit_failures, span(std::max<std::int64_t>(0, around.circuit_ms_left) * 1000)),
                   "look at the kernel, and whether the schedulers reach SAFETY_KERNEL_ADDR");
    else
        report.well("policy.circuit", "closed, or probing");
    if (facts.overlay_unreadable)
        report.add(Health::wrong, "settings.document",
                   "cfg:system:default cannot be read: the last good settings stay in force",
                   "mend the document, or delete it: the next start of a scheduler writes it anew from its files");
    if (facts.overlay)
        for (const std::string& mistake : facts.overlay->mistakes)
            report.add(Health::wrong, "settings.document", "cfg:system:default: " + printable(mistake),
                       "correct that entry of the document");
    const Micros patience = micros(around.tunables.pending_age + 2 * around.tunables.replayer_interval);
    if (facts.oldest_pending && around.now - *facts.oldest_pending > patience)
        report.add(Health::warn, "jobs.pending",
                   fmt::format("a job has been PENDING for {}", span(around.now - *facts.oldest_pending)),
                   "lockstepctl queue says why");
    if (facts.untold_letters > 0)
        report.add(Health::warn, "dead_letters.told",
                   fmt::format("{} dead letters have not been told to the bus yet", facts.untold_letters),
                   "look whether CORDUM_SYS takes messages; schedulers repeat them by themselves");
    return report.take();
}

Findings check_stream(std::string_view name, const std::vector<std::string>& subjects, std::string_view answer,
                      const Settings& settings) {
    Report report;
    const std::string check = fmt::format("nats.stream.{}", name);
    const auto info = api_answer(report, check, fmt::format("stream {}", name), answer,
                                 "start lockstepd, which makes it; where it cannot, make it as wire.md says");
    if (!info) return report.take();
    const json config = info->contains("config") ? (*info)["config"] : json::object();
    bool well = true;
    const auto wrong = [&](Health health, std::string says, std::string mend) {
        well = false;
        report.add(health, check, fmt::format("stream {}: {}", name, says), std::move(mend));
    };
    const json bound = config.contains("subjects") ? config["subjects"] : json::array();
    for (const std::string& subject : subjects)
        if (std::ranges::find(bound, json(subject)) == bound.end())
            wrong(Health::wrong, fmt::format("does not hold {}: what is published there is lost", subject),
                  fmt::format("nats stream edit {} --subjects ...,{}", name, subject));
    if (const auto retention = member(config, "retention", std::string("limits")); retention != "limits")
        wrong(Health::wrong, fmt::format("retention is {}: messages go before every reader has them", retention),
              "make it anew with retention limits; it cannot be changed in place");
    if (const auto storage = member(config, "storage", std::string("file")); storage != "file")
        wrong(Health::warn, fmt::format("storage is {}: a restart of the server loses it", storage),
              "make it anew with file storage");
    const engine::Duration window(member(config, "duplicate_window", std::int64_t{0}));
    if (window < kDuplicateWindowWanted)
        wrong(Health::wrong,
              fmt::format("the duplicate window is {}: a publish that is repeated after it is another message",
                          length(window)),
              fmt::format("nats stream edit {} --dupe-window 2m", name));
    const engine::Duration age(member(config, "max_age", std::int64_t{0}));
    if (age.count() != 0 && age < settings.nats.max_age)
        wrong(Health::warn,
              fmt::format("messages are kept for {}, less than NATS_JS_MAX_AGE ({})", length(age),
                          length(settings.nats.max_age)),
              fmt::format("nats stream edit {} --max-age, or set NATS_JS_MAX_AGE to it", name));
    if (const auto replicas = member(config, "num_replicas", 1); replicas < settings.nats.replicas)
        wrong(Health::warn,
              fmt::format("it has {} copies, and NATS_JS_REPLICAS asks for {}", replicas, settings.nats.replicas),
              fmt::format("nats stream edit {} --replicas {}", name, settings.nats.replicas));
    for (const char* limit : {"max_msgs", "max_bytes"})
        if (const auto value = member(config, limit, std::int64_t{-1}); value > 0)
            wrong(Health::warn, fmt::format("{} is {}: at the limit it refuses or drops messages", limit, value),
                  "take the limit away, and watch the disk instead");
    if (well)
        report.well(check, fmt::format("{} messages",
                                       member(info->value("state", json::object()), "messages", std::int64_t{0})));
    return report.take();
}

Findings check_consumer(const engine::ConsumerSpec& wanted, std::string_view answer, const Settings& settings,
                        engine::Duration dispatch_timeout) {
    Report report;
    const std::string check = "nats.consumer." + wanted.durable;
    const auto info = api_answer(report, check, "durable " + wanted.durable, answer, "start lockstepd, which makes it");
    if (!info) return report.take();
    bool well = true;
    const auto found = [&](Health health, std::string says, std::string mend) {
        well = false;
        report.add(health, check, fmt::format("durable {}: {}", wanted.durable, says), std::move(mend));
    };
    const auto binding = jetstream::parse_consumer(answer, wanted);
    if (binding && !binding->difference.empty())
        found(Health::wrong, fmt::format("{}: a replica with these settings does not start", binding->difference),
              "set NATS_JS_ACK_WAIT, NATS_MAX_ACK_PENDING and LOCKSTEP_BUS_MAX_DELIVER to what it has, or change it: "
              "lockstepctl consumers set");
    if (binding && !wanted.deployment.empty() && !binding->deployment.empty() &&
        binding->deployment != wanted.deployment)
        found(Health::wrong,
              fmt::format("it belongs to deployment {}, and this Redis to {}: a replica does not start",
                          binding->deployment, wanted.deployment),
              "give each deployment a NATS, an account or a domain of its own; see lockstepctl consumers adopt --help");
    if (const auto handed = jetstream::parse_handed_out(answer); handed && !handed->bound)
        found(Health::wrong, "no scheduler listens to it", "start lockstepd; where it runs, ask its /readyz");
    const json config = info->contains("config") ? (*info)["config"] : json::object();
    const auto room = member(config, "max_ack_pending", std::int64_t{0});
    const auto in_hand = member(*info, "num_ack_pending", std::int64_t{0});
    if (room > 0 && in_hand >= room)
        found(
            Health::warn,
            fmt::format("{} messages are out without a verdict, as many as may be: nothing more is delivered", in_hand),
            "look at the schedulers' logs; more replicas, or lockstepctl consumers set --max-ack-pending");
    const engine::Duration ack_wait(member(config, "ack_wait", std::int64_t{0}));
    const engine::Duration late = engine::late_result_wait(ack_wait, settings.tunables.reconciler_interval);
    if (late >= dispatch_timeout)
        found(Health::warn,
              fmt::format("ack wait {} and two intervals of the reconciler are not below the dispatch timeout of {}: "
                          "the result that a dead "
                          "replica had in hand can come too late",
                          length(ack_wait), length(dispatch_timeout)),
              "NATS_JS_ACK_WAIT=30s on every replica, and lockstepctl consumers set --ack-wait 30s");
    if (well)
        report.well(check,
                    fmt::format("{} waiting, {} in hand", member(*info, "num_pending", std::int64_t{0}), in_hand));
    return report.take();
}

bool anything_wrong(const Findings& findings) {
    return std::ranges::any_of(findings, [](const Finding& one) { return one.health == Health::wrong; });
}

json findings_json(const Findings& findings) {
    json list = json::array();
    for (const Finding& one : findings)
        list.push_back(
            {{"check", one.check}, {"health", to_string(one.health)}, {"says", one.says}, {"mend", one.mend}});
    return {{"ok", !anything_wrong(findings)}, {"findings", std::move(list)}};
}

std::string findings_text(const Findings& findings, bool all) {
    std::string text;
    std::array<int, 4> counts{};
    for (const Finding& one : findings) {
        ++counts[static_cast<std::size_t>(one.health)];
        if (one.health == Health::well && !all) continue;
        text += fmt::format("{:<8}{:<20} {}\n", to_string(one.health), one.check, one.says);
        if (!one.mend.empty()) text += fmt::format("        do: {}\n", one.mend);
    }
    return text +
           fmt::format("{} well, {} unknown, {} warnings, {} wrong\n", counts[0], counts[1], counts[2], counts[3]);
}

}  // namespace lockstep::prod
