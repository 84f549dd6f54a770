// A cluster, its load, its settings and its faults as RapidCheck draws and shrinks them: plain numbers, each of which gets
// smaller towards a calmer world. `document_of` makes the scenario file of it, which is what people are shown.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/document.h"

namespace lockstep::sim::properties {

struct DrawnFault {
    int kind = 0;    // which of the table in the .cpp
    int target = 0;  // which node, call or packet; what it means depends on the kind
    int at_s = 0;
    int for_s = 1;
    int nth = 1;  // of the event that it stands on
};

struct DrawnCase {
    std::uint64_t seed = 1;
    int schedulers = 1;
    int readers = 0;  // of results, beside the schedulers
    int workers = 1;
    int slots = 1;  // of each worker
    int service_ms = 50;
    int per_second = 20;  // submits
    // Jobs: ordinary ones; that policy denies; that wait for a human; of a tenant that may have two at a time; steps of a
    // workflow run whose last step fails for good; whose output tells a secret; that come when a worker may be long gone; that
    // claim what only policy may say; that no worker ever ends.
    int plain = 1;
    int denied = 0;
    int asked = 0;
    int limited = 0;
    int steps = 0;
    int secrets = 0;
    int late = 0;
    int marked = 0;
    int hanging = 0;
    int runs = 0;                // of a workflow of three steps, the second of which is a durable delay
    bool large = false;          // ordinary jobs are so large that a replica asks for no more now and then
    bool short_of_time = false;  // running jobs have twenty seconds
    std::vector<std::pair<int, int>> settings;  // which tunable, which of its values
    std::vector<DrawnFault> faults;
    std::vector<std::string> without;
};

/// What a case has at least, so that an invariant is put to the test.
struct Focus {
    int denied = 0;
    int asked = 0;
    int limited = 0;
    int steps = 0;
    int secrets = 0;
    int late = 0;
    int marked = 0;
    int hanging = 0;
    int runs = 0;
    bool kernel_fault = false;
    bool store_fault = false;
    bool worker_fault = false;
    bool restart = false;
    bool garbled = false;
    bool large = false;
    bool unheard = false;  // results lie in the stream while the limits of their jobs pass
    int schedulers = 1;
    int workers = 1;
    int readers = 0;
};
[[nodiscard]] Focus focus_of(const std::string& invariant);

[[nodiscard]] rc::Gen<DrawnCase> any_case(Focus focus, std::vector<std::string> without = {});

/// A complete scenario that expects every invariant to hold. Everything has healed after four minutes, and the rest of the
/// three hours is long enough for anything documented to come about.
[[nodiscard]] Document document_of(const DrawnCase& drawn);

/// As the scenario file.
void showValue(const DrawnCase& drawn, std::ostream& os);

}  // namespace lockstep::sim::properties
