#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/snapshot/worker_snapshot.h"
#include "engine/wire/json_text.h"

namespace lockstep::engine {

namespace {

using google::protobuf::util::TimeUtil;
using Json = nlohmann::json;

/// Reads members of the expected types and remembers the first that is of another.
class Reader {
public:
    [[nodiscard]] const std::string& problem() const { return problem_; }

    WorkerSnapshot snapshot(const Json& document);

private:
    Worker worker(const Json& object);
    WallTime time(const std::string& text);
    std::string text(const Json& object, const char* key);
    std::int32_t count(const Json& object, const char* key);
    float load(const Json& object, const char* key);

    /// Null when there is nothing to read. Peers write an empty list as null, so null is the same as absent.
    const Json* member(const Json& object, const char* key, bool (*fits)(const Json&)) {
        const auto found = object.find(key);
        if (found == object.end() || found->is_null()) return nullptr;
        if (fits(*found)) return &*found;
        note(fmt::format("{} has the wrong type", key));
        return nullptr;
    }
    void note(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
    }

    std::string problem_;
};

bool is_text(const Json& value) { return value.is_string(); }
bool is_list(const Json& value) { return value.is_array(); }
bool is_texts(const Json& value) { return value.is_array() && std::ranges::all_of(value, is_text); }
bool is_text_map(const Json& value) { return value.is_object() && std::ranges::all_of(value, is_text); }
bool is_whole_number(const Json& value) { return value.is_number_integer(); }
bool is_float(const Json& value) {
    return value.is_number() && std::abs(value.get<double>()) <= static_cast<double>(std::numeric_limits<float>::max());
}

std::string Reader::text(const Json& object, const char* key) {
    const Json* value = member(object, key, is_text);
    return value == nullptr ? std::string() : value->get<std::string>();
}

std::int32_t Reader::count(const Json& object, const char* key) {
    const Json* value = member(object, key, is_whole_number);
    if (value == nullptr) return 0;
    using Limits = std::numeric_limits<std::int32_t>;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(Limits::max()))
        return Limits::max();
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value->get<std::int64_t>(), Limits::min(), Limits::max()));
}

float Reader::load(const Json& object, const char* key) {
    const Json* value = member(object, key, is_float);
    return value == nullptr ? 0 : value->get<float>();
}

Worker Reader::worker(const Json& object) {
    Worker worker;
    if (!object.is_object()) {
        note("an entry of workers is no object");
        return worker;
    }
    worker.id = WorkerId(text(object, "worker_id"));
    worker.pool = text(object, "pool");
    worker.active_jobs = count(object, "active_jobs");
    worker.max_parallel_jobs = count(object, "max_parallel_jobs");
    if (const Json* list = member(object, "capabilities", is_texts))
        worker.capabilities = list->get<std::vector<std::string>>();
    worker.cpu_load = load(object, "cpu_load");
    worker.gpu_utilization = load(object, "gpu_utilization");
    worker.memory_load = load(object, "memory_load");
    worker.region = text(object, "region");
    worker.type = text(object, "type");
    if (const Json* map = member(object, "labels", is_text_map))
        worker.labels = map->get<std::map<std::string, std::string>>();
    return worker;
}

WallTime Reader::time(const std::string& text) {
    // From the epoch to the last that a WallTime can hold, so that no difference of two is too large; the texts reach from the year 1
    // to 9999.
    constexpr std::int64_t kSecondsMax = std::numeric_limits<std::int64_t>::max() / 1'000'000'000 - 1;
    google::protobuf::Timestamp time;
    if (!TimeUtil::FromString(text, &time) || time.seconds() < 0 || time.seconds() > kSecondsMax) {
        note("captured_at is no time");
        return {};
    }
    return WallTime(std::chrono::seconds(time.seconds()) + std::chrono::nanoseconds(time.nanos()));
}

WorkerSnapshot Reader::snapshot(const Json& document) {
    WorkerSnapshot snapshot;
    if (!document.is_object()) {
        note(document.is_discarded() ? "it is no JSON" : "it is no object");
        return snapshot;
    }
    snapshot.writer_id = text(document, "writer_id");
    if (const Json* list = member(document, "workers", is_list)) {
        for (const Json& item : *list) {
            Worker known = worker(item);
            if (!known.id.empty()) snapshot.workers.push_back(std::move(known));
        }
    }
    // Without workers nobody asks how old it is.
    if (!snapshot.workers.empty()) snapshot.captured_at = time(text(document, "captured_at"));
    return snapshot;
}

}  // namespace

tl::expected<WorkerSnapshot, std::string> parse_worker_snapshot(std::string_view text) {
    Reader reader;
    WorkerSnapshot snapshot = reader.snapshot(wire::read_json(text));
    if (!reader.problem().empty()) return tl::make_unexpected(reader.problem());
    return snapshot;
}

}  // namespace lockstep::engine
