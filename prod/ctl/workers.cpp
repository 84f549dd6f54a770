#include "prod/ctl/workers.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/snapshot/worker_snapshot.h"
#include "engine/wire/json_text.h"
#include "prod/ctl/document.h"
#include "prod/ctl/text.h"

namespace lockstep::prod {

engine::Task<int> list_workers(Session& session, bool as_json) {
    engine::RedisCommand get{"GET", "sys:workers:snapshot"};
    const auto snapshot = co_await session.redis().command(std::move(get), session.deadline());
    if (!snapshot.applied()) co_return complain(kFailed, snapshot.failure().detail);
    if (snapshot.value().is_nil())
        co_return complain(kNotFound, "no scheduler has written a snapshot of its workers (is one running?)");
    const auto document = engine::wire::read_json(snapshot.value().text());
    if (!document.is_object()) co_return complain(kFailed, "the snapshot of workers cannot be read");
    if (as_json) {
        fmt::print("{}", json_text(document));
        co_return kDone;
    }
    const auto read = engine::parse_worker_snapshot(snapshot.value().text());
    if (!read) co_return complain(kFailed, fmt::format("the snapshot of workers cannot be read: {}", read.error()));
    const auto captured_at = document.find("captured_at");
    const bool says_when = captured_at != document.end() && captured_at->is_string();
    fmt::print("as of {}\n", says_when ? printable(captured_at->get_ref<const std::string&>()) : "?");
    for (const engine::Worker& worker : read->workers)
        fmt::print("{:<24} pool {:<16} {:>4} of {} jobs\n", printable(worker.id.text()),
                   worker.pool.empty() ? "-" : printable(worker.pool), worker.active_jobs, worker.max_parallel_jobs);
    co_return kDone;
}

}  // namespace lockstep::prod
