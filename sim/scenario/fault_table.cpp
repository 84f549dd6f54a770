#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/fault_arguments.h"

namespace lockstep::sim {

namespace {

using namespace faults;

constexpr bool kRequired = true;
constexpr DataLoss kLosesRedis{.redis = true, .nats = false};
constexpr DataLoss kLosesNats{.redis = false, .nats = true};

template <class Kind, auto Member>
constexpr FaultArg arg(std::string_view name, FaultArgKind kind, bool required = false) {
    return {name, kind, required,
            [](const FaultArg& arg, const nlohmann::json& object, Fault& fault) {
                read_argument(arg, object, std::get<Kind>(fault.what).*Member);
            },
            [](const FaultArg& arg, const Fault& fault) {
                return argument_document(arg, std::get<Kind>(fault.what).*Member);
            }};
}

template <class Kind>
constexpr FaultArg kRate = arg<Kind, &Kind::rate>("rate", FaultArgKind::probability);
template <class Kind>
constexpr FaultArg kSubject = arg<Kind, &Kind::subject>("subject", FaultArgKind::glob);
template <class Kind>
constexpr FaultArg kCount = arg<Kind, &Kind::count>("count", FaultArgKind::count);
template <class Kind>
constexpr FaultArg kJob = arg<Kind, &Kind::job>("job", FaultArgKind::job);
template <class Kind>
constexpr FaultArg kTarget = arg<Kind, &Kind::target>("target", FaultArgKind::node, kRequired);
template <class Kind>
constexpr FaultArg kWorkers = arg<Kind, &Kind::target>("target", FaultArgKind::worker, kRequired);
template <class Kind>
constexpr FaultArg kLatency = arg<Kind, &Kind::latency>("latency", FaultArgKind::distribution, kRequired);
template <class Kind>
constexpr FaultArg kStatus = arg<Kind, &Kind::status>("status", FaultArgKind::status);

constexpr FaultArg kFor{
    "for", FaultArgKind::duration, false,
    [](const FaultArg& arg, const nlohmann::json& object, Fault& fault) { read_argument(arg, object, fault.duration); },
    [](const FaultArg& arg, const Fault& fault) { return argument_document(arg, fault.duration); }};

template <class Kind>
constexpr FaultEnd end_of() {
    if (std::derived_from<Kind, OfServer>) return FaultEnd::at_once;
    // A node tells when it is up again, or goes on; of its clock, it only tells when it has been set.
    const bool tells = std::derived_from<Kind, OfNode> && !std::same_as<Kind, ClockDrift>;
    return tells ? FaultEnd::of_node : FaultEnd::told;
}

template <class Kind>
struct Entry {
    FaultInfo info;
};

template <class Kind>
Entry<Kind> entry(std::string_view name, std::string_view help, std::vector<FaultArg> args, DataLoss loses = {}) {
    return {{name, help, std::move(args), loses, end_of<Kind>(), []() -> Any { return Kind{}; }}};
}

template <class... Kinds>
std::vector<FaultInfo> in_order(Entry<Kinds>... entries) {
    static_assert(std::same_as<Any, std::variant<Kinds...>>, "an entry for every kind, in the order of the variant");
    return {std::move(entries.info)...};
}

std::vector<FaultInfo> fault_entries() {
    return in_order(
        entry<Crash>("crash", "a node dies where it stands and restarts after `for`; without it, it stays down",
                     {kTarget<Crash>, kFor, arg<Crash, &Crash::config>("config", FaultArgKind::tunables),
                      arg<Crash, &Crash::worker>("worker", FaultArgKind::worker_change)}),
        entry<Stop>("stop",
                    "a node is asked to end, as by SIGTERM: a scheduler and a result reader finish or hand back their "
                    "work, every other node just dies as by crash; it starts again `for` later, once it has ended; "
                    "without it, it stays down",
                    {kTarget<Stop>, kFor, arg<Stop, &Stop::config>("config", FaultArgKind::tunables),
                     arg<Stop, &Stop::worker>("worker", FaultArgKind::worker_change)}),
        entry<Pause>("pause", "a node freezes: its timers and messages wait, the world goes on",
                     {kTarget<Pause>, kFor}),
        entry<Partition>("partition", "two parts cannot reach each other",
                         {arg<Partition, &Partition::a>("a", FaultArgKind::node_or_group, kRequired),
                          arg<Partition, &Partition::b>("b", FaultArgKind::node_or_group, kRequired),
                          arg<Partition, &Partition::direction>("direction", FaultArgKind::direction), kFor}),
        entry<SlowLink>(
            "slow_link", "messages between two parts take longer",
            {arg<SlowLink, &SlowLink::a>("a", FaultArgKind::node_or_group, kRequired),
             arg<SlowLink, &SlowLink::b>("b", FaultArgKind::node_or_group, kRequired), kLatency<SlowLink>, kFor}),
        entry<LossyLink>("lossy_link", "messages between two parts get lost",
                         {arg<LossyLink, &LossyLink::a>("a", FaultArgKind::node_or_group, kRequired),
                          arg<LossyLink, &LossyLink::b>("b", FaultArgKind::node_or_group, kRequired),
                          arg<LossyLink, &LossyLink::rate>("rate", FaultArgKind::probability, kRequired), kFor}),
        entry<ClockJump>(
            "clock_jump", "the wall clock of a node jumps, backwards when negative",
            {kTarget<ClockJump>, arg<ClockJump, &ClockJump::by>("by", FaultArgKind::signed_duration, kRequired)}),
        entry<ClockDrift>(
            "clock_drift", "the clock of a node runs fast, or slow when negative",
            {kTarget<ClockDrift>, arg<ClockDrift, &ClockDrift::ppm>("ppm", FaultArgKind::number, kRequired)}),
        entry<RedisErrors>(
            "redis.errors", "Redis calls fail, with or without effect",
            {kRate<RedisErrors>, arg<RedisErrors, &RedisErrors::outcome>("outcome", FaultArgKind::call_outcome),
             arg<RedisErrors, &RedisErrors::commands>("commands", FaultArgKind::words),
             arg<RedisErrors, &RedisErrors::script>("script", FaultArgKind::script),
             arg<RedisErrors, &RedisErrors::key>("key", FaultArgKind::glob), kJob<RedisErrors>, kCount<RedisErrors>,
             kFor}),
        entry<RedisLatency>(
            "redis.latency", "Redis answers late",
            {kLatency<RedisLatency>, arg<RedisLatency, &RedisLatency::commands>("commands", FaultArgKind::words),
             arg<RedisLatency, &RedisLatency::script>("script", FaultArgKind::script),
             arg<RedisLatency, &RedisLatency::key>("key", FaultArgKind::glob), kJob<RedisLatency>, kCount<RedisLatency>,
             kFor}),
        entry<RedisRestart>("redis.restart", "Redis restarts and keeps what its persistence kept", {kFor}, kLosesRedis),
        entry<RedisFailover>("redis.failover",
                             "nobody answers for `for`, then a replica that had lagged behind is the primary", {kFor},
                             kLosesRedis),
        entry<RedisScriptFlush>("redis.script_flush", "Redis forgets its scripts", {}),
        entry<RedisEvict>("redis.evict", "keys vanish",
                          {arg<RedisEvict, &RedisEvict::keys>("keys", FaultArgKind::glob)}, kLosesRedis),
        entry<RedisCorrupt>("redis.corrupt", "texts under keys are cut in half",
                            {arg<RedisCorrupt, &RedisCorrupt::keys>("keys", FaultArgKind::glob, kRequired)},
                            kLosesRedis),
        entry<RedisOom>("redis.oom", "Redis refuses writes for want of memory", {kFor}),
        entry<NatsPublishErrors>(
            "nats.publish_errors", "JetStream publishes fail, with or without effect",
            {kRate<NatsPublishErrors>,
             arg<NatsPublishErrors, &NatsPublishErrors::outcome>("outcome", FaultArgKind::call_outcome),
             kSubject<NatsPublishErrors>, kJob<NatsPublishErrors>, kCount<NatsPublishErrors>, kFor}),
        entry<NatsLostAcks>("nats.lost_acks", "acknowledgements of consumers get lost",
                            {kRate<NatsLostAcks>, kSubject<NatsLostAcks>, kCount<NatsLostAcks>, kFor}),
        entry<NatsLateAcks>(
            "nats.late_acks", "acknowledgements of consumers arrive late",
            {kRate<NatsLateAcks>, arg<NatsLateAcks, &NatsLateAcks::latency>("latency", FaultArgKind::distribution),
             kSubject<NatsLateAcks>, kCount<NatsLateAcks>, kFor}),
        entry<NatsDuplicate>("nats.duplicate", "messages are delivered twice",
                             {kRate<NatsDuplicate>, kSubject<NatsDuplicate>, kCount<NatsDuplicate>, kFor}),
        entry<NatsReorder>(
            "nats.reorder", "messages overtake each other",
            {kRate<NatsReorder>, arg<NatsReorder, &NatsReorder::latency>("latency", FaultArgKind::distribution),
             kSubject<NatsReorder>, kCount<NatsReorder>, kFor}),
        entry<NatsRestart>("nats.restart", "NATS restarts and keeps its streams", {kFor}),
        entry<NatsPowerCut>("nats.power_cut", "NATS restarts and loses what it had not synced", {kFor}, kLosesNats),
        entry<NatsGarbledDelivery>(
            "nats.garbled_delivery", "stored messages reach their consumers as bytes that are no packet",
            {kRate<NatsGarbledDelivery>, kSubject<NatsGarbledDelivery>, kCount<NatsGarbledDelivery>, kFor}),
        entry<NatsDropCore>("nats.drop_core", "core messages get lost for single subscribers",
                            {kRate<NatsDropCore>, kSubject<NatsDropCore>, kCount<NatsDropCore>, kFor}),
        entry<KernelErrors>(
            "kernel.errors", "policy checks answer a gRPC status",
            {kRate<KernelErrors>, kStatus<KernelErrors>, kJob<KernelErrors>, kCount<KernelErrors>, kFor}),
        entry<KernelLatency>(
            "kernel.latency", "policy checks answer late",
            {kRate<KernelLatency>, kLatency<KernelLatency>, kJob<KernelLatency>, kCount<KernelLatency>, kFor}),
        entry<KernelOutage>("kernel.outage", "policy checks do not answer",
                            {kJob<KernelOutage>, kCount<KernelOutage>, kFor}),
        entry<KernelFlap>("kernel.flap", "policy checks fail and work in turns",
                          {arg<KernelFlap, &KernelFlap::period>("period", FaultArgKind::duration, kRequired),
                           kStatus<KernelFlap>, kFor}),
        entry<KernelDecision>(
            "kernel.decision", "policy answers this, whatever its rules say",
            {kRate<KernelDecision>,
             arg<KernelDecision, &KernelDecision::decision>("decision", FaultArgKind::kernel_decision, kRequired),
             kJob<KernelDecision>, kCount<KernelDecision>, kFor}),
        entry<OutputPolicyErrors>("output_policy.errors", "output checks answer a gRPC status",
                                  {kRate<OutputPolicyErrors>, kStatus<OutputPolicyErrors>, kJob<OutputPolicyErrors>,
                                   kCount<OutputPolicyErrors>, kFor}),
        entry<OutputPolicyLatency>("output_policy.latency", "output checks answer late",
                                   {kRate<OutputPolicyLatency>, kLatency<OutputPolicyLatency>,
                                    kJob<OutputPolicyLatency>, kCount<OutputPolicyLatency>, kFor}),
        entry<OutputPolicyDecision>("output_policy.decision", "output policy answers this, whatever its rules say",
                                    {kRate<OutputPolicyDecision>,
                                     arg<OutputPolicyDecision, &OutputPolicyDecision::decision>(
                                         "decision", FaultArgKind::output_decision, kRequired),
                                     kJob<OutputPolicyDecision>, kCount<OutputPolicyDecision>, kFor}),
        entry<WorkerSilence>("worker.silence", "heartbeats stop, work goes on", {kWorkers<WorkerSilence>, kFor}),
        entry<WorkerZombie>("worker.zombie", "heartbeats go on, work stops", {kWorkers<WorkerZombie>, kFor}),
        entry<WorkerOverload>("worker.overload", "a worker reports itself overloaded",
                              {kWorkers<WorkerOverload>, kFor}),
        entry<Corrupt>("corrupt", "bytes of packets are flipped or cut",
                       {kRate<Corrupt>, kSubject<Corrupt>, kCount<Corrupt>, kFor}),
        entry<ConfigUpdate>("config.update", "an operator writes new settings and announces them",
                            {arg<ConfigUpdate, &ConfigUpdate::pools>("pools", FaultArgKind::pools),
                             arg<ConfigUpdate, &ConfigUpdate::timeouts>("timeouts", FaultArgKind::timeouts),
                             arg<ConfigUpdate, &ConfigUpdate::settings>("scheduler", FaultArgKind::settings),
                             arg<ConfigUpdate, &ConfigUpdate::raw>("raw", FaultArgKind::anything),
                             arg<ConfigUpdate, &ConfigUpdate::layers>("layers", FaultArgKind::layers)}));
}

const std::vector<FaultInfo>& table() {
    static const std::vector<FaultInfo> kTable = fault_entries();
    return kTable;
}

}  // namespace

std::span<const FaultInfo> fault_table() { return table(); }

const FaultInfo* find_fault(std::string_view name) {
    const auto found = std::ranges::find(table(), name, &FaultInfo::name);
    return found == table().end() ? nullptr : &*found;
}

FaultEnd end_of_fault(std::string_view name) {
    const FaultInfo* info = find_fault(name);
    return info == nullptr ? FaultEnd::told : info->end;
}

std::string_view Fault::kind() const { return table()[what.index()].name; }

}  // namespace lockstep::sim
