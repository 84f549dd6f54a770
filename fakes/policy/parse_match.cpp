#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/wire/text.h"
#include "fakes/policy/parse.h"

namespace lockstep::fakes::policy::detail {
namespace {

constexpr std::string_view kLabelPrefix = "labels.";

bool is_velocity_key(std::string_view part) {
    constexpr std::array<std::string_view, 6> kParts{"tenant",     "topic",   "actor_id",
                                                     "actor_type", "pack_id", "capability"};
    if (part.starts_with(kLabelPrefix)) return part.size() > kLabelPrefix.size();
    return std::ranges::find(kParts, part) != kParts.end();
}

std::optional<Scanner> scanner_named(std::string_view word) {
    const std::string name = engine::wire::ascii_lower(engine::wire::trim(word));
    if (name == "secret" || name == "secret_leak") return Scanner::secret;
    if (name == "pii") return Scanner::pii;
    if (name == "injection" || name == "code_injection") return Scanner::injection;
    return std::nullopt;
}

void read_content(ObjectReader& reader, ContentCriteria& content) {
    for (const char* key : {"scanners", "detectors"}) {
        std::vector<std::string> words;
        reader.texts(key, words);
        for (const auto& word : words) {
            if (const auto scanner = scanner_named(word)) {
                content.scanners.push_back(*scanner);
            } else {
                reader.fail(key, "\"" + word + "\" is none of secret, pii, injection");
            }
        }
    }
    std::vector<std::string> patterns;
    reader.texts("content_patterns", patterns);
    for (const auto& text : patterns) {
        auto pattern = Pattern::compile(text);
        if (pattern) {
            content.patterns.push_back(std::move(*pattern));
        } else {
            reader.fail("content_patterns", "\"" + text + "\": " + pattern.error());
        }
    }
    reader.texts("keywords", content.keywords);
}

/// `<size>_gt` and `max_<size>_bytes` mean the same; the larger one wins.
void read_size(ObjectReader& reader, std::string_view greater, std::string_view max,
               std::optional<std::int64_t>& size) {
    std::int64_t first = 0;
    std::int64_t second = 0;
    reader.integer(greater, first, 0, INT64_MAX);
    reader.integer(max, second, 0, INT64_MAX);
    if (const std::int64_t larger = std::max(first, second); larger > 0) size = larger;
}

}  // namespace

void read_mcp(ObjectReader& reader, McpLists& lists) {
    const auto read = [&reader](std::string_view what, McpLists::Lists& target) {
        reader.texts("allow_" + std::string(what), target.allow);
        reader.texts("deny_" + std::string(what), target.deny);
    };
    read("servers", lists.servers);
    read("tools", lists.tools);
    read("resources", lists.resources);
    read("actions", lists.actions);
}

void read_match(ObjectReader& reader, Match& match) {
    reader.texts("tenants", match.tenants);
    reader.texts("topics", match.topics);
    reader.texts("capabilities", match.capabilities);
    reader.texts("pack_ids", match.pack_ids);
    reader.texts("actor_ids", match.actor_ids);
    reader.texts("actor_types", match.actor_types);
    reader.texts("risk_tags", match.risk_tags);
    reader.texts("requires", match.required);
    reader.labels("labels", match.labels);
    reader.boolean("secrets_present", match.secrets_present);
    reader.object("mcp", [&](ObjectReader& mcp) { read_mcp(mcp, match.mcp); });
}

void read_content_match(ObjectReader& reader, ContentMatch& match, bool output) {
    reader.texts("tenants", match.tenants);
    reader.texts("topics", match.topics);
    reader.texts("capabilities", match.capabilities);
    reader.texts("risk_tags", match.risk_tags);
    reader.texts("content_types", match.content_types);
    read_content(reader, match.content);
    if (output) {
        read_size(reader, "output_size_gt", "max_output_bytes", match.larger_than);
        reader.boolean("has_error", match.has_error);
        return;
    }
    read_size(reader, "input_size_gt", "max_input_bytes", match.larger_than);
    // Ignoring it would let through what the rule was written against.
    if (reader.present("scope")) reader.fail("scope", "this kernel does not evaluate scopes");
}

void read_velocity(ObjectReader& reader, std::optional<Velocity>& velocity) {
    Velocity limit;
    std::int64_t seconds = 0;
    std::string key;
    for (const char* needed : {"max_requests", "window_seconds", "key"}) {
        if (!reader.present(needed)) reader.fail(needed, "is missing");
    }
    reader.integer("max_requests", limit.max_requests, 1, INT64_MAX);
    reader.integer("window_seconds", seconds, 1, 86400);
    reader.text("key", key);
    limit.window = std::chrono::seconds{seconds};
    std::string_view rest = key;
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        const std::string_view part = engine::wire::trim(rest.substr(0, colon));
        if (!is_velocity_key(part)) reader.fail("key", "\"" + std::string(part) + "\" names nothing to count by");
        limit.key.emplace_back(part);
        rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    }
    if (limit.key.empty() && reader.present("key")) reader.fail("key", "is empty");
    velocity = std::move(limit);
}

void read_constraints(ObjectReader& reader, cap::PolicyConstraints& constraints) {
    reader.object("budgets", [&](ObjectReader& budgets) {
        std::int64_t runtime = 0, retries = 0, artifact = 0, concurrent = 0;
        budgets.integer("max_runtime_ms", runtime, 0, INT64_MAX);
        budgets.integer("max_retries", retries, 0, INT32_MAX);
        budgets.integer("max_artifact_bytes", artifact, 0, INT64_MAX);
        budgets.integer("max_concurrent_jobs", concurrent, 0, INT32_MAX);
        auto& target = *constraints.mutable_budgets();
        target.set_max_runtime_ms(runtime);
        target.set_max_retries(static_cast<std::int32_t>(retries));
        target.set_max_artifact_bytes(artifact);
        target.set_max_concurrent_jobs(static_cast<std::int32_t>(concurrent));
    });
    const auto add_texts = [](ObjectReader& from, const char* key, auto* field) {
        std::vector<std::string> values;
        from.texts(key, values);
        for (auto& value : values) field->Add(std::move(value));
    };
    reader.object("sandbox", [&](ObjectReader& sandbox) {
        bool isolated = false;
        sandbox.boolean("isolated", isolated);
        auto& target = *constraints.mutable_sandbox();
        target.set_isolated(isolated);
        add_texts(sandbox, "network_allowlist", target.mutable_network_allowlist());
        add_texts(sandbox, "fs_read_only", target.mutable_fs_read_only());
        add_texts(sandbox, "fs_read_write", target.mutable_fs_read_write());
    });
    reader.object("toolchain", [&](ObjectReader& toolchain) {
        auto& target = *constraints.mutable_toolchain();
        add_texts(toolchain, "allowed_tools", target.mutable_allowed_tools());
        add_texts(toolchain, "allowed_commands", target.mutable_allowed_commands());
    });
    reader.object("diff", [&](ObjectReader& diff) {
        std::int64_t files = 0, lines = 0;
        diff.integer("max_files", files, 0, INT32_MAX);
        diff.integer("max_lines", lines, 0, INT32_MAX);
        auto& target = *constraints.mutable_diff();
        target.set_max_files(static_cast<std::int32_t>(files));
        target.set_max_lines(static_cast<std::int32_t>(lines));
        add_texts(diff, "deny_path_globs", target.mutable_deny_path_globs());
    });
    std::string level;
    reader.text("redaction_level", level);
    constraints.set_redaction_level(std::move(level));
}

}  // namespace lockstep::fakes::policy::detail
