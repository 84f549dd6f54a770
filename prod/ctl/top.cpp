#include "prod/ctl/top.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "prod/ctl/document.h"
#include "prod/ctl/live_text.h"
#include "prod/ctl/overview.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

namespace {

engine::Task<int> look_once(Session& session, TopOptions options) {
    const auto now = co_await read_overview(session);
    if (!now) co_return complain(kFailed, now.error());
    if (options.json)
        fmt::print("{}", document_line(overview_json(*now)));
    else
        fmt::print("{}", overview_text(*now, nullptr, options.workers));
    co_return kDone;
}

}  // namespace

engine::Task<int> show_top(Session& session, TopOptions options) {
    if (options.once || options.json || ::isatty(STDOUT_FILENO) == 0) co_return co_await look_once(session, options);
    LiveText live(stdout, true);
    std::optional<Overview> before;
    while (true) {
        auto now = co_await read_overview(session);
        const std::string text = now ? fmt::format("{}\n{}", micros_as_time(std::to_string(now->at)),
                                                   overview_text(*now, before ? &*before : nullptr, options.workers))
                                     : fmt::format("Redis does not tell: {}\n", now.error());
        if (!live.draw(text)) co_return kFailed;  // the terminal has gone
        if (now) before = std::move(*now);
        co_await session.clock().sleep(options.pause);
    }
}

}  // namespace lockstep::prod
