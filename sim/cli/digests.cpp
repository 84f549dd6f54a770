#include "sim/cli/digests.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "reports/run_report.h"

namespace lockstep::sim::cli {

using nlohmann::json;

std::string digests_json(const std::vector<DigestEntry>& entries) {
    json list = json::array();
    for (const DigestEntry& entry : entries) {
        list.push_back({{"file", entry.file},
                        {"name", entry.name},
                        {"seed", entry.seed},
                        {"digest", reports::digest_text(entry.digest)},
                        {"events", entry.events}});
    }
    const json document{{"version", 1}, {"digests", std::move(list)}};
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

tl::expected<std::vector<DigestEntry>, std::string> parse_digests(std::string_view text) {
    try {
        const json document = json::parse(text);
        if (document.at("version") != 1) return tl::make_unexpected("expected version 1 of a file of digests");
        std::vector<DigestEntry> entries;
        for (const json& one : document.at("digests")) {
            DigestEntry entry{one.at("file"), one.at("name"), one.at("seed"), 0, one.at("events")};
            const std::string digest = one.at("digest");
            const auto [end, error] = std::from_chars(digest.data(), digest.data() + digest.size(), entry.digest, 16);
            if (error != std::errc{} || end != digest.data() + digest.size())
                return tl::make_unexpected("expected 16 hexadecimal digits, got \"" + digest + "\"");
            entries.push_back(std::move(entry));
        }
        return entries;
    } catch (const json::exception& error) {
        return tl::make_unexpected(std::string("expected a file that verify-determinism --write wrote: ") +
                                   error.what());
    }
}

}  // namespace lockstep::sim::cli
