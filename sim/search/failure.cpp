#include "sim/search/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"
#include "sim/scenario/override.h"
#include "sim/scenario/parts.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

namespace {

constexpr int kVersion = 1;

void replace_all(std::string& text, const std::string& what, std::string_view by) {
    if (what.empty()) return;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

bool word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

bool has_digit(std::string_view word) {
    return std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_topic(std::string_view word) { return word.size() > 4 && word.starts_with("job."); }

std::string signature_of(const Violation& violation, const std::vector<std::string>& nodes) {
    std::string detail = violation.detail;
    replace_all(detail, violation.job, "#");
    replace_all(detail, violation.node, "#");
    return fmt::format("{}: {}", violation.invariant, without_names(detail, nodes));
}

std::uint64_t unsigned_of(const Document& document, const char* key) {
    const auto found = document.find(key);
    return found != document.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::optional<Violation> violation_of(const Document& document) {
    const auto found = document.find("violation");
    if (found == document.end() || !found->is_object()) return {};
    Violation violation;
    violation.invariant = engine::wire::text_member(*found, "invariant");
    violation.at_ms = static_cast<std::int64_t>(unsigned_of(*found, "at_ms"));
    violation.node = engine::wire::text_member(*found, "node");
    violation.job = engine::wire::text_member(*found, "job");
    violation.detail = engine::wire::text_member(*found, "detail");
    violation.paragraph = engine::wire::text_member(*found, "paragraph");
    return violation;
}

std::string joined(const std::vector<LoadError>& errors) {
    std::string out;
    for (const LoadError& error : errors) out += (out.empty() ? "" : "\n") + to_string(error);
    return out;
}

/// Of a file that has been loaded: on its own, as what a failure file keeps has to be.
Document document_with_parts(std::string_view text, const std::filesystem::path& path, const LoadOptions& options) {
    const Document raw = engine::wire::read_ordered_json(text, engine::wire::Comments::skipped);
    auto whole = with_parts(engine::wire::sound_json(engine::wire::json_text(raw)), path.parent_path());
    if (!whole) return raw;
    whole->erase("matrix");
    for (const std::string& assignment : options.overrides) static_cast<void>(apply_override(*whole, assignment));
    return engine::wire::sound_ordered_json(engine::wire::json_text(*whole));
}

}  // namespace

std::string without_names(std::string_view text, const std::vector<std::string>& nodes) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (!word_character(text[at])) {
            out += text[at++];
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && word_character(text[end])) ++end;
        const std::string_view word = text.substr(at, end - at);
        const bool name = has_digit(word) || is_topic(word) || std::ranges::find(nodes, word) != nodes.end();
        out += name ? "#" : word;
        at = end;
    }
    constexpr std::string_view kTwo = "#, #";
    for (std::size_t at = out.find(kTwo); at != std::string::npos; at = out.find(kTwo, at))
        out.replace(at, kTwo.size(), "#");
    return out;
}

std::string signature_of(const RunResult& result) {
    if (!result.error.empty()) return fmt::format("harness: {}", without_names(result.error));
    if (result.passed || result.interrupted) return {};
    if (!result.violations.empty()) return signature_of(result.violations.front(), result.nodes);
    for (const ExpectationOutcome& expectation : result.expectations) {
        if (!expectation.held) return fmt::format("expectation: {}", expectation.expected);
    }
    return "failed without a violation";  // one that was asked for did not come
}

Failure failure_of(Document scenario, const RunResult& result, std::string origin) {
    Failure failure{std::move(scenario), result.seed,   signature_of(result), {},
                    result.digest,       result.events, std::move(origin)};
    if (!result.violations.empty()) failure.violation = result.violations.front();
    return failure;
}

std::string failure_text(const Failure& failure) {
    Document out = Document::object();
    out["kind"] = kFailureKind;
    out["version"] = kVersion;
    out["origin"] = failure.origin;
    if (!failure.build.empty()) out["build"] = failure.build;
    out["signature"] = failure.signature;
    if (failure.violation) {
        const Violation& v = *failure.violation;
        out["violation"] = {{"invariant", v.invariant}, {"at_ms", v.at_ms},        {"node", v.node}, {"job", v.job},
                            {"detail", v.detail},       {"paragraph", v.paragraph}};
    }
    out["seed"] = failure.seed;
    out["digest"] = reports::digest_text(failure.digest);
    out["events"] = failure.events;
    out["scenario"] = failure.scenario;
    return pretty(out);
}

tl::expected<Failure, std::string> parse_failure(std::string_view text) {
    const Document document = engine::wire::read_ordered_json(text, engine::wire::Comments::skipped);
    if (document.is_discarded() || !document.is_object()) return tl::make_unexpected("expected a JSON object");
    if (engine::wire::text_member(document, "kind") != kFailureKind)
        return tl::make_unexpected(fmt::format("at /kind: expected \"{}\"", kFailureKind));
    if (unsigned_of(document, "version") != kVersion)
        return tl::make_unexpected(
            fmt::format("at /version: expected {}; another version of lockstep wrote this", kVersion));
    Failure failure;
    const auto scenario = document.find("scenario");
    if (scenario == document.end() || !scenario->is_object())
        return tl::make_unexpected("at /scenario: expected the scenario that failed");
    failure.scenario = *scenario;
    const auto seed = document.find("seed");
    if (seed == document.end() || !seed->is_number_unsigned())
        return tl::make_unexpected("at /seed: expected a number from 0");
    failure.seed = seed->get<std::uint64_t>();
    failure.signature = engine::wire::text_member(document, "signature");
    failure.origin = engine::wire::text_member(document, "origin");
    failure.build = engine::wire::text_member(document, "build");
    failure.events = unsigned_of(document, "events");
    failure.violation = violation_of(document);
    const std::string digest = engine::wire::text_member(document, "digest");
    const auto parsed = std::from_chars(digest.data(), digest.data() + digest.size(), failure.digest, 16);
    if (digest.size() != 16 || parsed.ptr != digest.data() + digest.size())
        return tl::make_unexpected("at /digest: expected 16 hexadecimal digits");
    return failure;
}

tl::expected<Replayable, std::string> load_replayable(const std::filesystem::path& path, const LoadOptions& options) {
    const auto text = text_of_file(path);
    if (!text) return tl::make_unexpected(fmt::format("{}: expected a file that can be read", path.string()));
    Replayable out;
    const Document document = engine::wire::read_ordered_json(*text, engine::wire::Comments::skipped);
    out.is_scenario_file = !document.is_object() || engine::wire::text_member(document, "kind") != kFailureKind;
    if (!out.is_scenario_file) {
        auto failure = parse_failure(*text);
        if (!failure) return tl::make_unexpected(fmt::format("{}: {}", path.string(), failure.error()));
        out.failure = std::move(*failure);
    }
    const std::string inner = out.is_scenario_file ? *text : engine::wire::json_text(out.failure.scenario);
    auto scenario = parse_scenario(inner, path.string(), options);
    if (!scenario) return tl::make_unexpected(joined(scenario.error()));
    out.scenario = std::move(*scenario);
    if (out.is_scenario_file) {
        out.failure.scenario = document;
        out.failure.seed = out.scenario.seed;
        out.failure.origin = path.string();
    }
    const Document& kept = out.failure.scenario;
    if (kept.is_object() && (kept.contains("include") || kept.contains("matrix") || !options.overrides.empty()))
        out.failure.scenario = document_with_parts(inner, path, options);
    return out;
}

}  // namespace lockstep::sim
