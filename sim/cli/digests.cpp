#include "sim/cli/digests.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/wire/json_text.h"
#include "reports/run_report.h"

namespace lockstep::sim::cli {

namespace {

using nlohmann::json;

std::uint64_t parse_digest(const std::string& digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc{} || end != digits.data() + digits.size())
        throw std::invalid_argument("expected 16 hexadecimal digits, got \"" + digits + "\"");
    return value;
}

}  // namespace

std::string digests_json(const std::vector<DigestEntry>& entries, const std::string& build) {
    json list = json::array();
    for (const DigestEntry& entry : entries)
        list.push_back({{"file", entry.file},
                        {"name", entry.name},
                        {"seed", entry.seed},
                        {"digest", reports::digest_text(entry.digest)},
                        {"events", entry.events}});
    const json document{{"version", 1}, {"build", build}, {"digests", std::move(list)}};
    return engine::wire::json_text(document, 1) + "\n";
}

tl::expected<std::vector<DigestEntry>, std::string> parse_digests(std::string_view text) {
    try {
        const json document = engine::wire::sound_json(text);
        if (document.at("version") != 1) return tl::make_unexpected("expected version 1 of a file of digests");
        std::vector<DigestEntry> entries;
        for (const json& one : document.at("digests"))
            entries.push_back({.file = one.at("file"),
                               .name = one.at("name"),
                               .seed = one.at("seed"),
                               .digest = parse_digest(one.at("digest")),
                               .events = one.at("events")});
        return entries;
    } catch (const json::exception& error) {
        return tl::make_unexpected(std::string("expected a file that verify-determinism --write wrote: ") +
                                   error.what());
    } catch (const std::invalid_argument& error) {
        return tl::make_unexpected(std::string(error.what()));
    }
}

}  // namespace lockstep::sim::cli
