#include "sim/search/reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "sim/scenario/values.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;
using Candidates = std::vector<Document>;

// Lists ---------------------------------------------------------------------------------------------------------------

/// The list without runs of its elements: halves first, then quarters, down to single ones.
Candidates without_parts(const Document& document, const char* key) {
    Candidates out;
    const auto found = document.find(key);
    if (found == document.end() || !found->is_array() || found->empty()) return out;
    const std::size_t size = found->size();
    for (std::size_t length = size; length > 0; length /= 2) {
        for (std::size_t from = 0; from + length <= size; from += length) {
            Document smaller = document;
            Document rest = Document::array();
            for (std::size_t i = 0; i < size; ++i) {
                if (i < from || i >= from + length) rest.push_back((*found)[i]);
            }
            if (rest.empty())
                smaller.erase(key);
            else
                smaller[key] = std::move(rest);
            out.push_back(std::move(smaller));
        }
    }
    return out;
}

Candidates fewer_faults(const Document& document) { return without_parts(document, "faults"); }
Candidates fewer_load_lines(const Document& document) { return without_parts(document, "load"); }

// Numbers -------------------------------------------------------------------------------------------------------------

/// What may stand in place of a count: one, then ever closer to it.
std::vector<std::int64_t> smaller_counts(std::int64_t count) {
    std::vector<std::int64_t> out;
    for (const std::int64_t next : {std::int64_t{1}, count / 4, count / 2, count * 3 / 4, count - 1}) {
        if (next >= 1 && next < count && std::ranges::find(out, next) == out.end()) out.push_back(next);
    }
    return out;
}

Candidates fewer_jobs(const Document& document) {
    Candidates out;
    if (!document.contains("load")) return out;
    for (std::size_t i = 0; i < document["load"].size(); ++i) {
        const Document& line = document["load"][i];
        if (!line.contains("count") || !line["count"].is_number_integer()) continue;
        const auto count = line["count"].get<std::int64_t>();
        for (const std::int64_t next : smaller_counts(count)) {
            Document smaller = document;
            smaller["load"][i]["count"] = next;
            if (next == 1) {
                smaller["load"][i].erase("count");
                smaller["load"][i].erase("rate");
            }
            out.push_back(std::move(smaller));
        }
        if (count == 1) {
            Document smaller = document;
            smaller["load"][i].erase("count");
            smaller["load"][i].erase("rate");
            out.push_back(std::move(smaller));
        }
    }
    return out;
}

// Nodes ---------------------------------------------------------------------------------------------------------------

/// Every text equal to `from` in the faults becomes `to`.
void rename_node(Document& value, const std::string& from, const std::string& to) {
    if (value.is_string() && value.get_ref<const std::string&>() == from) value = to;
    if (!value.is_structured()) return;
    for (auto& member : value) rename_node(member, from, to);
}

/// What named a node that there is no more names one of those that are left instead.
Candidates with_nodes_renamed(const Document& smaller, const std::string& stem, std::int64_t left,
                              std::int64_t before) {
    Candidates out;
    for (std::int64_t heir = 0; heir < left; ++heir) {
        Document renamed = smaller;
        for (std::int64_t gone = left; gone < before; ++gone) {
            if (renamed.contains("faults"))
                rename_node(renamed["faults"], fmt::format("{}-{}", stem, gone), fmt::format("{}-{}", stem, heir));
        }
        out.push_back(std::move(renamed));
    }
    return out;
}

void append(Candidates& out, Candidates more) { std::ranges::move(more, std::back_inserter(out)); }

Candidates fewer_replicas(const Document& document) {
    Candidates out;
    if (!document.contains("cluster") || !document["cluster"].contains("schedulers")) return out;
    const auto count = document["cluster"]["schedulers"].get<std::int64_t>();
    for (const std::int64_t next : smaller_counts(count)) {
        Document smaller = document;
        smaller["cluster"]["schedulers"] = next;
        append(out, with_nodes_renamed(smaller, "scheduler", next, count));
    }
    return out;
}

