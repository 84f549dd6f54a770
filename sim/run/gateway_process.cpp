#include "sim/run/gateway_process.h"

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

#include "engine/store/keys.h"
#include "engine/wire/subjects.h"

namespace lockstep::sim {

namespace {

constexpr engine::Duration kReadsErrorsWithin = std::chrono::minutes{1};
constexpr engine::Duration kCallTime = std::chrono::seconds{5};

fakes::LoadItem item_of(const Load& load) {
    fakes::LoadItem item;
    item.at = load.at;
    switch (load.kind) {
        case Load::Kind::submit: item.kind = fakes::LoadItem::Kind::submit; break;
        case Load::Kind::cancel: item.kind = fakes::LoadItem::Kind::cancel; break;
        case Load::Kind::approve: item.kind = fakes::LoadItem::Kind::approve; break;
        case Load::Kind::garbage: item.kind = fakes::LoadItem::Kind::garbage; break;
        case Load::Kind::forge: item.kind = fakes::LoadItem::Kind::forge; break;
        case Load::Kind::redis: item.kind = fakes::LoadItem::Kind::redis; break;
        case Load::Kind::workflow: break;  // a plan of its own
    }
    if (!load.job_id.empty()) item.job_ids = {load.job_id};
    item.topic = load.topic;
    item.count = load.count;
    item.per_second = load.per_second;
    item.job_json = load.job_json;
    item.packet_json = load.packet_json;
    item.raw = load.raw;
    item.command = load.command;
    item.subject = load.subject;
    item.payload_bytes = static_cast<std::size_t>(load.payload_bytes);
    return item;
}

}  // namespace

fakes::LoadPlan load_plan_of(const Scenario& scenario) {
    std::vector<fakes::LoadItem> items;
    items.reserve(scenario.load.size());
    for (const Load& load : scenario.load)
        if (load.kind != Load::Kind::workflow) items.push_back(item_of(load));
    auto plan = fakes::LoadPlan::make(items);
    if (!plan) throw std::runtime_error(fmt::format("load/{}: {}", plan.error().item, plan.error().message));
    return std::move(*plan);
}

RunDeskProcess::RunDeskProcess(fakes::World& world, Node& node, const Servers& servers, RunPlan& plan, RunDesk::Of of,
                               engine::MonoTime begins, engine::Log& log)
    : redis_(world, node.id, servers.redis),
      nats_(world, servers.nats, node.id),
      kernel_(world, node.id, Topology::kKernel, servers.kernel),
      desk_({node.executor, node.clock_port, node.entropy, redis_, nats_, kernel_, metrics_, log}, plan, of, begins) {}

GatewayProcess::GatewayProcess(fakes::World& world, Node& node, const Servers& servers, fakes::LoadPlan& plan,
                               RunPlan& runs, bool writes_redis, engine::Log& log)
    : world_(world), node_(node), servers_(servers), plan_(plan), runs_(runs), log_(log) {
    config_.writes_redis = writes_redis;
    config_.load_begins = node.clock_port.monotonic();
}

GatewayProcess::Life::Life(GatewayProcess& process)
    : redis(process.world_, process.node_.id, process.servers_.redis),
      nats(process.world_, process.servers_.nats, process.node_.id),
      gateway(process.world_, process.node_.id, process.node_.executor, nats, redis, process.plan_, process.config_) {
    if (!process.runs_.actions().empty())
        desk.emplace(process.world_, process.node_, process.servers_, process.runs_, RunDesk::Of::gateway,
                     process.config_.load_begins, process.log_);
}

OperatorProcess::OperatorProcess(fakes::World& world, Node& node, const Servers& servers, fakes::LoadPlan& plan,
                                 RunPlan& runs, engine::Log& log)
    : world_(world), node_(node), servers_(servers), plan_(plan), runs_(runs), log_(log) {
    config_.load_begins = node.clock_port.monotonic();
}

OperatorProcess::Life::Life(OperatorProcess& process)
    : redis(process.world_, process.node_.id, process.servers_.redis),
      nats(process.world_, process.servers_.nats, process.node_.id),
      kernel(process.world_, process.node_.id, Topology::kKernel, process.servers_.kernel),
      settings_redis(process.world_, process.node_.id, process.servers_.redis),
      editor(process.world_, process.node_.id, process.node_.executor, settings_redis, nats),
      work(process.world_, process.node_.id, process.node_.executor, nats, redis, &kernel, process.plan_,
           process.config_),
      scope(process.node_.executor) {
    if (!process.runs_.actions().empty())
        desk.emplace(process.world_, process.node_, process.servers_, process.runs_, RunDesk::Of::people,
                     process.config_.load_begins, process.log_);
}

void OperatorProcess::start() {
    life_ = std::make_unique<Life>(*this);
    life_->scope.spawn(make_changes());
}

void OperatorProcess::change_settings(fakes::SettingsChange change) {
    changes_.push_back(std::move(change));
    if (life_) life_->more_changes.set();
}

void OperatorProcess::read_why(std::string_view a_start_failed) {
    if (!life_ || a_start_failed.find("consumers adopt") == std::string_view::npos) return;
    if (!std::exchange(life_->adopts, true)) life_->scope.spawn(adopt_durables());
}

engine::Task<void> OperatorProcess::adopt_durables() {
    co_await node_.clock_port.sleep(kReadsErrorsWithin);
    const auto deadline = [this] { return node_.clock_port.in(kCallTime); };
    for (const std::string& name : engine::wire::own_durables()) {
        const auto durable =
            co_await life_->nats.consumer_state(std::string(engine::wire::kStreamSys), name, deadline());
        if (!durable.applied() || !durable.value() || durable.value()->deployment.empty()) continue;
        // What is not written is so after the next start that fails.
        const auto written = co_await life_->settings_redis.command(
            {"SET", std::string(engine::keys::kDeployment), durable.value()->deployment, "NX"}, deadline());
        if (written.applied()) break;
    }
    life_->adopts = false;
}

engine::Task<void> OperatorProcess::make_changes() {
    while (true) {
        while (!changes_.empty()) {
            co_await life_->editor.change(changes_.front());
            changes_.pop_front();
        }
        co_await life_->more_changes.wait();
        life_->more_changes.reset();
    }
}

}  // namespace lockstep::sim
