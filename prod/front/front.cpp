#include "prod/front/front.h"

#include <fmt/core.h>
#include <signal.h>

#include <stdexcept>
#include <utility>

#include "prod/front/durables.h"
#include "prod/front/line_address.h"
#include "prod/front/routing_record.h"
#include "prod/front/set_aside.h"
#include "prod/loop/signals.h"

namespace lockstep::prod {

using engine::LogLevel;

namespace {

constexpr engine::Duration kStartPatience = std::chrono::seconds(30);
constexpr engine::Duration kRetryPause = std::chrono::milliseconds(500);
constexpr engine::Duration kAnswerTimeout = std::chrono::seconds(5);
constexpr engine::Duration kFiguresInterval = std::chrono::seconds(1);
/// Well within the life of messages in a stream, so that the last record is never gone.
constexpr engine::Duration kRecordInterval = std::chrono::hours(12);

}  // namespace

Front::Front(Settings settings, CellsFile cells, FrontOptions options)
    : settings_(std::move(settings)),
      file_(std::move(cells)),
      options_(std::move(options)),
      routing_(routing_of(file_)),
      log_("FRONT", settings_.log),
      figures_(settings_.pod, names_),
      loop_figures_(settings_.pod, PrometheusMetrics::Of::any_loop),
      loop_watch_(settings_.loop_stall_limit),
      background_(loop_) {
    set_health();
}

Front::~Front() {
    admin_.reset();
    background_.cancel();
}

int Front::run() {
    for (const auto& warning : settings_.warnings) log_.always(LogLevel::warn, "configuration", {{"warning", warning}});
    auto admin =
        AdminHttp::start(options_.listen, {.metrics = [this] { return figures_.text() + loop_figures_.text(); },
                                           .health = [this] { return health_.read(); },
                                           .plain_health = true,
                                           .stall = [this] { return loop_watch_.why_stalled(); }});
    if (!admin) {
        error("choose an address that is free with --listen, or port 0 for any", admin.error());
        return kExitConfiguration;
    }
    admin_ = std::move(*admin);
    engine::Log& log = log_;
    log.event(LogLevel::info, "admin listener", {{"port", admin_->port()}});
    const SignalWatch signals(loop_, {SIGTERM, SIGINT}, [this](int number) { on_signal(number); });
    background_.spawn(tell_left_out_lines(log_, clock_));
    background_.spawn(LoopWatch::keep_beating(loop_watch_, clock_));
    loop_figures_.watch(loop_);
    engine::Scope serving(loop_);
    serving.spawn(serve());
    loop_.run();
    serving.cancel();
    return exit_code_;
}

void Front::on_signal(int number) {
    if (asked_to_stop_.is_set()) {
        exit_code_ = kExitSignal + number;
        loop_.stop();
    }
    asked_to_stop_.set();
}

void Front::error(std::string_view what, const std::string& why) {
    log_.always(LogLevel::error, what, {{"error", why}});
}

engine::Task<void> Front::serve() {
    engine::Log& log = log_;
    const auto failed = co_await start();
    if (failed) {
        exit_code_ = *failed;
    } else {
        not_ready_.clear();
        set_health();
        log.event(LogLevel::info, "ready", {{"cells", names_.size()}});
        co_await asked_to_stop_.wait();
    }
    co_await drain();
    log.event(LogLevel::info, "stopped");
    loop_.stop();
}

engine::Task<std::optional<int>> Front::start() {
    const bool reached = co_await reach_nats();
    if (!reached) co_return kExitUnreachable;
    const auto refused = co_await refused_by_history();
    if (refused) co_return *refused;
    if (!start_cells()) co_return kExitConfiguration;
    background_.spawn(keep_figures());
    submissions_ = std::make_unique<Passage>(
        Passage::Ports{loop_, clock_, log_}, "submissions",
        Passage::Handlers{
            .address = [this](engine::Delivery& delivery) { return line_address(*bus_, clock_, file_.map, delivery); },
            .taken = [](bool) {},
            .refused = [] {},
            .largest =
                [this] {
                    return bus_->message_limit(std::string(engine::wire::kStreamSys), clock_.in(kAnswerTimeout));
                },
            .set_aside =
                [this](const engine::Delivery& delivery, std::string why) {
                    return publish_letter(*bus_, clock_, delivery, "its line", std::move(why));
                }});
    const auto opened = co_await submissions_->open(
        *bus_, front_spec(engine::wire::kSubjectSubmit, options_.ack_wait, settings_.tunables.bus_rate_limit));
    if (!opened.applied()) {
        error("submissions cannot be taken", opened.failure().detail);
        co_return opened.failure().cause == engine::FailureCause::refused ? kExitConfiguration : kExitUnreachable;
    }
    cancels_ = bus_->subscribe(std::string(engine::wire::kSubjectCancel), std::string(kFrontQueue), *this);
    background_.spawn(keep_record());
    background_.spawn(keep_to_one_file());
    co_return std::nullopt;
}

engine::Task<bool> Front::reach_nats() {
    engine::Log& log = log_;
    const engine::MonoTime limit = clock_.in(kStartPatience);
    while (true) {
        auto bus = NatsBus::connect(loop_, settings_.nats);
        if (bus) {
            bus_ = std::move(*bus);
            break;
        }
        if (clock_.monotonic() >= limit || asked_to_stop_.is_set()) {
            error("NATS cannot be reached; check NATS_URL and its credentials", bus.error());
            co_return false;
        }
        log.event(LogLevel::warn, "no connection to NATS yet", {{"error", bus.error()}});
        co_await clock_.sleep(kRetryPause);
    }
    bus_->on_event([this, &log](bool connected, const std::string& what) {
        log.event(connected ? LogLevel::info : LogLevel::warn,
                  connected ? "connected to NATS" : "no connection to NATS", {{"server", what}});
        set_health();
    });
    bus_->on_problem([&log](const std::string& what) { log.event(LogLevel::warn, "NATS", {{"problem", what}}); });
    bus_->on_given_up([this](const std::string& why) {
        error("NATS has refused this process for good, so it ends; check the credentials", why);
        exit_code_ = kExitUnreachable;
        asked_to_stop_.set();
    });
    const auto prepared = co_await bus_->prepare(clock_.in(kStartPatience));
    if (!prepared) error("JetStream cannot be used", prepared.error());
    co_return prepared.has_value();
}

engine::Task<std::optional<int>> Front::refused_by_history() {
    const auto scheduler = co_await bus_->consumer_state(
        std::string(engine::wire::kStreamSys),
        engine::wire::durable_name(engine::wire::kQueueScheduler, engine::wire::kSubjectSubmit),
        clock_.in(kAnswerTimeout));
    if (!scheduler.applied()) {
        error("JetStream does not answer", scheduler.failure().detail);
        co_return kExitUnreachable;
    }
    if (scheduler.value()) {
        error(
            "schedulers take submissions from this NATS themselves, and each job would run there and in its cell; give "
            "the front a "
            "NATS, an account or a domain of its own (NATS_URL)",
            "there is a durable of cordum-scheduler");
        co_return kExitConfiguration;
    }
    const std::string results = front_durable(engine::wire::kSubjectResult);
    const auto as_cell =
        co_await bus_->consumer_state(std::string(engine::wire::kStreamSys), results, clock_.in(kAnswerTimeout));
    if (!as_cell.applied()) {
        error("JetStream does not answer", as_cell.failure().detail);
        co_return kExitUnreachable;
    }
    if (as_cell.value()) {
        error(fmt::format(
                  "this NATS is a cell of another front, and results would go round; give this front a NATS of its "
                  "own (NATS_URL), or take it out of the other's file and then: nats consumer rm {} {}",
                  engine::wire::kStreamSys, results),
              "there is a durable of another front for results");
        co_return kExitConfiguration;
    }
    const auto other = co_await find_other_front(*bus_, clock_, routing_);
    if (!other.applied()) {
        error("JetStream does not answer", other.failure().detail);
        co_return kExitUnreachable;
    }
    if (!other.value().empty()) {
        error("the cells cannot change now", other.value());
        co_return kExitConfiguration;
    }
    const auto unfinished = co_await find_unfinished_routing(*bus_, clock_, routing_);
    if (!unfinished.applied()) {
        error("JetStream does not answer", unfinished.failure().detail);
        co_return kExitUnreachable;
    }
    if (!unfinished.value().empty()) {
        error("the cells cannot change now", unfinished.value());
        co_return kExitConfiguration;
    }
    watch_.emplace(*bus_, clock_, routing_);
    const auto recorded = co_await watch_->record();
    if (recorded.applied()) co_return std::nullopt;
    error("JetStream does not take the record of the cells", recorded.failure().detail);
    co_return kExitUnreachable;
}

bool Front::start_cells() {
    const FrontTimes times{options_.ack_wait, settings_.tunables.bus_rate_limit};
    try {
        for (CellAddress& cell : file_.cells) {
            const CellFigures& figures = figures_.cell(cell.name);
            cells_.push_back(
                std::make_unique<Cell>(Cell::Ports{loop_, clock_, log_, *bus_}, std::move(cell), times, figures));
        }
        return true;
    } catch (const std::runtime_error& failure) {
        error("a cell cannot be used", failure.what());
        return false;
    }
}

engine::Task<void> Front::drain() {
    not_ready_ = "draining";
    set_health();
    cancels_.reset();
    if (submissions_) co_await submissions_->finish();
    for (const auto& cell : cells_) co_await cell->finish();
}

void Front::on_message(std::string_view, std::string_view payload) {
    for (const auto& cell : cells_) background_.spawn(cell->cancel(std::string(payload)));
}

engine::Task<void> Front::keep_figures() {
    while (true) {
        for (const auto& cell : cells_) co_await cell->count_waiting();
        const auto incoming =
            co_await bus_->consumer_state(std::string(engine::wire::kStreamSys),
                                          front_durable(engine::wire::kSubjectSubmit), clock_.in(kAnswerTimeout));
        if (incoming.applied() && incoming.value())
            figures_.incoming().Set(static_cast<double>(incoming.value()->waiting + incoming.value()->in_hand));
        co_await clock_.sleep(kFiguresInterval);
    }
}

engine::Task<void> Front::keep_record() {
    while (true) {
        co_await clock_.sleep(kRecordInterval);
        const auto recorded = co_await watch_->record();
        if (!recorded.applied()) error("JetStream does not take the record of the cells", recorded.failure().detail);
    }
}

engine::Task<void> Front::keep_to_one_file() {
    while (true) {
        co_await clock_.sleep(kFrontLookInterval);
        const auto why = co_await watch_->look();
        if (!why.applied() || why.value().empty()) continue;
        error("this front ends", why.value());
        exit_code_ = kExitConfiguration;
        asked_to_stop_.set();
        co_return;
    }
}

void Front::set_health() {
    health_.write({.redis_error = "",
                   .nats_error = bus_ && bus_->connection().connected ? "" : "not connected",
                   .safety_warning = "",
                   .not_ready = not_ready_,
                   .uses_redis = false});
}

}  // namespace lockstep::prod
