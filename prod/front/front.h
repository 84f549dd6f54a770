// The front of several cells: takes submissions from its own NATS, puts each in the line of its tenant's cell, and brings results and
// dead letters back. Routing, and no second scheduler: it looks at the tenant of a submission and at nothing else.
//
// 1. A submission is routed once, by the map of the start (routing_record.h), into the line of its cell: a subject in the front's own
//    stream with a durable of its own. So no cell's absence stands in the way of another's submissions.
// 2. What has no tenant to go by, because it cannot be decoded or is no submission, goes to the cell of the tenant `default`, where a
//    scheduler buries or drops it as it would have; its dead letter comes back. Bytes that were garbled on their way are read again.
// 3. Whom a cancellation concerns nobody knows here: it goes to every cell, and schedulers pass over unknown jobs.
// 4. Nothing is taken while a scheduler reads this NATS, too: each job would run there and in its cell. Nor where it is a cell of another
//    front, nor beside a front that goes by another file; one that learns of a later such front ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "prod/config/settings.h"
#include "prod/front/cell.h"
#include "prod/front/cells_file.h"
#include "prod/front/figures.h"
#include "prod/front/passage.h"
#include "prod/front/routing_record.h"
#include "prod/loop/loop_watch.h"
#include "prod/loop/system_clock.h"
#include "prod/nats/nats_bus.h"
#include "prod/observe/admin_http.h"
#include "prod/observe/prometheus_metrics.h"
#include "prod/observe/spdlog_log.h"

namespace lockstep::prod {

struct FrontOptions {
    std::string listen = "127.0.0.1:9095";
    engine::Duration ack_wait = std::chrono::seconds(30);
};

class Front final : public engine::MessageSink {
public:
    static constexpr int kExitOk = 0;
    static constexpr int kExitUnreachable = 1;
    static constexpr int kExitConfiguration = 2;
    static constexpr int kExitSignal = 128;  // and the number of the second signal

    Front(Settings settings, CellsFile cells, FrontOptions options);
    ~Front() override;

    /// Until a signal, or an error at the start. The exit code.
    [[nodiscard]] int run();

private:
    engine::Task<void> serve();
    /// An exit code: the start has failed.
    engine::Task<std::optional<int>> start();
    [[nodiscard]] engine::Task<bool> reach_nats();
    /// Why submissions cannot be taken with this configuration.
    [[nodiscard]] engine::Task<std::optional<int>> refused_by_history();
    [[nodiscard]] bool start_cells();
    [[nodiscard]] engine::Task<void> drain();

    /// Cancellations.
    void on_message(std::string_view subject, std::string_view payload) override;

    [[nodiscard]] engine::Task<void> keep_figures();
    [[nodiscard]] engine::Task<void> keep_record();
    [[nodiscard]] engine::Task<void> keep_to_one_file();
    void on_signal(int number);
    void set_health();
    void error(std::string_view what, const std::string& why);

    const Settings settings_;
    CellsFile file_;
    const FrontOptions options_;
    const Routing routing_;
    const std::vector<std::string>& names_ = routing_.cells;
    UvLoop loop_;
    SystemClock clock_;
    SpdlogLog log_;
    FrontFigures figures_;
    PrometheusMetrics loop_figures_;
    LoopWatch loop_watch_;
    engine::Event asked_to_stop_;
    int exit_code_ = kExitOk;
    std::string not_ready_ = "starting";
    HealthBoard health_;
    std::unique_ptr<NatsBus> bus_;
    std::optional<RoutingWatch> watch_;  // once there is a bus
    std::vector<std::unique_ptr<Cell>> cells_;
    std::unique_ptr<Passage> submissions_;
    std::unique_ptr<engine::Subscription> cancels_;
    engine::Scope background_;
    std::unique_ptr<AdminHttp> admin_;  // last: its threads ask for health
};

}  // namespace lockstep::prod
