#include "sim/oracles/snapshot_text.h"

#include <nlohmann/json.hpp>

namespace lockstep::sim {

std::vector<std::string> workers_named_in(std::string_view reply) {
    using Json = nlohmann::json;
    std::vector<std::string> names;
    const std::size_t begin = reply.find('{');
    const std::size_t end = reply.rfind('}');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return names;
    const Json document = Json::parse(reply.substr(begin, end - begin + 1), nullptr, false);
    if (!document.is_object() || !document.contains("workers") || !document["workers"].is_array()) return names;
    for (const Json& worker : document["workers"]) {
        if (worker.is_object() && worker.contains("worker_id") && worker["worker_id"].is_string())
            names.push_back(worker["worker_id"].get<std::string>());
    }
    return names;
}

}  // namespace lockstep::sim
