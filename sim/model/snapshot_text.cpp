#include "sim/model/snapshot_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/wire/json_member.h"

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

/// What its pools say in all is what the workers in them say.
bool adds_up(const Json& document) {
    const auto pools = document.find("pools");
    if (pools == document.end() || !pools->is_object()) return true;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;  // workers and their jobs
    for (const Json& worker : document["workers"]) {
        auto& [workers, jobs] = sums[worker["pool"].get<std::string>()];
        ++workers;
        jobs += worker["active_jobs"].get<std::int64_t>();
    }
    for (const auto& [name, pool] : pools->items()) {
        const auto sum = sums.extract(name);
        const auto says = [&pool](const char* key) {
            return pool.is_object() ? member<std::int64_t>(pool, key, &Json::is_number_integer, -1) : -1;
        };
        if (sum.empty() || std::pair(says("workers"), says("active_jobs")) != sum.mapped()) return false;
    }
    return sums.empty();
}

std::string flaw_of(const Json& document) {
    if (!document.is_object()) return "it is no JSON object";
    const auto workers = document.find("workers");
    if (workers == document.end() || !workers->is_array()) return "it has no list of workers";
    if (!std::ranges::all_of(*workers, is_whole)) return "one of its workers lacks what a gateway reads";
    const auto captured = document.find("captured_at");
    if (captured == document.end() || !captured->is_string()) return "it does not say when it was captured";
    if (!seconds_of(captured->get_ref<const std::string&>())) return "its time cannot be read";
    if (!adds_up(document)) return "its pools say something else than its workers";
    return {};
}

SnapshotText read_document(std::string_view text) {
    SnapshotText snapshot;
    const Json document = Json::parse(text, nullptr, false);
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
