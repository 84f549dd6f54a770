#include "fakes/gateway/settings_editor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/config/start_document.h"
#include "engine/ports/clock.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/subjects.h"

namespace lockstep::fakes {
namespace {

using nlohmann::json;

constexpr engine::Duration kTryAgain = std::chrono::milliseconds{500};
constexpr const char* kEditor = "api-gateway";

std::string key() { return std::string(engine::kSystemDocument); }

}  // namespace

engine::Task<void> SettingsEditor::change(SettingsChange change) {
    while (true) {
        const bool written = co_await write(change);
        if (written) break;
        co_await engine::SleepUntil(executor_.monotonic() + kTryAgain);
    }
    co_await announce();
}

engine::Task<bool> SettingsEditor::write_layers(std::string layers) {
    const json documents = engine::wire::sound_json(layers);
    std::vector<engine::RedisCommand> writes;
    for (const auto& [name, content] : documents.items()) {
        const std::size_t colon = std::min(name.find(':'), name.size());
        const json document{{"scope", name.substr(0, colon)},
                            {"scope_id", name.substr(std::min(colon + 1, name.size()))},
                            {"data", content},
                            {"revision", 1},
                            {"updated_at", engine::wire::rfc3339(world_.wall(node_))}};
        writes.push_back({"SET", "cfg:" + name,
                          content.is_string() ? content.get<std::string>() : engine::wire::json_text(document)});
    }
    const auto written = co_await redis_.pipeline(std::move(writes), deadline());
    co_return written.applied();
}

engine::Task<bool> SettingsEditor::write(SettingsChange change) {
    if (!change.layers.empty()) {
        const bool written = co_await write_layers(change.layers);
        const bool all =
            change.pools.empty() && change.timeouts.empty() && change.scheduler.empty() && change.raw.empty();
        if (!written || all) co_return written;
    }
    if (!change.raw.empty()) {
        engine::RedisCommand set{"SET", key(), change.raw};
        const auto done = co_await redis_.command(std::move(set), deadline());
        co_return done.applied();
    }
    std::vector<engine::RedisCommand> look{{"WATCH", key()}, {"GET", key()}};
    const auto seen = co_await redis_.pipeline(std::move(look), deadline());
    if (!seen.applied() || seen.value().at(0).text() != "OK") co_return false;
    const std::string document(seen.value().at(1).text());
    std::vector<engine::RedisCommand> transaction{{"MULTI"}, {"SET", key(), changed(document, change)}, {"EXEC"}};
    const auto done = co_await redis_.pipeline(std::move(transaction), deadline());
    co_return done.applied() && done.value().at(2).array() != nullptr;
}

std::string SettingsEditor::changed(const std::string& document, const SettingsChange& change) const {
    json settings = engine::wire::read_json(document);
    if (!settings.is_object())
        settings = {{"scope", "system"}, {"scope_id", "default"}, {"data", json::object()}, {"revision", 0}};
    json& data = settings["data"];
    if (!change.pools.empty()) data["pools"] = engine::wire::sound_json(change.pools);
    if (!change.timeouts.empty()) data["timeouts"] = engine::wire::sound_json(change.timeouts);
    if (!change.scheduler.empty()) data["scheduler"].update(engine::wire::sound_json(change.scheduler));
    settings["revision"] = settings.value("revision", std::int64_t{0}) + 1;
    settings["updated_at"] = engine::wire::rfc3339(world_.wall(node_));
    return engine::wire::json_text(settings);
}

engine::Task<void> SettingsEditor::announce() {
    cap::SystemAlert alert;
    alert.set_message("config changed");
    alert.set_level("INFO");
    alert.set_component(kEditor);
    alert.set_source_component(kEditor);
    auto& details = *alert.mutable_details();
    details["scope"] = "system";
    details["scope_id"] = "default";
    details["changed_at"] = engine::wire::rfc3339(world_.wall(node_));
    const auto packet = engine::wire::make_packet(std::move(alert), "", kEditor, world_.wall(node_));
    const auto told =
        co_await bus_.publish_core(std::string(engine::wire::kSubjectConfigChanged), engine::wire::serialise(packet));
    static_cast<void>(told);  // at most once: nobody counts on it
}

}  // namespace lockstep::fakes
