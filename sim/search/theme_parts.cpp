#include "sim/search/theme_parts.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "engine/wire/json_text.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kReplica = "scheduler-";

void name_present_replica(Document& holder, const char* member, int replicas) {
    const auto name = holder.find(member);
    if (name == holder.end() || !name->is_string()) return;
    const std::string_view text = name->get_ref<const std::string&>();
    if (!text.starts_with(kReplica)) return;
    int number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + kReplica.size(), end, number);
    if (read.ec != std::errc{} || read.ptr != end || number < replicas) return;
    *name = fmt::format("{}{}", kReplica, number % replicas);
}

}  // namespace

void add_fault(Document& scenario, Document fault) { scenario["faults"].push_back(std::move(fault)); }
void add_load(Document& scenario, Document line) { scenario["load"].push_back(std::move(line)); }
void add_failing_script(Dice& dice, Document& scenario, const char* script) {
    add_fault(scenario, {{"at", dice.seconds(1, 30)},
                         {"do", "redis.errors"},
                         {"script", script},
                         {"outcome", dice.word({"not_applied", "not_applied", "unknown", "lost"})},
                         {"rate", dice.share({0.3, 1.0})},
                         {"for", dice.word({"5s", "20s", "40s"})}});
}
void add_script_failing_when_called(Dice& dice, Document& scenario, const char* script, int calls) {
    add_fault(
        scenario,
        {{"on", {{"event", "redis"}, {"script", script}, {"when", "before"}, {"nth", dice.on_every_scale(calls)}}},
         {"do", "redis.errors"},
         {"script", script},
         {"outcome", dice.word({"not_applied", "unknown", "lost"})},
         {"for", dice.word({"100ms", "5s", "20s"})}});
}
Document& config(Document& scenario) { return scenario["cluster"]["config"]; }

int replicas(const Document& scenario) { return scenario["cluster"]["schedulers"].get<int>(); }
void at_least_two_replicas(Dice& dice, Document& scenario) {
    if (replicas(scenario) < 2) scenario["cluster"]["schedulers"] = dice.between(2, 4);
}
std::string a_replica(Dice& dice, const Document& scenario) {
    return fmt::format("scheduler-{}", dice.between(0, replicas(scenario) - 1));
}

void name_present_replicas(Document& scenario) {
    const int count = scenario["cluster"].value("schedulers", 1);
    for (Document& fault : scenario["faults"]) {
        for (const char* member : {"target", "a", "b"}) name_present_replica(fault, member, count);
        if (const auto on = fault.find("on"); on != fault.end()) name_present_replica(*on, "node", count);
    }
}

void workflow_step(Document& scenario, std::string at, const char* topic, const std::string& run, bool undoable,
                   const char* tenant) {
    Document job = {{"topic", topic}, {"workflow_id", "travel"}};
    if (tenant != nullptr) job["tenant_id"] = tenant;
    if (!run.empty()) job["labels"] = {{"run_id", run}};
    if (undoable) job["compensation"] = {{"topic", "job.undo"}};
    add_load(scenario, {{"at", std::move(at)}, {"job", std::move(job)}});
}

Document& pools_of(Document& cluster) {
    if (!cluster.contains("pools"))
        cluster["pools"] = engine::wire::sound_ordered_json(
            R"({ "topics": { "job.default": ["default"] }, "pools": { "default": { "requires": [] } } })");
    return cluster["pools"];
}

void open_travel_agency(Document& cluster) {
    Document& pools = pools_of(cluster);
    if (pools["topics"].contains("job.book")) return;
    for (const auto& [topic, pool] :
         {std::pair{"job.book", "booking"}, {"job.fail", "failing"}, {"job.undo", "undoing"}}) {
        pools["topics"][topic] = Document::array({pool});
        pools["pools"][pool] = {{"requires", Document::array()}};
    }
    cluster["workers"].push_back({{"id", "booker"}, {"pool", "booking"}, {"service_time", "200ms"}});
    cluster["workers"].push_back({{"id", "undoer"}, {"count", 2}, {"pool", "undoing"}, {"service_time", "200ms"}});
    cluster["workers"].push_back(
        {{"id", "failer"}, {"pool", "failing"}, {"service_time", "100ms"}, {"outcomes", {{"FAILED_FATAL", 1}}}});
}

}  // namespace lockstep::sim
