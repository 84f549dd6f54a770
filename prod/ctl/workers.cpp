#include "prod/ctl/workers.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "prod/ctl/text.h"

namespace lockstep::prod {

engine::Task<int> list_workers(Session& session, bool as_json) {
    engine::RedisCommand get{"GET", "sys:workers:snapshot"};
    const auto snapshot = co_await session.redis().command(std::move(get), session.deadline());
    if (!snapshot.applied()) co_return complain(kFailed, snapshot.failure().detail);
    if (snapshot.value().is_nil())
        co_return complain(kNotFound, "no scheduler has written a snapshot of its workers (is one running?)");
    const auto document = nlohmann::json::parse(snapshot.value().text(), nullptr, false);
    if (!document.is_object()) co_return complain(kFailed, "the snapshot of workers cannot be read");
    if (as_json) {
        fmt::print("{}\n", document.dump());
        co_return kDone;
    }
    fmt::print("as of {}\n", printable(document.value("captured_at", std::string("?"))));
    for (const auto& worker : document.value("workers", nlohmann::json::array()))
        fmt::print("{:<24} pool {:<16} {:>4} of {} jobs\n", printable(worker.value("worker_id", std::string("?"))),
                   printable(worker.value("pool", std::string("-"))), worker.value("active_jobs", 0),
                   worker.value("max_parallel_jobs", 0));
    co_return kDone;
}

}  // namespace lockstep::prod
