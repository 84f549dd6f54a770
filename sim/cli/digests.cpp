#include "sim/cli/digests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

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

std::string hex_of(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return hex;
}

std::string bytes_of(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(parse_digest(std::string(hex.substr(i, 2))));
    if (hex.size() % 2 != 0) throw std::invalid_argument("expected whole bytes, got half of one");
    return bytes;
}

json json_of(const RecordedEvent& event) {
    return {{"event", event.number},
            {"ns", event.ns},
            {"node", event.node},
            {"text", event.text},
            {"bytes", hex_of(event.bytes)}};
}

RecordedEvent parse_event(const json& one) {
    return {one.at("event"), one.at("ns"), one.at("node"), one.at("text"),
            bytes_of(one.at("bytes").get<std::string>())};
}

json json_of(const DigestEntry& entry) {
    json out{{"file", entry.file},
             {"name", entry.name},
             {"seed", entry.seed},
             {"digest", reports::digest_text(entry.digest)},
             {"events", entry.events}};
    for (const auto& [events, digest] : entry.checkpoints)
        out["checkpoints"].push_back({events, reports::digest_text(digest)});
    for (const RecordedEvent& event : entry.recorded) out["recorded"].push_back(json_of(event));
    return out;
}

DigestEntry parse_entry(const json& one) {
    DigestEntry entry{.file = one.at("file"),
                      .name = one.at("name"),
                      .seed = one.at("seed"),
                      .digest = parse_digest(one.at("digest")),
                      .events = one.at("events")};
    // Earlier files have neither.
    if (one.contains("checkpoints")) {
        for (const json& point : one.at("checkpoints"))
            entry.checkpoints.emplace_back(point.at(0).get<std::uint64_t>(), parse_digest(point.at(1)));
    }
    if (one.contains("recorded")) {
        for (const json& event : one.at("recorded")) entry.recorded.push_back(parse_event(event));
    }
    return entry;
}

}  // namespace

std::string digests_json(const DigestFile& file) {
    json list = json::array();
    for (const DigestEntry& entry : file.entries) list.push_back(json_of(entry));
    json document{{"version", 1}, {"build", file.build}, {"digests", std::move(list)}};
    if (file.last != 0) document["recorded"] = {{"first", file.first}, {"last", file.last}};
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

tl::expected<DigestFile, std::string> parse_digests(std::string_view text) {
    try {
        const json document = json::parse(text);
        if (document.at("version") != 1) return tl::make_unexpected("expected version 1 of a file of digests");
        DigestFile file;
        file.build = document.value("build", std::string{});
        for (const json& one : document.at("digests")) file.entries.push_back(parse_entry(one));
        if (document.contains("recorded")) {
            file.first = document.at("recorded").at("first");
            file.last = document.at("recorded").at("last");
        }
        return file;
    } catch (const json::exception& error) {
        return tl::make_unexpected(std::string("expected a file that verify-determinism --write wrote: ") +
                                   error.what());
    } catch (const std::invalid_argument& error) {
        return tl::make_unexpected(std::string(error.what()));
    }
}

PartingInterval parting_interval(const DigestEntry& a, const DigestEntry& b) {
    PartingInterval interval;
    for (std::size_t i = 0; i < std::min(a.checkpoints.size(), b.checkpoints.size()); ++i) {
        if (a.checkpoints[i].first != b.checkpoints[i].first) break;  // another build may keep them elsewhere
        if (a.checkpoints[i].second != b.checkpoints[i].second) {
            interval.different = a.checkpoints[i].first;
            break;
        }
        interval.agreed = a.checkpoints[i].first;
    }
    return interval;
}

}  // namespace lockstep::sim::cli
