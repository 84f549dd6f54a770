#include "sim/model/snapshot_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"

namespace lockstep::sim {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kTimePattern = "dddd-dd-ddTdd:dd:ddZ";

/// A member of that type, or `otherwise`.
template <class T>
T member(const Json& object, const char* key, bool (Json::*fits)() const noexcept, T otherwise) {
    const auto found = object.find(key);
    return found != object.end() && ((*found).*fits)() ? found->get<T>() : std::move(otherwise);
}
NamedWorker worker_of(const Json& object) {
    NamedWorker worker;
    worker.pool = engine::wire::text_member(object, "pool");
    worker.active_jobs = member<std::int64_t>(object, "active_jobs", &Json::is_number_integer, 0);
    worker.max_parallel_jobs = member<std::int64_t>(object, "max_parallel_jobs", &Json::is_number_integer, 0);
    worker.cpu_load = member<double>(object, "cpu_load", &Json::is_number, 0);
    worker.gpu_utilization = member<double>(object, "gpu_utilization", &Json::is_number, 0);
    worker.memory_load = member<double>(object, "memory_load", &Json::is_number, 0);
    worker.region = engine::wire::text_member(object, "region");
    worker.type = engine::wire::text_member(object, "type");
    if (const auto able = object.find("capabilities"); able != object.end() && able->is_array())
        for (const Json& one : *able)
            if (one.is_string()) worker.capabilities.push_back(one.get<std::string>());
    if (const auto labels = object.find("labels"); labels != object.end() && labels->is_object()) {
        for (const auto& [name, value] : labels->items())
            if (value.is_string()) worker.labels.emplace(name, value.get<std::string>());
    }
    return worker;
}

bool is_whole(const Json& worker) {
    const auto has = [&worker](const char* key, bool (Json::*fits)() const noexcept) {
        const auto found = worker.find(key);
        return found != worker.end() && ((*found).*fits)();
    };
    return worker.is_object() && has("worker_id", &Json::is_string) && has("pool", &Json::is_string) &&
           has("active_jobs", &Json::is_number_integer) && has("max_parallel_jobs", &Json::is_number_integer) &&
           !worker["worker_id"].get_ref<const std::string&>().empty();
}

/// What its workers say in all of a pool.
struct PoolSum {
    std::int64_t workers = 0, active_jobs = 0, capacity = 0;
};
using PoolSums = std::map<std::string, PoolSum, std::less<>>;

PoolSums sums_of(const Json& workers) {
    PoolSums sums;
    for (const Json& worker : workers) {
        PoolSum& sum = sums[worker["pool"].get<std::string>()];
        ++sum.workers;
        sum.active_jobs += worker["active_jobs"].get<std::int64_t>();
        sum.capacity += std::max<std::int64_t>(worker["max_parallel_jobs"].get<std::int64_t>(), 0);
    }
    return sums;
}

/// -1: it says no such number.
std::int64_t number_in(const Json& object, const char* key) {
    return object.is_object() ? member<std::int64_t>(object, key, &Json::is_number_integer, -1) : -1;
}

bool pools_add_up(const Json& pools, const PoolSums& sums) {
    if (!pools.is_object() || pools.size() != sums.size()) return false;
    return std::ranges::all_of(sums, [&pools](const auto& entry) {
        const auto& [name, sum] = entry;
        const auto pool = pools.find(name);
        return pool != pools.end() && number_in(*pool, "workers") == sum.workers &&
               number_in(*pool, "active_jobs") == sum.active_jobs && number_in(*pool, "capacity") == sum.capacity;
    });
}

bool topic_adds_up(const Json& topic, const PoolSums& sums) {
    if (!topic.is_object()) return false;
    const auto found = sums.find(engine::wire::text_member(topic, "pool"));
    const PoolSum sum = found == sums.end() ? PoolSum{} : found->second;
    return number_in(topic, "workers") == sum.workers && number_in(topic, "capacity") == sum.capacity &&
           member<bool>(topic, "available", &Json::is_boolean, sum.workers == 0) == (sum.workers > 0);
}

/// What its pools and topics say in all is what the workers in them say.
bool adds_up(const Json& document) {
    const PoolSums sums = sums_of(document["workers"]);
    const auto pools = document.find("pools");
    if (pools != document.end() && !pools_add_up(*pools, sums)) return false;
    const auto topics = document.find("topics");
    if (topics == document.end() || !topics->is_object()) return true;
    return std::ranges::all_of(*topics, [&sums](const Json& topic) { return topic_adds_up(topic, sums); });
}

std::string flaw_of(const Json& document) {
    if (!document.is_object()) return "it is no JSON object";
    const auto workers = document.find("workers");
    if (workers == document.end() || !workers->is_array()) return "it has no list of workers";
    if (!std::ranges::all_of(*workers, is_whole)) return "one of its workers lacks what a gateway reads";
    const auto captured = document.find("captured_at");
    if (captured == document.end() || !captured->is_string()) return "it does not say when it was captured";
    if (!seconds_of(captured->get_ref<const std::string&>())) return "its time cannot be read";
    if (!adds_up(document)) return "its pools and topics say something else than its workers";
    return {};
}

SnapshotText read_document(std::string_view text) {
    SnapshotText snapshot;
    const Json document = engine::wire::read_json(text);
    snapshot.flaw = flaw_of(document);
    if (!document.is_object()) return snapshot;
    snapshot.captured_at = seconds_of(engine::wire::text_member(document, "captured_at"));
    if (const auto workers = document.find("workers"); workers != document.end() && workers->is_array()) {
        for (const Json& worker : *workers) {
            if (!worker.is_object()) continue;
            if (const std::string id = engine::wire::text_member(worker, "worker_id"); !id.empty())
                snapshot.workers.insert_or_assign(id, worker_of(worker));
        }
    }
    if (const auto topics = document.find("topics"); topics != document.end() && topics->is_object()) {
        for (const auto& [topic, about] : topics->items())
            if (about.is_object())
                snapshot.pool_of_topic.insert_or_assign(topic, engine::wire::text_member(about, "pool"));
    }
    return snapshot;
}

/// Schedulers begin a document with its time and its writer.
constexpr std::string_view kBeforeTime = R"({"captured_at":")";
constexpr std::string_view kAfterTime = R"(","writer_id":")";