Candidates fewer_workers(const Document& document) {
    Candidates out;
    if (!document.contains("cluster") || !document["cluster"].contains("workers")) return out;
    const Document& groups = document["cluster"]["workers"];
    for (std::size_t i = 0; i < groups.size(); ++i) {
        Document without = document;
        without["cluster"]["workers"].erase(i);
        out.push_back(std::move(without));
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (!groups[i].contains("count") || !groups[i].contains("id")) continue;
        const auto count = groups[i]["count"].get<std::int64_t>();
        for (const std::int64_t next : smaller_counts(count)) {
            Document smaller = document;
            smaller["cluster"]["workers"][i]["count"] = next;
            append(out, with_nodes_renamed(smaller, groups[i]["id"].get<std::string>(), next, count));
        }
    }
    return out;
}

// Settings ------------------------------------------------------------------------------------------------------------

/// The document without single members of the object at `pointer`.
Candidates without_members(const Document& document, const Document::json_pointer& pointer,
                           std::initializer_list<std::string_view> kept = {}) {
    Candidates out;
    if (!document.contains(pointer) || !document[pointer].is_object()) return out;
    for (const auto& [key, value] : document[pointer].items()) {
        if (std::ranges::find(kept, key) != kept.end()) continue;
        Document smaller = document;
        smaller[pointer].erase(key);
        out.push_back(std::move(smaller));
    }
    return out;
}

Candidates fewer_settings(const Document& document) {
    using Pointer = Document::json_pointer;
    Candidates out = without_members(document, Pointer("/cluster"), {"schedulers", "workers"});
    append(out, without_members(document, Pointer("/cluster/config")));
    append(out, without_members(document, Pointer("/cluster/kernel")));
    append(out, without_members(document, Pointer("/cluster/timeouts/reconciler")));
    if (document.contains(Pointer("/cluster/kernel/policy/rules"))) {
        for (std::size_t i = 0; i < document["cluster"]["kernel"]["policy"]["rules"].size(); ++i) {
            Document smaller = document;
            smaller["cluster"]["kernel"]["policy"]["rules"].erase(i);
            out.push_back(std::move(smaller));
        }
    }
    const std::size_t groups =
        document.contains(Pointer("/cluster/workers")) ? document["cluster"]["workers"].size() : 0;
    for (std::size_t i = 0; i < groups; ++i) {
        append(out, without_members(document, Pointer(fmt::format("/cluster/workers/{}", i)), {"id", "count"}));
        append(out, without_members(document, Pointer(fmt::format("/cluster/workers/{}/outcomes", i))));
    }
    const std::size_t lines = document.contains("load") ? document["load"].size() : 0;
    for (std::size_t i = 0; i < lines; ++i) {
        append(out, without_members(document, Pointer(fmt::format("/load/{}/job", i)), {"job_id", "topic"}));
        append(out, without_members(document, Pointer(fmt::format("/load/{}/job/labels", i))));
    }
    const std::size_t faults = document.contains("faults") ? document["faults"].size() : 0;
    for (std::size_t i = 0; i < faults; ++i) {
        append(out, without_members(document, Pointer(fmt::format("/faults/{}", i)),
                                    {"do", "at", "on", "target", "a", "b", "for"}));
        append(out, without_members(document, Pointer(fmt::format("/faults/{}/on", i)), {"event", "when"}));
    }
    return out;
}

/// Everybody in the one pool that there is when a file names none; else without single topics and pools.
Candidates simpler_routing(const Document& document) {
    using Pointer = Document::json_pointer;
    Candidates out;
    if (!document.contains(Pointer("/cluster/pools"))) return out;
    Document plain = document;
    plain["cluster"].erase("pools");
    if (plain["cluster"].contains("workers"))
        for (Document& group : plain["cluster"]["workers"]) group.erase("pool");
    if (plain.contains("load")) {
        for (Document& line : plain["load"]) {
            line.erase("topic");
            if (!line.contains("job")) continue;
            line["job"].erase("topic");
            if (line["job"].contains("compensation")) line["job"]["compensation"]["topic"] = "job.default";
        }
    }
    out.push_back(std::move(plain));
    append(out, without_members(document, Pointer("/cluster/pools/topics")));
    append(out, without_members(document, Pointer("/cluster/pools/pools")));
    return out;
}

