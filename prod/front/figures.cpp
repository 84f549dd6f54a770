#include "prod/front/figures.h"

#include <prometheus/text_serializer.h>

#include "engine/wire/subjects.h"

namespace lockstep::prod {

FrontFigures::FrontFigures(const std::string& pod, const std::vector<std::string>& cells) {
    const auto counter = [&](const char* name, const char* help) -> auto& {
        return prometheus::BuildCounter().Name(name).Help(help).Labels({{"pod", pod}}).Register(registry_);
    };
    const auto gauge = [&](const char* name, const char* help) -> auto& {
        return prometheus::BuildGauge().Name(name).Help(help).Labels({{"pod", pod}}).Register(registry_);
    };
    auto& routed = counter("lockstep_front_routed_total", "Submissions that the stream of the cell has taken.");
    auto& returned = counter("lockstep_front_returned_total",
                             "Results and dead letters of the cell that the stream of the front has taken.");
    auto& cancels = counter("lockstep_front_cancels_total", "Cancellations that were passed on to the cell.");
    auto& refused = counter(
        "lockstep_front_refused_total",
        "Tries to pass a message on that the stream at the other end has not acknowledged; each is tried again.");
    auto& aside = counter(
        "lockstep_front_set_aside_total",
        "Messages that the stream at the other end will never take, for their size; a dead letter tells of each.");
    auto& waiting = gauge("lockstep_front_waiting", "Submissions that stand in the line of the cell.");
    auto& connected =
        gauge("lockstep_front_cell_connected", "Whether the NATS of the cell is connected and used (1) or not (0).");
    incoming_ = &gauge("lockstep_front_incoming", "Submissions for which no cell has been decided yet.").Add({});
    const std::string submit(engine::wire::kSubjectSubmit);
    const std::string result(engine::wire::kSubjectResult);
    const std::string letter(engine::wire::kSubjectDlq);
    for (const std::string& cell : cells)
        cells_.emplace(cell, CellFigures{.routed = &routed.Add({{"cell", cell}}),
                                         .results = &returned.Add({{"cell", cell}, {"subject", result}}),
                                         .dead_letters = &returned.Add({{"cell", cell}, {"subject", letter}}),
                                         .cancels = &cancels.Add({{"cell", cell}}),
                                         .refused_submits = &refused.Add({{"cell", cell}, {"subject", submit}}),
                                         .refused_results = &refused.Add({{"cell", cell}, {"subject", result}}),
                                         .refused_letters = &refused.Add({{"cell", cell}, {"subject", letter}}),
                                         .aside_submits = &aside.Add({{"cell", cell}, {"subject", submit}}),
                                         .aside_results = &aside.Add({{"cell", cell}, {"subject", result}}),
                                         .aside_letters = &aside.Add({{"cell", cell}, {"subject", letter}}),
                                         .waiting = &waiting.Add({{"cell", cell}}),
                                         .connected = &connected.Add({{"cell", cell}})});
}

std::string FrontFigures::text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

}  // namespace lockstep::prod
