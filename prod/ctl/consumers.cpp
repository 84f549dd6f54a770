#include "prod/ctl/consumers.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

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

}  // namespace lockstep::prod
