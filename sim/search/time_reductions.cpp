#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "sim/scenario/values.h"
#include "sim/search/reduction_parts.h"

namespace lockstep::sim::detail {

namespace {

using namespace std::chrono_literals;
using engine::Duration;

constexpr std::array kTimedLists{"load", "faults"};

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

/// Of a text; nothing when it is none, or no time.
std::optional<Duration> time_at(const Document& entry, const char* key) {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_string()) return {};
    const auto time = engine::parse_duration(found->get<std::string>());
    return time ? std::optional(*time) : std::nullopt;
}

/// Whether two faults differ in nothing but when they begin and how long they last.
bool alike(Document one, Document other) {
    for (const char* key : {"at", "for"}) {
        if (one.erase(key) == 0 || other.erase(key) == 0) return false;
    }
    return one == other;
}

/// A plain time in place of a distribution, or of a longer time; the shortest first.
void put_constants(const Document& document, const Document::json_pointer& at, bool only_for_distribution,
                   Candidates& out) {
    if (!document.contains(at) || (only_for_distribution && !document[at].is_object())) return;
    for (const char* simple : {"1ms", "100ms", "1s", "10s"}) {
        if (document[at] == simple) break;
        Document plain = document;
        plain[at] = simple;
        out.push_back(std::move(plain));
    }
}

std::vector<Duration> begins(const Document& document) {
    std::vector<Duration> out;
    for (const char* list : kTimedLists) {
        for (std::size_t i = 0; i < size_of_list(document, list); ++i)
            if (const auto begin = time_at(document[list][i], "at")) out.push_back(*begin);
    }
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
}

/// Whatever begins at `from` or after it, earlier.
Document moved_up(const Document& document, Duration from, Duration by) {
    Document moved = document;
    for (const char* list : kTimedLists) {
        for (std::size_t i = 0; i < size_of_list(document, list); ++i) {
            const auto begin = time_at(document[list][i], "at");
            if (begin && *begin >= from) moved[list][i]["at"] = engine::format_duration(*begin - by);
        }
    }
    return moved;
}

}  // namespace

/// REQUIRES: candidates also have to hold when nothing is switched off, as cutting a run short makes failures of its own. Not
/// below the usual duration, in which whatever recovers has recovered: what merely takes longer is not lost.
Candidates shorter_run(const Document& document) {
    Candidates out;
    const auto found = document.find("duration");
    if (found == document.end() || !found->is_string()) return out;
    const auto now = engine::parse_duration(found->get<std::string>());
    if (!now || *now < Scenario{}.duration) return out;
    Document usual = document;
    usual.erase("duration");
    out.push_back(std::move(usual));
    if (*now <= 1h) return out;
    Document smaller = document;
    smaller["duration"] = "1h";
    out.push_back(std::move(smaller));
    return out;
}

/// The order in which things begin stays, the pauses between them become shorter.
Candidates shorter_gaps(const Document& document) {
    Candidates out;
    Duration before{};
    for (const Duration begin : begins(document)) {
        const Duration gap = begin - before;
        for (const Duration left : {Duration(1s), gap / 4 / 1s * Duration(1s), gap / 2 / 1s * Duration(1s)}) {
            if (left >= Duration(1s) && left < gap) out.push_back(moved_up(document, begin, gap - left));
        }
        before = begin;
    }
    return out;
}

/// Two faults that differ only in their time become one that lasts from the first begin to the last end.
Candidates joined_faults(const Document& document) {
    Candidates out;
    const std::size_t size = size_of_list(document, "faults");
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
            const Document& one = document["faults"][i];
            const Document& other = document["faults"][j];
            const auto begin = time_at(one, "at");
            const auto begin_of_other = time_at(other, "at");
            const auto length = time_at(one, "for");
            const auto length_of_other = time_at(other, "for");
            if (i == j || !alike(one, other) || !begin || !begin_of_other || !length || !length_of_other) continue;
            if (*begin > *begin_of_other) continue;
            const Duration end = std::max(*begin + *length, *begin_of_other + *length_of_other);
            Document joined = document;
            joined["faults"][i]["for"] = engine::format_duration(end - *begin);
            joined["faults"].erase(j);
            out.push_back(std::move(joined));
        }
    }
    return out;
}

Candidates shorter_times(const Document& document) {
    using Pointer = Document::json_pointer;
    Candidates out;
    for (const char* list : kTimedLists) {
        for (std::size_t i = 0; i < size_of_list(document, list); ++i) {
            for (const char* key : {"for", "at", "latency", "latency/max", "period", "by"})
                shorten_at(document, Pointer(fmt::format("/{}/{}/{}", list, i, key)), out);
            put_constants(document, Pointer(fmt::format("/{}/{}/latency", list, i)), true, out);
        }
    }
    const std::size_t groups =
        document.contains(Pointer("/cluster/workers")) ? document["cluster"]["workers"].size() : 0;
    for (std::size_t i = 0; i < groups; ++i) {
        put_constants(document, Pointer(fmt::format("/cluster/workers/{}/service_time", i)), false, out);
    }
    return out;
}

/// The nth event: the first, or nearer to it.
Candidates earlier_events(const Document& document) {
    Candidates out;
    for (std::size_t i = 0; i < size_of_list(document, "faults"); ++i) {
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

}  // namespace lockstep::sim::detail
