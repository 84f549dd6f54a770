#include "sim/run/call_ledger.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kWorkerPrefix = "worker.";

std::string pattern_of(std::string_view subject) {
    return subject.starts_with(kWorkerPrefix) ? "worker.*.jobs" : std::string(subject);
}

}  // namespace

void CallLedger::on_event(const fakes::Event& event, Time /*now*/) {
    if (event.when != fakes::When::before || !is_call(event.kind) || !event.node.valid()) return;
    if (topology_.node(event.node).role != NodeRole::scheduler) return;
    CallSite site;
    site.event = event.kind;
    site.script = event.script;
    if (site.script.empty()) site.command = event.command;
    site.subject = pattern_of(event.subject);
    ++counts_[site];
}

std::vector<CallSite> CallLedger::sites() const {
    std::vector<CallSite> out;
    for (const auto& [site, count] : counts_) {
        out.push_back(site);
        out.back().count = count;
    }
    return out;
}

}  // namespace lockstep::sim
