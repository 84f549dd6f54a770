#include "prod/ctl/consumers.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/store/keys.h"
#include "engine/wire/json_text.h"
#include "engine/wire/subjects.h"
#include "prod/ctl/document.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace wire = engine::wire;

engine::Task<int> set_consumers(Session& session, ConsumersOptions options) {
    nlohmann::json document = nlohmann::json::array();
    bool changed = false;
    for (const std::string_view subject : {wire::kSubjectSubmit, wire::kSubjectResult}) {
        const std::string stream(wire::kStreamSys);
        const std::string durable = wire::durable_name(wire::kQueueScheduler, subject);
        const auto difference = co_await session.nats().change_durable(stream, durable, options.change,
                                                                       !options.dry_run, session.deadline());
        if (!difference) co_return complain(kFailed, difference.error());
        changed = changed || !difference->empty();
        if (options.json)
            document.push_back({{"stream", stream}, {"durable", durable}, {"change", *difference}});
        else
            fmt::print("{}.{}: {}\n", stream, durable, difference->empty() ? "unchanged" : printable(*difference));
    }
    if (options.json)
        fmt::print("{}", json_text(document));
    else if (changed)
        fmt::print(
            "{}Every replica has to be started with the same settings (NATS_JS_ACK_WAIT, NATS_MAX_ACK_PENDING,\n"
            "LOCKSTEP_BUS_MAX_DELIVER); one that runs goes on until it is restarted.\n",
            options.dry_run ? "Nothing has been changed. " : "");
    co_return kDone;
}

namespace {

struct OwnedDurable {
    std::string name;
    std::string deployment;  // empty: none
};

/// Those that exist, of schedulers and of workflow engines.
engine::Task<tl::expected<std::vector<OwnedDurable>, std::string>> owned_durables(Session& session) {
    std::vector<OwnedDurable> found;
    for (const std::string& name : wire::own_durables()) {
        const auto state =
            co_await session.bus().consumer_state(std::string(wire::kStreamSys), name, session.deadline());
        if (!state.applied())
            co_return tl::make_unexpected(fmt::format("{}.{}: {}", wire::kStreamSys, name, state.failure().detail));
        if (state.value()) found.push_back({name, state.value()->deployment});
    }
    co_return found;
}

}  // namespace

engine::Task<int> adopt_consumers(Session& session, AdoptOptions options) {
    const std::string key(engine::keys::kDeployment);
    const auto held = co_await session.redis().command({"GET", key}, session.deadline());
    if (!held.applied()) co_return complain(kFailed, fmt::format("{}: {}", key, held.failure().detail));
    const std::string before(held.value().is_nil() ? std::string_view{} : held.value().text());
    const auto durables = co_await owned_durables(session);
    if (!durables) co_return complain(kFailed, durables.error());
    std::string id = before;
    for (const OwnedDurable& one : *durables)
        if (id.empty()) id = one.deployment;
    if (id.empty())
        co_return complain(
            kNotFound,
            fmt::format("neither {} nor a durable names a deployment: start lockstepd, which makes an id", key));
    for (const OwnedDurable& one : *durables)
        if (!one.deployment.empty() && one.deployment != id && !(options.replace && !before.empty()))
            co_return complain(
                kFailed,
                printable(fmt::format(
                    "{}.{} belongs to deployment {}, and {} to {}: two deployments need a NATS, an account or a "
                    "domain each. If the other one is gone and this Redis has an id: consumers adopt --replace",
                    wire::kStreamSys, one.name, one.deployment, before.empty() ? "another durable" : key, id)));
    if (before.empty() && !options.dry_run) {
        const auto set = co_await session.redis().command({"SET", key, id, "NX"}, session.deadline());
        if (!set.applied()) co_return complain(kFailed, fmt::format("{}: {}", key, set.failure().detail));
        if (set.value().is_nil())
            co_return complain(kFailed, fmt::format("{} was written meanwhile: run this again", key));
    }
    nlohmann::json changes = nlohmann::json::array();
    const auto tell = [&](const std::string& where, const std::string& from) {
        if (options.json)
            changes.push_back({{"where", where}, {"before", from}, {"deployment", id}});
        else
            fmt::print("{}: {}\n", printable(where),
                       printable(from == id ? id + ", unchanged" : (from.empty() ? "none" : from) + " -> " + id));
    };
    tell("Redis " + key, before);
    for (const OwnedDurable& one : *durables) {
        jetstream::ConsumerChange change;
        change.deployment = id;
        const auto changed = co_await session.nats().change_durable(std::string(wire::kStreamSys), one.name, change,
                                                                    !options.dry_run, session.deadline());
        if (!changed) co_return complain(kFailed, changed.error());
        tell(fmt::format("{}.{}", wire::kStreamSys, one.name), one.deployment);
    }
    if (options.json)
        fmt::print("{}\n", wire::json_text(changes));
    else if (options.dry_run)
        fmt::print("Nothing has been changed.\n");
    co_return kDone;
}

}  // namespace lockstep::prod
