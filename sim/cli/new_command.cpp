#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "engine/wire/json_text.h"
#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/failure_files.h"
#include "sim/cli/selection.h"
#include "sim/scenario/file_format.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kSchemaFile = "scenario.schema.json";

/// The file of the schema, for editors, and the name, as JSON.
constexpr std::string_view kBeginning = R"({{
  "$schema": "{}",
  "name": {},
  "description": "What must hold, in a sentence or two.",
  // Virtual time at most; the run ends earlier once all is quiet. `--seeds 100` runs it under a hundred seeds.
  "duration": "20m",
  "cluster": {{
    "schedulers": 2,                              // replicas of lockstepd
    "config": {{ "bus_ack_wait": "30s" }},          // settings, by the names of `lockstep list tunables`
    "workers": [
      {{ "id": "w", "count": 4, "max_parallel_jobs": 4, "service_time": "500ms",
        "outcomes": {{ "SUCCEEDED": 0.9, "FAILED_FATAL": 0.1 }} }}   // how often a job comes to what
    ]
  }},
  "load": [
    {{ "at": "7s", "topic": "job.default", "count": 20, "rate": "5/s" }},
    {{ "at": "8s", "job": {{ "job_id": "special", "topic": "job.default", "env": {{ "SIM_OUTCOME": "SUCCEEDED" }} }} }}
  ],
  // `lockstep list faults` has all of them. "at" a time, or "on" an event: here after the third dispatch, before the scheduler that has
  // sent it can note so.
  "faults": [
    {{ "on": {{ "event": "publish", "subject": "worker.*.jobs", "when": "applied", "nth": 3 }},
      "do": "crash", "target": "actor", "for": "20s" }}
  ],
  "expect": {{
    "invariants": "all",                          // `lockstep list invariants`; or a list, or {{ "all_but": [ … ] }}
    "jobs": {{ "special": "SUCCEEDED" }},
    "states": {{ "PENDING": 0, "SUCCEEDED": ">= 10" }}
  }}
}}
)";

}  // namespace

Exit new_command(const NewArgs& args, const Environment& environment) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path folder = fs::is_directory("scenarios", error) ? "scenarios" : "";
    const std::string path = args.out.empty() ? (folder / as_file_name(args.name + ".json")).string() : args.out;
    if (fs::exists(path, error)) {
        environment.err << fmt::format("lockstep: {} is there already; name another one with --out\n", path);
        return Exit::usage;
    }
    const fs::path schema = fs::path(path).parent_path() / kSchemaFile;
    const auto write = [&environment](const std::string& file, const std::string& text) {
        const auto written = reports::write_atomically(file, text);
        if (!written) environment.err << "lockstep: " << written.error() << '\n';
        return written.has_value();
    };
    if (!write(path, fmt::format(kBeginning, kSchemaFile, engine::wire::json_text(nlohmann::json(args.name)))) ||
        (!fs::exists(schema, error) && !write(schema.string(), scenario_schema())))
        return Exit::usage;
    environment.out << fmt::format(
        "{}\n  lockstep validate {}    is what it says sound?\n  lockstep run {} --seeds 20\n", path,
        shell_quoted(path), shell_quoted(path));
    return Exit::passed;
}

}  // namespace lockstep::sim::cli
