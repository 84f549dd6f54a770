// `workflow ...` on the command line.
#pragma once

#include <string>

#include "prod/ctl/command_line.h"
#include "prod/ctl/workflow_runs.h"

namespace lockstep::prod {

/// What the command line says about workflows, as text.
struct WorkflowArguments {
    std::string file;
    std::string text;  // what the file holds
    std::string input;
    std::string wait;
    std::string reason;
    std::string by;
    bool reject = false;
    StartOptions start;
    RerunOptions rerun;
    RunStatusOptions status;
    ListRunsOptions list;
    StepDecision decision;
};

/// `arguments`, `as_json` and `chosen` outlive the reading of the command line and the command.
void add_workflow(const usage::Command& app, WorkflowArguments& arguments, const bool& as_json, Chosen& chosen);

}  // namespace lockstep::prod