/// The time of a document that begins so; nothing: it does not.
std::optional<std::chrono::seconds> time_in_front(std::string_view document) {
    const std::size_t end = kBeforeTime.size() + kTimePattern.size();
    if (!document.starts_with(kBeforeTime) || document.size() < end) return std::nullopt;
    if (!document.substr(end).starts_with(kAfterTime)) return std::nullopt;
    return seconds_of(document.substr(kBeforeTime.size(), kTimePattern.size()));
}

/// What it says behind its time and its writer.
std::string_view content_of(std::string_view document) {
    return document.substr(std::min(document.rfind(',', document.find('{', 1)), document.size()));
}

}  // namespace

const SnapshotText& read_snapshot(std::string_view document) {
    // Replicas take turns at writing it, and while nothing happens all of them write the same.
    static thread_local std::string last;
    static thread_local SnapshotText snapshot = read_document(last);
    const auto time = time_in_front(document);
    if (time && time_in_front(last) && content_of(document) == content_of(last)) {
        snapshot.captured_at = time;
    } else if (document != last) {
        snapshot = read_document(document);
        last = document;
    }
    return snapshot;
}

const SnapshotText& read_snapshot_reply(std::string_view reply) {
    const std::size_t begin = reply.find('{');
    const std::size_t end = reply.rfind('}');
    const bool has_document = begin != std::string_view::npos && end != std::string_view::npos && begin < end;
    return read_snapshot(has_document ? reply.substr(begin, end - begin + 1) : std::string_view{});
}

std::optional<std::chrono::seconds> seconds_of(std::string_view time) {
    const auto fits = [](char c, char pattern) { return pattern == 'd' ? c >= '0' && c <= '9' : c == pattern; };
    if (!std::ranges::equal(time, kTimePattern, fits)) return std::nullopt;
    const auto number = [time](std::size_t from, std::size_t digits) {
        int value = 0;
        std::from_chars(time.data() + from, time.data() + from + digits, value);
        return value;
    };
    const std::chrono::year_month_day date{std::chrono::year{number(0, 4)},
                                           std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                           std::chrono::day{static_cast<unsigned>(number(8, 2))}};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{number(11, 2)} +
           std::chrono::minutes{number(14, 2)} + std::chrono::seconds{number(17, 2)};
}

}  // namespace lockstep::sim
