#include "sim/cli/explore_tables.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/csv.h"
#include "reports/markdown.h"

namespace lockstep::sim::cli {

namespace {

std::string text_in(const nlohmann::json& failure, const char* member) {
    const nlohmann::json& value = failure.at(member);
    return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

std::string explore_markdown(const nlohmann::json& document) {
    std::string out =
        fmt::format("# {} of {} draws failed, in {} ways\n\nMade by lockstep {}.\n",
                    document.at("failed").get<std::uint64_t>(), document.at("runs").get<std::uint64_t>(),
                    document.at("failures").size(), reports::plain_markdown(document.at("build").get<std::string>()));
    if (!document.at("complete").get<bool>()) out += "\nNot complete: it was interrupted.\n";
    for (const nlohmann::json& failure : document.at("failures"))
        out += fmt::format("\n## {}\n\n{} times, first in draw {}.\n\n{}",
                           reports::plain_markdown(text_in(failure, "signature")),
                           failure.at("count").get<std::uint64_t>(), failure.at("seed").get<std::uint64_t>(),
                           reports::code_block(text_in(failure, "replay")));
    out += "\n## Invariants put to the test\n\n| invariant | times |\n| --- | --: |\n";
    for (const auto& [name, times] : document.at("exercised").items())
        out += fmt::format("| {} | {} |\n", reports::plain_markdown(name), times.get<std::uint64_t>());
    return out;
}

std::string explore_csv(const nlohmann::json& document) {
    std::string out = "signature,draw,times,digest,events,file,shrunk,replay\n";
    for (const nlohmann::json& failure : document.at("failures"))
        out += fmt::format("{},{},{},{},{},{},{},{}\n", reports::csv_field(text_in(failure, "signature")),
                           failure.at("seed").get<std::uint64_t>(), failure.at("count").get<std::uint64_t>(),
                           text_in(failure, "digest"), failure.at("events").get<std::uint64_t>(),
                           reports::csv_field(text_in(failure, "file")), reports::csv_field(text_in(failure, "shrunk")),
                           reports::csv_field(text_in(failure, "replay")));
    return out;
}

}  // namespace lockstep::sim::cli
