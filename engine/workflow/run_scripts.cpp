#include "engine/workflow/run_scripts.h"

#include <fmt/core.h>

#include "engine/store/script_text.h"
#include "engine/store/scripts/common.lua.h"
#include "engine/workflow/scripts/ask_run.lua.h"
#include "engine/workflow/scripts/cancelled_jobs.lua.h"
#include "engine/workflow/scripts/commit_run.lua.h"
#include "engine/workflow/scripts/create_run.lua.h"
#include "engine/workflow/scripts/drop_stale_timers.lua.h"
#include "engine/workflow/scripts/due_timers.lua.h"
#include "engine/workflow/scripts/forget_runs.lua.h"
#include "engine/workflow/scripts/future_timers.lua.h"
#include "engine/workflow/scripts/peek_runs.lua.h"
#include "engine/workflow/scripts/put_definition.lua.h"
#include "engine/workflow/scripts/run_common.lua.h"
#include "engine/workflow/scripts/sent_for_run.lua.h"
#include "engine/workflow/scripts/take_run.lua.h"

namespace lockstep::engine {

namespace {

RedisScript with_common(std::string_view name, std::string_view text) {
    return with_library(name, fmt::format("{}\n{}", scripts::kCommon, scripts::kRunCommon), text);
}

}  // namespace

const RunScripts& RunScripts::shared() {
    static const RunScripts kScripts;
    return kScripts;
}

RunScripts::RunScripts()
    : take_run(with_common("take_run", scripts::kTakeRun)),
      commit_run(with_common("commit_run", scripts::kCommitRun)),
      sent_for_run("sent_for_run", scripts::kSentForRun),
      peek_runs(with_common("peek_runs", scripts::kPeekRuns)),
      due_timers(with_common("due_timers", scripts::kDueTimers)),
      future_timers(with_common("future_timers", scripts::kFutureTimers)),
      drop_stale_timers(with_common("drop_stale_timers", scripts::kDropStaleTimers)),
      create_run(with_common("create_run", scripts::kCreateRun)),
      ask_run(with_common("ask_run", scripts::kAskRun)),
      cancelled_jobs(with_common("cancelled_jobs", scripts::kCancelledJobs)),
      forget_runs(with_common("forget_runs", scripts::kForgetRuns)),
      put_definition(with_common("put_definition", scripts::kPutDefinition)) {}

}  // namespace lockstep::engine
