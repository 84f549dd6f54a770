#include "sim/search/reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/scenario/values.h"
#include "sim/search/reduction_parts.h"

namespace lockstep::sim {

namespace {

using namespace detail;

Candidates fewer_faults(const Document& document) { return without_parts(document, "faults"); }

/// Faults that hit every call in place of some: then fewer jobs are enough to meet them. All of them, halves, single ones.
Candidates certain_faults(const Document& document) {
    std::vector<std::size_t> uncertain;
    for (std::size_t i = 0; i < size_of_list(document, "faults"); ++i)
        if (document["faults"][i].contains("rate")) uncertain.push_back(i);
    Candidates out;
    for (std::size_t length = uncertain.size(); length > 0; length /= 2) {
        for (std::size_t from = 0; from + length <= uncertain.size(); from += length) {
            Document certain = document;
            for (std::size_t i = from; i < from + length; ++i) certain["faults"][uncertain[i]].erase("rate");
            out.push_back(std::move(certain));
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

/// Of a group without a count the one worker bears the name.
Document with_a_single_worker(const Document& document, std::size_t group) {
    Document smaller = document;
    Document& single = smaller["cluster"]["workers"][group];
    single.erase("count");
    const std::string id = single["id"].get<std::string>();
    if (smaller.contains("faults")) rename_node(smaller["faults"], id + "-0", id);
    return smaller;
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
        if (count == 1) out.push_back(with_a_single_worker(document, i));
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
    append(out, without_members(document, Pointer("/cluster/schedule"), {"kind"}));
    append(out, without_members(document, Pointer("/cluster/kernel")));
    append(out, without_members(document, Pointer("/cluster/timeouts/reconciler")));
    append(out, without_members(document, Pointer("/cluster/output_policy")));
    for (const char* rules : {"/cluster/kernel/policy/rules", "/cluster/output_policy/rules"}) {
        const std::size_t size = document.contains(Pointer(rules)) ? document[Pointer(rules)].size() : 0;
        for (std::size_t i = 0; i < size; ++i) {
            Document smaller = document;
            smaller[Pointer(rules)].erase(i);
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
        Document at_once = document;
        if (at_once["load"][i].erase("rate") > 0) out.push_back(std::move(at_once));
        append(out, without_members(document, Pointer(fmt::format("/load/{}/job", i))));
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

/// Without what is expected beside it. Invariants stay: without a list of them all are expected.
Candidates fewer_expectations(const Document& document) {
    using Pointer = Document::json_pointer;
    Candidates out = without_members(document, Pointer("/expect"), {"invariants"});
    if (!document.contains("expect")) return out;
    for (const auto& [key, value] : document["expect"].items())
        append(out, without_members(document, Pointer("/expect") / key));
    return out;
}

/// Spent empty objects, and members that say what their absence says.
Candidates without_idle_words(const Document& document) {
    using Pointer = Document::json_pointer;
    Candidates out;
    const auto drop = [&](const std::string& of, const char* key, const Document* idle = nullptr) {
        const Pointer at(of + "/" + key);
        if (!document.contains(at)) return;
        const Document& value = document[at];
        if (idle != nullptr ? value != *idle : !value.is_structured() || !value.empty()) return;
        Document smaller = document;
        smaller[Pointer(of)].erase(key);
        out.push_back(std::move(smaller));
    };
    static const Document one = 1;
    static const Document usual_topic = "job.default";
    drop("/cluster/kernel/policy", "rules");
    for (const char* key : {"config", "kernel", "clocks", "network", "redis", "output_policy", "workers"})
        drop("/cluster", key);
    drop("/cluster", "schedulers", &one);
    drop("", "cluster");
    for (std::size_t i = 0; i < size_of_list(document, "load"); ++i) {
        const std::string line = fmt::format("/load/{}", i);
        drop(line + "/job", "labels");
        drop(line, "job");
        drop(line + "/job", "topic", &usual_topic);
        drop(line, "topic", &usual_topic);
    }
    return out;
}

constexpr auto kStructure = Reduction::Stage::structure;
constexpr auto kFinish = Reduction::Stage::finish;
constexpr bool kWhenCurable = true;
constexpr std::array kReductions{
    Reduction{"duration", shorter_run, kStructure, kWhenCurable},
    Reduction{"load", fewer_load_lines},
    Reduction{"jobs", fewer_jobs},
    Reduction{"replicas", fewer_replicas},
    Reduction{"workers", fewer_workers},
    Reduction{"faults", fewer_faults},
    Reduction{"joins", joined_faults},
    Reduction{"rates", certain_faults},
    Reduction{"events", earlier_events},
    Reduction{"settings", fewer_settings},
    Reduction{"routing", simpler_routing},
    Reduction{"expectations", fewer_expectations, kFinish},
    Reduction{"gaps", shorter_gaps, kFinish},
    Reduction{"times", shorter_times, kFinish},
    Reduction{"words", without_idle_words, kFinish},
};

// What a run tells -----------------------------------------------------------------------------------------------------

bool begins_after(const Document& entry, engine::Duration end) {
    const auto at = entry.find("at");
    if (at == entry.end() || !at->is_string()) return false;
    const auto begin = engine::parse_duration(at->get<std::string>());
    return begin && *begin > end;
}

/// Nothing when there is none, or when it was found by looking at what was left at the end: all may have led to it.
std::optional<engine::Duration> moment_of_violation(const RunResult& result) {
    if (result.violations.empty() || result.violations.front().at_rest) return {};
    return std::chrono::milliseconds(result.violations.front().at_ms);
}

bool had_no_effect(const std::string& pointer, const RunResult& result) {
    const auto count = std::ranges::find(result.faults, pointer, &FaultCount::pointer);
    return count != result.faults.end() && count->effective == 0;
}

template <class IsBystander>
Document without(const Document& document, const char* list, IsBystander is_bystander) {
    if (size_of_list(document, list) == 0) return document;
    Document smaller = document;
    smaller[list] = Document::array();
    for (std::size_t i = 0; i < document[list].size(); ++i) {
        if (!is_bystander(document[list][i], fmt::format("/{}/{}", list, i)))
            smaller[list].push_back(document[list][i]);
    }
    if (smaller[list].empty()) smaller.erase(list);
    return smaller;
}

}  // namespace

std::span<const Reduction> reductions() { return kReductions; }

std::vector<Document> without_bystanders(const Document& document, const RunResult& result) {
    const auto end = moment_of_violation(result);
    const auto late = [&](const Document& entry, const std::string&) { return end && begins_after(entry, *end); };
    const auto idle = [&](const Document& fault, const std::string& pointer) {
        return had_no_effect(pointer, result) || late(fault, pointer);
    };
    Candidates out;
    for (Document& candidate : Candidates{without(without(document, "faults", idle), "load", late),
                                          without(document, "faults", idle), without(document, "load", late)}) {
        if (candidate != document) out.push_back(std::move(candidate));
    }
    return out;
}

}  // namespace lockstep::sim
