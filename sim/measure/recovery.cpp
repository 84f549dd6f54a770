#include "sim/measure/recovery.h"

#include <utility>

#include "sim/measure/units.h"

namespace lockstep::sim {

void Recovery::on_event(const fakes::Event& event, Time now) {
    const std::pair which{std::string(event.key), event.node};
    if (event.from == "begin") {
        in_force_[which] = spans_.size();
        std::string kind(event.name);
        if (event.node.valid()) kind += " of " + std::string(topology_.name(event.node));
        spans_.push_back({std::move(kind), now, now, backlog_.now()});
        return;
    }
    const auto found = in_force_.extract(which);
    if (!found.empty()) spans_[found.mapped()].to = now;
}

void Recovery::report(MeasuredRun& run) const {
    for (const Span& span : spans_) {
        run.faults.push_back({span.kind, millis_since_start(span.from), millis_since_start(span.to)});
        backlog_.first_at_most(span.to, span.backlog_before,
                               [&](Time at) { run.samples["recovery"].push_back(millis(at - span.to)); });
    }
}

}  // namespace lockstep::sim
