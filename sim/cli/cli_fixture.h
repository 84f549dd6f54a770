// A folder with scenario files and the command beside it, for tests of the subcommands.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/cli/cli.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim::cli::testing {

namespace fs = std::filesystem;

/// A folder with scenario files, and a simulator that answers as told.
class Cli : public ::testing::Test {
protected:
    Cli() {
        std::string pattern = (fs::temp_directory_path() / "lockstep-XXXXXX").string();
        folder = ::mkdtemp(pattern.data());
        write("a.json", R"({"name": "alpha", "tags": ["quick"], "seed": 7, "expect": {"invariants": "all"}})");
        write("b.json",
              R"({"name": "beta", "tags": ["slow"], "faults": [{"at": "1s", "do": "crash", "target": "redis"}]})");
        runner = good;
    }
    ~Cli() override { fs::remove_all(folder); }

    void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder / name).string(); }
    [[nodiscard]] std::string content(const std::string& name) const {
        std::ifstream in(folder / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    /// The whole of standard output as the one document that it is.
    [[nodiscard]] nlohmann::json document() const { return nlohmann::json::parse(out.str()); }

    static RunResult good(const Scenario& of, std::uint64_t seed, const RunOptions&) {
        RunResult result;
        result.passed = true;
        result.digest = seed * 3;
        result.virtual_ms = 61'000;
        result.events = 10;
        result.states = {{"SUCCEEDED", 5}};
        for (const NamedItem& invariant : invariant_table()) result.exercised[std::string(invariant.name)] = 2;
        for (const Fault& fault : of.faults)
            result.faults.push_back({std::string(fault.kind()), fault.pointer, 1, 1, 1});
        result.reached = {{"publish_outcome_unknown", 1}};
        return result;
    }

    /// The run of seed 8 is interrupted, as by a signal; the others are good.
    void stops_at_the_eighth_seed() {
        runner = [this](const Scenario& of, std::uint64_t seed, const RunOptions& options) {
            stop = seed == 8;
            RunResult result = good(of, seed, options);
            result.interrupted = seed == 8;
            return result;
        };
    }

    static RunResult bad(const Scenario& of, std::uint64_t seed, const RunOptions& options) {
        RunResult result = good(of, seed, options);
        result.passed = false;
        result.violations = {{"no_lost_job", 12'345, "scheduler-0", "job-1", "it is gone", {"first", "last"}}};
        result.expectations = {{"SUCCEEDED 6", "5", false}};
        return result;
    }

    int run(const std::vector<std::string>& args) {
        out.str("");
        err.str("");
        Environment environment{.out = out, .err = err, .runner = runner, .watcher = watcher, .stop = &stop};
        environment.commit = commit;
        environment.dirty = dirty;
        environment.step_summary = step_summary;
        environment.keep_in_crash = keep_in_crash;
        environment.colour = colour;
        environment.operate = [this](const std::vector<std::string>& words) {
            handed_over = words;
            return operator_exit;
        };
        environment.develop = environment.operate;
        return cli_main(args, environment);
    }

    fs::path folder;
    Runner runner;
    std::ostringstream out;
    std::ostringstream err;
    std::atomic<bool> stop = false;
    Watcher watcher;
    bool colour = false;
    std::string commit;
    bool dirty = false;
    std::string step_summary;
    std::function<void(UnfinishedReports*)> keep_in_crash;
    std::vector<std::string> handed_over;
    int operator_exit = -1;
};

}  // namespace lockstep::sim::cli::testing