/// Spent empty objects, which mean what their absence means.
Candidates without_empty(const Document& document) {
    Document smaller = document;
    const auto drop = [](Document& object, const char* key) {
        if (object.contains(key) && object[key].is_structured() && object[key].empty()) object.erase(key);
    };
    if (smaller.contains("cluster")) {
        Document& cluster = smaller["cluster"];
        if (cluster.contains("kernel") && cluster["kernel"].contains("policy") &&
            cluster["kernel"]["policy"].contains("rules"))
            drop(cluster["kernel"]["policy"], "rules");
        for (const char* key : {"config", "kernel", "clocks", "network", "redis"}) drop(cluster, key);
    }
    if (smaller.contains("load")) {
        for (Document& line : smaller["load"]) {
            if (line.contains("job")) drop(line["job"], "labels");
            drop(line, "job");
        }
    }
    return smaller == document ? Candidates{} : Candidates{std::move(smaller)};
}

// Times ---------------------------------------------------------------------------------------------------------------

/// Shorter times that people can read, the shortest first: at most `duration`, rounded to its leading digit or less.
std::vector<std::string> shorter(const std::string& text) {
    const std::string sign = text.starts_with('-') ? "-" : "";
    const auto value = engine::parse_duration(text.substr(sign.size()));
    std::vector<std::string> out;
    if (!value) return out;
    const auto offer = [&](Duration next) {
        const std::string candidate = sign + engine::format_duration(next);
        if (next > Duration{} && next <= *value && candidate.size() <= text.size() && candidate != text &&
            (next < *value || candidate.size() < text.size()) && std::ranges::find(out, candidate) == out.end())
            out.push_back(candidate);
    };
    offer(*value > Duration(1s) ? Duration(1s) : Duration(1ms));
    for (const Duration unit : {Duration(1s), Duration(100ms), Duration(10ms), Duration(1ms)}) {
        offer(*value / 8 / unit * unit);
        offer(*value / 2 / unit * unit);
        offer(*value * 9 / 10 / unit * unit);
        offer(*value / unit * unit);
    }
    return out;
}

void shorten_at(const Document& document, const Document::json_pointer& pointer, Candidates& out) {
    if (!document.contains(pointer) || !document[pointer].is_string()) return;
    for (const std::string& text : shorter(document[pointer].get<std::string>())) {
        Document smaller = document;
        smaller[pointer] = text;
        out.push_back(std::move(smaller));
    }
}

/// Not the duration of the scenario: a run ends when all is quiet, and to cut it short makes failures of its own.
Candidates shorter_times(const Document& document) {
    using Pointer = Document::json_pointer;
    Candidates out;
    for (const char* list : {"faults", "load"}) {
        const std::size_t size = document.contains(list) ? document[list].size() : 0;
        for (std::size_t i = 0; i < size; ++i) {
            for (const char* key : {"for", "at", "latency", "latency/max", "period", "by"})
                shorten_at(document, Pointer(fmt::format("/{}/{}/{}", list, i, key)), out);
        }
    }
    const std::size_t groups =
        document.contains(Pointer("/cluster/workers")) ? document["cluster"]["workers"].size() : 0;
    for (std::size_t i = 0; i < groups; ++i) {
        const Pointer at(fmt::format("/cluster/workers/{}/service_time", i));
        if (!document.contains(at)) continue;
        for (const char* simple : {"1ms", "100ms", "1s", "10s"}) {
            if (document[at] == simple) break;
            Document smaller = document;
            smaller[at] = simple;
            out.push_back(std::move(smaller));
        }
    }
    return out;
}

/// The nth event: the first, or nearer to it.
Candidates earlier_events(const Document& document) {
    Candidates out;
    const std::size_t faults = document.contains("faults") ? document["faults"].size() : 0;
    for (std::size_t i = 0; i < faults; ++i) {
        const Document::json_pointer at(fmt::format("/faults/{}/on/nth", i));
        if (!document.contains(at)) continue;
        for (const std::int64_t next : smaller_counts(document[at].get<std::int64_t>())) {
            Document smaller = document;
            smaller[at] = next;
            out.push_back(std::move(smaller));
        }
    }
    return out;
}

constexpr std::array kReductions{
    Reduction{"faults", fewer_faults},     Reduction{"load", fewer_load_lines}, Reduction{"jobs", fewer_jobs},
    Reduction{"replicas", fewer_replicas}, Reduction{"workers", fewer_workers}, Reduction{"settings", fewer_settings},
    Reduction{"routing", simpler_routing}, Reduction{"events", earlier_events}, Reduction{"times", shorter_times},
    Reduction{"empty", without_empty},
};

}  // namespace

std::span<const Reduction> reductions() { return kReductions; }

}  // namespace lockstep::sim
