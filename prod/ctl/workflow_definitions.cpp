#include "prod/ctl/workflow_definitions.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/runs/definition_text.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"
#include "engine/workflow/run_keys.h"
#include "engine/workflow/run_store.h"
#include "prod/ctl/document.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

std::string name_of(const std::string& file) { return file == "-" ? "standard input" : file; }

json list_of(const std::string& file, const std::vector<engine::PlacedMistake>& mistakes) {
    json list = json::array();
    for (const engine::PlacedMistake& mistake : mistakes)
        list.push_back({{"file", name_of(file)},
                        {"line", mistake.line},
                        {"column", mistake.column},
                        {"pointer", mistake.pointer},
                        {"message", mistake.message}});
    return list;
}

int tell_mistakes(const std::string& file, const std::vector<engine::PlacedMistake>& mistakes, bool as_json) {
    if (as_json) fmt::print("{}", document_line({{"mistakes", list_of(file, mistakes)}}));
    for (const engine::PlacedMistake& mistake : mistakes)
        if (!as_json) fmt::print(stderr, "{}\n", printable(mistake.describe(name_of(file))));
    return kWrongUse;
}

void tell_warnings(const std::string& file, const engine::DefinitionText& read) {
    for (engine::PlacedMistake warning : read.warnings) {
        warning.message.insert(0, "warning: ");
        fmt::print(stderr, "{}\n", printable(warning.describe(name_of(file))));
    }
}

/// As strictly as what is to be stored is read, with the times of this machine's clock.
auto read_strictly(const std::string& text) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return engine::read_definition_text(text, {.strict = true},
                                        engine::WallTime(std::chrono::duration_cast<engine::Duration>(now)));
}

}  // namespace

int check_definition(const std::string& file, const std::string& text, bool as_json) {
    const auto read = read_strictly(text);
    if (!read) return tell_mistakes(file, read.error(), as_json);
    const engine::WorkflowDefinition& workflow = read->definition;
    if (!as_json) tell_warnings(file, *read);
    if (as_json)
        fmt::print("{}", document_line({{"workflow_id", workflow.id},
                                        {"steps", workflow.steps.size()},
                                        {"mistakes", json::array()},
                                        {"warnings", list_of(file, read->warnings)}}));
    else
        fmt::print("{}: workflow {} is sound, {} steps\n", name_of(file), printable(workflow.id),
                   workflow.steps.size());
    return kDone;
}

engine::Task<int> put_definition(Session& session, std::string file, std::string text, bool as_json) {
    auto read = read_strictly(text);
    if (!read) co_return tell_mistakes(file, read.error(), as_json);
    if (!as_json) tell_warnings(file, *read);
    const std::string id = read->definition.id;
    engine::RunStore store(session.redis(), session.clock(), session.settings().tunables);
    const auto before = co_await store.definition(id);
    if (!before.applied()) co_return complain(kFailed, fmt::format("workflow {}: {}", id, before.failure().detail));

    json& document = read->document;
    const std::string now = engine::wire::rfc3339(session.clock().now());
    const json old = before.value() ? engine::wire::parse_bounded(*before.value()) : json();
    const bool dated = old.is_object() && old.contains("created_at");
    if (!document.contains("created_at")) document["created_at"] = dated ? old["created_at"] : json(now);
    document["updated_at"] = now;
    std::string written = engine::wire::json_text(document);
    const auto stored = co_await store.put_definition(id, read->definition.org_id, std::move(written));
    if (!stored.applied())
        co_return complain(
            kFailed, fmt::format("workflow {}: {}; put it again, which does no harm", id, stored.failure().detail));
    if (as_json)
        fmt::print("{}", document_line({{"workflow_id", id}, {"created", stored.value()}}));
    else
        fmt::print("{} {}\n", printable(id),
                   stored.value() ? "stored" : "replaced; runs that have begun keep the old one");
    co_return kDone;
}

}  // namespace lockstep::prod
