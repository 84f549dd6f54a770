#include "engine/fuzz/targets.h"
#include "engine/snapshot/worker_snapshot.h"
#include "engine/testing/fuzz_target.h"

namespace lockstep::fuzz {

void snapshot(std::string_view input) {
    const auto snapshot = engine::parse_worker_snapshot(input);
    if (!snapshot) {
        FUZZ_MUST(!snapshot.error().empty());
        return;
    }
    for (const engine::Worker& worker : snapshot->workers) FUZZ_MUST(!worker.id.empty());
}

}  // namespace lockstep::fuzz
