#include "bench/load/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/load/costs.h"
#include "engine/wire/json_text.h"

namespace lockstep::bench {

namespace {

using nlohmann::json;

constexpr int kDocumentVersion = 1;
constexpr std::size_t kNameWidth = 38;
/// Commands that a job hardly ever makes are in the document only.
constexpr double kShownFrom = 0.01;

/// Three digits that mean something, or all before the point.
std::string number(double value) {
    const double size = std::abs(value);
    const int decimals = size == 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
    return fmt::format("{:.{}f}", value, decimals);
}

/// The path's words as people write them: "p99_9" is p99.9.
std::vector<std::string> words_of(const std::string& path) {
    const auto is_digit = [&](std::size_t i) { return i < path.size() && path[i] >= '0' && path[i] <= '9'; };
    std::vector<std::string> words{{}};
    for (std::size_t i = 0; i < path.size(); ++i)
        if (path[i] == '/')
            words.emplace_back();
        else if (path[i] == '_')
            words.back() += i > 0 && is_digit(i - 1) && is_digit(i + 1) ? '.' : ' ';
        else
            words.back() += path[i];
    return words;
}

std::string differences(const Variant& variant) {
    std::string text = variant.scheduler.empty() ? "lockstepd of " + variant.programs.string() : variant.scheduler;
    for (const auto& [name, value] : variant.environment) text += fmt::format(" {}={}", name, value);
    return text;
}

/// The figure's place in the table: headings that differ from those of the line before, then its own name.
class Rows {
public:
    std::string begin(const std::string& path) {
        auto words = words_of(path);
        const std::string leaf = std::move(words.back());
        words.pop_back();
        std::string text;
        const auto [mine, last] = std::ranges::mismatch(words, headings_);
        for (auto word = mine; word != words.end(); ++word) {
            const auto depth = static_cast<std::size_t>(word - words.begin());
            text += fmt::format("{}{:{}}{}\n", depth == 0 ? "\n" : "", "", 2 * depth, *word);
        }
        text += fmt::format("{:<{}}", fmt::format("{:{}}{}", "", 2 * words.size(), leaf), kNameWidth);
        headings_ = std::move(words);
        return text;
    }

private:
    std::vector<std::string> headings_;
};

std::string heading_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// What a later round was the first to count stands below the heading that is there already.
std::vector<std::string> in_groups(const Figures& figures) {
    std::vector<std::string> headings, paths;
    for (const auto& [path, ignored] : figures.all())
        if (std::ranges::find(headings, heading_of(path)) == headings.end()) headings.push_back(heading_of(path));
    for (const std::string& heading : headings)
        for (const auto& [path, ignored] : figures.all())
            if (heading_of(path) == heading) paths.push_back(path);
    return paths;
}

json nested(const Figures& figures) {
    json document = json::object();
    for (const auto& [path, value] : figures.all()) {
        json& place = document[json::json_pointer("/" + path)];
        if (value == std::floor(value) && std::abs(value) < 1e15)
            place = static_cast<std::int64_t>(value);
        else
            place = value;
    }
    return document;
}

json setup_of(const Plan& plan) {
    json setup{{"jobs", plan.jobs},
               {"replicas", plan.replicas},
               {"redis_replicas", plan.redis_replicas},
               {"rounds", plan.rounds},
               {"rate", nullptr}};
    if (plan.rate) setup["rate"] = "half";
    if (plan.rate && plan.rate->jobs_per_second) setup["rate"] = *plan.rate->jobs_per_second;
    return setup;
}

}  // namespace

std::string as_text(const Plan& plan, const Rounds& rounds) {
    const bool compared = rounds.size() > 1;
    std::string text =
        fmt::format("{} jobs, {} of the scheduler, {} of Redis; {} cores; {} round{} of each\n", plan.jobs,
                    plan.replicas, plan.redis_replicas + 1, cores(), plan.rounds, plan.rounds == 1 ? "" : "s");
    std::vector<Figures> middle;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        text += fmt::format("{}: {}\n", plan.variants[i].name, differences(plan.variants[i]));
        middle.push_back(medians(rounds[i]));
    }
    const Figures relation = compared ? ratios(middle[0], middle[1]) : Figures();

    text += fmt::format("\n{:<{}}", plan.rounds > 1 ? "medians" : "", kNameWidth);
    for (std::size_t i = 0; i < rounds.size(); ++i) text += fmt::format("{:>11}", plan.variants[i].name);
    if (compared) text += fmt::format("{:>8}", "B / A");
    if (plan.rounds > 1) text += compared ? "   rounds of A | of B" : "   rounds";
    text += "\n";

    const Figures all = compared ? medians({middle[0], middle[1]}) : middle[0];
    Rows rows;
    for (const std::string& path : in_groups(all)) {
        const bool rare = path.find("/command/") != std::string::npos && all.at(path) < kShownFrom;
        if (rare) continue;
        text += rows.begin(path);
        for (const Figures& one : middle) text += fmt::format("{:>11}", number(one.at(path)));
        if (compared)
            text += fmt::format("{:>8}", relation.contains(path) ? fmt::format("{:.2f}", relation.at(path)) : "-");
        std::string each;
        for (std::size_t i = 0; plan.rounds > 1 && i < rounds.size(); ++i) {
            each += i == 0 ? "  " : " |";
            for (const Figures& round : rounds[i]) each += " " + number(round.at(path));
        }
        text += each + "\n";
    }
    return text;
}

std::string as_json(const Plan& plan, const Rounds& rounds, const std::string& build) {
    json variants = json::array();
    std::vector<Figures> middle;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        const Variant& variant = plan.variants[i];
        middle.push_back(medians(rounds[i]));
        json each = json::array();
        for (const Figures& round : rounds[i]) each.push_back(nested(round));
        variants.push_back({{"name", variant.name},
                            {"scheduler", variant.scheduler.empty() ? "lockstepd" : variant.scheduler},
                            {"programs", variant.programs.string()},
                            {"environment", variant.environment},
                            {"rounds", std::move(each)},
                            {"medians", nested(middle.back())}});
    }
    json document{{"version", kDocumentVersion},
                  {"build", build},
                  {"cores", cores()},
                  {"setup", setup_of(plan)},
                  {"variants", std::move(variants)}};
    if (middle.size() > 1) document["ratios"] = nested(ratios(middle[0], middle[1]));
    return engine::wire::json_text(document, 1) + "\n";
}

}  // namespace lockstep::bench
