#include "engine/config/start_document.h"

#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/config/pools.h"
#include "engine/runtime/invariant.h"
#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine {

namespace {

using nlohmann::json;

constexpr const char* kPoolsHash = "_poolsFileHash";
constexpr const char* kTimeoutsHash = "_timeoutsFileHash";
/// Beyond it a revision is no counter that anybody has kept.
constexpr std::int64_t kRevisionMax = std::int64_t{1} << 53;

json fresh_document() {
    return {{"scope", "system"},
            {"scope_id", "default"},
            {"data", {{"safety", {{"enabled", true}, {"mode", "enforce"}}}, {"rate_limits", {{"enabled", true}}}}},
            {"revision", 0},
            {"meta", {{"source", "auto-bootstrap"}}}};
}

/// What the reference counts the reconciler's limits as where its file says nothing of them.
json reference_limits() {
    return {{"dispatch_timeout_seconds", 300}, {"running_timeout_seconds", 9000}, {"scan_interval_seconds", 30}};
}

/// The fingerprint of a file as the reference takes it, so that a file is the same for both: its JSON writer escapes some
/// characters that need no escape. They stand in texts only.
std::string file_fingerprint(const json& file) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEscaped{
        {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}, {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}}};
    std::string text = wire::json_text(file);
    for (const auto& [plain, escaped] : kEscaped) {
        for (auto at = text.find(plain); at != std::string::npos; at = text.find(plain, at + escaped.size()))
            text.replace(at, plain.size(), escaped);
    }
    return wire::sha256_hex(text);
}

bool has(const json& data, const char* key) { return data.contains(key) && !data[key].is_null(); }

/// The section under its name or its capitalised legacy name.
json& section_of(json& pools, const std::string& name) {
    std::string legacy = name;
    legacy[0] = static_cast<char>(legacy[0] - 'a' + 'A');
    return pools.contains(legacy) ? pools[legacy] : pools[name];
}

/// Adds the topics and pools that `stored` does not have.
void add_missing(json& stored, const json& file) {
    for (const auto& [name, entries] : file.items()) {
        json& section = section_of(stored, name);
        if (section.is_null()) section = json::object();
        if (!section.is_object()) continue;
        for (const auto& [key, value] : entries.items()) {
            if (!section.contains(key)) section[key] = value;
        }
    }
}

bool write_pools(json& data, const std::string& file_text) {
    if (file_text.empty()) return false;
    const json file = wire::parse_bounded(file_text);
    const std::string hash = file_fingerprint(file);
    const std::string recorded = wire::text_member(data, kPoolsHash);
    if (!has(data, "pools")) {
        data["pools"] = file;
    } else if (recorded == hash) {
        return false;
    } else if (!recorded.empty() && data["pools"].is_object()) {
        add_missing(data["pools"], file);
    }
    data[kPoolsHash] = hash;
    return true;
}

bool write_timeouts(json& data, const std::string& file_text) {
    if (file_text.empty()) return false;
    const json file = wire::parse_bounded(file_text);
    json counted = file;
    if (counted.is_object() && !counted.contains("reconciler")) counted["reconciler"] = reference_limits();
    const std::string hash = file_fingerprint(counted);
    if (has(data, "timeouts") && wire::text_member(data, kTimeoutsHash) == hash) return false;
    data["timeouts"] = file;
    data[kTimeoutsHash] = hash;
    return true;
}

/// A member that says nothing is left out, and so is one that was never set.
void drop_empty(json& pool) {
    for (auto member = pool.begin(); member != pool.end();) {
        const bool empty = member->is_null() || *member == "" || *member == 0 || *member == json::array();
        member = empty ? pool.erase(member) : std::next(member);
    }
}

}  // namespace

std::string stored_pools(std::string_view pools_json) {
    json document = wire::parse_bounded(pools_json);
    PRECONDITION(document.is_object(), "a pools document that nobody can read is a {}", document.type_name());
    PRECONDITION(parse_pools(pools_json), "a pools document of {} bytes cannot be read", pools_json.size());
    json stored = json::object();
    for (auto& [key, section] : document.items()) {
        const std::string name = key == "Topics" ? "topics" : key == "Pools" ? "pools" : key;
        if (section.is_null()) continue;
        for (auto& [entry, value] : section.items()) {
            if (value.is_string()) value = json::array({value});
            if (value.is_null()) value = json::object();
            if (value.is_object()) drop_empty(value);
            stored[name][entry] = value;
        }
    }
    return wire::json_text(stored);
}

tl::expected<std::string, std::string> start_document(std::string_view stored, const FileDocuments& files,
                                                      WallTime now) {
    json document = stored.empty() ? fresh_document() : wire::parse_bounded(stored);
    if (!document.is_object()) return tl::make_unexpected("the stored settings are no JSON object");
    json& data = document["data"];
    if (data.is_null()) data = json::object();
    if (!data.is_object()) return tl::make_unexpected("the stored settings have no object \"data\"");
    const json revision = document.value("revision", json(0));
    const bool countable = revision.is_number_integer() && revision >= 0 && revision < kRevisionMax;
    if (!countable) return tl::make_unexpected("the stored settings have no revision that could be counted on");

    const bool pools = write_pools(data, files.pools);
    const bool timeouts = write_timeouts(data, files.timeouts);
    if (!stored.empty() && !pools && !timeouts) return std::string{};
    document["revision"] = revision.get<std::int64_t>() + 1;
    document["updated_at"] = wire::rfc3339(now);
    return wire::json_text(document);
}

std::vector<std::string> overruled(std::string_view stored, const FileDocuments& files) {
    json document = wire::parse_bounded(stored);
    const json file = wire::parse_bounded(files.pools);
    if (!document.is_object() || !document["data"].is_object() || !document["data"]["pools"].is_object()) return {};
    json& pools = document["data"]["pools"];
    std::vector<std::string> names;
    for (const auto& [section, entries] : file.items()) {
        const json& there = section_of(pools, section);
        if (!there.is_object()) continue;
        for (const auto& [name, value] : entries.items()) {
            const auto found = there.find(name);
            if (found == there.end()) continue;
            json theirs = found->is_string() ? json::array({*found}) : *found;
            if (theirs.is_object()) drop_empty(theirs);
            if (theirs != value) names.push_back(section + "/" + name);
        }
    }
    return names;
}

}  // namespace lockstep::engine
