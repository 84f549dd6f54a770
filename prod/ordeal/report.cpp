#include "prod/ordeal/report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"

namespace lockstep::prod::ordeal {

namespace {

constexpr std::size_t kCasesShown = 12;

std::string_view outcome_of(const Check& check) {
    if (check.violated()) return "VIOLATED";
    return check.must_be_none ? "held" : "told";
}

std::string counts(const std::map<std::string, int>& by_name) {
    std::string text;
    for (const auto& [name, count] : by_name) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
    return text.empty() ? "none" : text;
}

}  // namespace

std::string as_text(const Ledger& ledger, const Verdict& verdict) {
    std::string text = fmt::format(
        "jobs         {} submitted, {} acknowledged, {} started by workers, {} results in the stream\n"
        "ended        {}\n"
        "disruptions  {} with an effect, {} of them hurt somebody: {}\n"
        "messages     {} undecodable and {} nonsensical ones acknowledged; {} dead letters of undecodable ones\n"
        "quiet        after {:.1f} s\n",
        verdict.submitted, verdict.acknowledged, verdict.executed, verdict.results, counts(verdict.ends),
        ledger.disturbances.size(), verdict.hurt, counts(verdict.disturbances), ledger.garbage_acknowledged,
        ledger.nonsense_acknowledged, ledger.garbage_letters, static_cast<double>(ledger.settling.count()) / 1e6);
    if (verdict.attacked) text += fmt::format("strikes      {}\n", counts(verdict.strikes));
    for (const Footprint& one : ledger.footprints)
        text += fmt::format("{:<12} {} descriptors, {} MB resident; grown up: {} and {} MB; at most {} MB\n",
                            one.replica, one.descriptors_after, one.resident_kb_after / 1024, one.descriptors_before,
                            one.resident_kb_before / 1024, one.resident_kb_most / 1024);
    for (const Check& check : verdict.checks) {
        text += fmt::format("{:<9}{:>5}  {:<28}{}\n", outcome_of(check), check.cases.size(), check.name, check.promise);
        for (std::size_t i = 0; i < check.cases.size() && i < kCasesShown; ++i)
            text += fmt::format("                  {}\n", check.cases[i]);
        if (check.cases.size() > kCasesShown)
            text += fmt::format("                  and {} more\n", check.cases.size() - kCasesShown);
    }
    return text;
}

std::string as_json(const Ledger& ledger, const Verdict& verdict) {
    using nlohmann::json;
    json checks = json::array();
    for (const Check& check : verdict.checks)
        checks.push_back({{"name", check.name},
                          {"promise", check.promise},
                          {"outcome", outcome_of(check)},
                          {"count", check.cases.size()},
                          {"cases", check.cases}});
    json footprints = json::array();
    for (const Footprint& one : ledger.footprints)
        footprints.push_back({{"replica", one.replica},
                              {"descriptors_before", one.descriptors_before},
                              {"descriptors_after", one.descriptors_after},
                              {"resident_kb_before", one.resident_kb_before},
                              {"resident_kb_after", one.resident_kb_after},
                              {"resident_kb_most", one.resident_kb_most}});
    json disturbances = json::array();
    for (const Disturbance& one : ledger.disturbances)
        disturbances.push_back({{"kind", name_of(one.kind)},
                                {"target", one.target},
                                {"from_us", one.from.time_since_epoch().count()},
                                {"until_us", one.until.time_since_epoch().count()}});
    const json document{{"version", 1},
                        {"seed", ledger.seed},
                        {"violated", verdict.violated()},
                        {"proved_nothing", verdict.proved_nothing()},
                        {"jobs",
                         {{"submitted", verdict.submitted},
                          {"acknowledged", verdict.acknowledged},
                          {"executed", verdict.executed},
                          {"results", verdict.results},
                          {"ended", verdict.ends}}},
                        {"disruptions", verdict.disturbances},
                        {"strikes", verdict.strikes},
                        {"hurt", verdict.hurt},
                        {"garbage_acknowledged", ledger.garbage_acknowledged},
                        {"nonsense_acknowledged", ledger.nonsense_acknowledged},
                        {"garbage_letters", ledger.garbage_letters},
                        {"settling_ms", ledger.settling.count() / 1000},
                        {"checks", checks},
                        {"footprints", footprints},
                        {"timeline", disturbances}};
    return engine::wire::json_text(document, 2) + "\n";
}

}  // namespace lockstep::prod::ordeal
