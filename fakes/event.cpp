#include "fakes/event.h"

#include <array>

namespace lockstep::fakes {

namespace {

// In the order of the enumeration.
constexpr std::array kNames{std::string_view{"publish"},
                            std::string_view{"core_publish"},
                            std::string_view{"ack"},
                            std::string_view{"nak"},
                            std::string_view{"term"},
                            std::string_view{"in_progress"},
                            std::string_view{"redis"},
                            std::string_view{"kernel_check"},
                            std::string_view{"output_check"},
                            std::string_view{"stored"},
                            std::string_view{"deliver"},
                            std::string_view{"core_deliver"},
                            std::string_view{"lock_acquired"},
                            std::string_view{"lock_renewed"},
                            std::string_view{"lock_released"},
                            std::string_view{"lock_expired"},
                            std::string_view{"state"},
                            std::string_view{"heartbeat"},
                            std::string_view{"job_started"},
                            std::string_view{"job_finished"},
                            std::string_view{"result"},
                            std::string_view{"submit"},
                            std::string_view{"cancel"},
                            std::string_view{"approve"},
                            std::string_view{"reached"},
                            std::string_view{"timer"},
                            std::string_view{"node_up"},
                            std::string_view{"node_down"},
                            std::string_view{"paused"},
                            std::string_view{"resumed"},
                            std::string_view{"connection_broken"},
                            std::string_view{"fault"},
                            std::string_view{"metric"},
                            std::string_view{"log"},
                            std::string_view{"max_deliveries"},
                            std::string_view{"slow_consumer"},
                            std::string_view{"read_back"}};
static_assert(kNames.size() == kEventKinds);

}  // namespace

std::string_view to_string(EventKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string_view to_string(When when) {
    switch (when) {
        case When::before: return "before";
        case When::applied: return "applied";
        case When::answered: return "answered";
    }
    return "?";
}

}  // namespace lockstep::fakes
