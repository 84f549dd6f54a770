#include "sim/cli/under_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/cli/presenter.h"

namespace lockstep::sim::cli {

namespace {

std::int64_t millis_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

UnderWay::UnderWay(const Environment& environment, std::uint64_t planned)
    : environment_(environment), planned_(planned) {
    if (environment_.answer) environment_.answer([this] { return text(); });
}

UnderWay::~UnderWay() {
    if (environment_.answer) environment_.answer({});
}

void UnderWay::started(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    running_[std::this_thread::get_id()] = {what, Wall::now()};
}

void UnderWay::passed(std::int64_t virtual_ms) {
    const std::scoped_lock lock(mutex_);
    if (const auto run = running_.find(std::this_thread::get_id()); run != running_.end())
        run->second.virtual_ms = virtual_ms;
}

void UnderWay::ended(std::uint64_t events, bool failed) {
    const std::scoped_lock lock(mutex_);
    running_.erase(std::this_thread::get_id());
    ++done_;
    failed_ += failed ? 1 : 0;
    events_ += events;
}

Runner UnderWay::timing(Runner runner) {
    return [this, runner = std::move(runner)](const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
        RunOptions timed = options;
        timed.passed = [this](std::int64_t virtual_ms) { passed(virtual_ms); };
        return runner(scenario, seed, timed);
    };
}

Runner UnderWay::watching(Runner runner) {
    return [this, runner = timing(std::move(runner))](const Scenario& scenario, std::uint64_t seed,
                                                      const RunOptions& options) {
        started(fmt::format("{} seed {}", scenario.name, seed));
        RunResult result = runner(scenario, seed, options);
        ended(result.events, !result.passed && !result.interrupted);
        return result;
    };
}

std::string UnderWay::text() const {
    const std::scoped_lock lock(mutex_);
    const std::int64_t millis = millis_since(began_);
    const auto a_second = static_cast<double>(events_) * 1000 / static_cast<double>(std::max<std::int64_t>(millis, 1));
    std::string out = fmt::format("lockstep: {}{} runs made in {}, {} failed; {} events, {:.0f} a second\n", done_,
                                  planned_ == 0 ? "" : fmt::format(" of {}", planned_), human_duration(millis), failed_,
                                  events_, a_second);
    if (running_.empty()) out += "  nothing runs just now\n";
    for (const auto& [thread, run] : running_)
        out += fmt::format("  runs for {}, {} of its own time: {}\n", human_duration(millis_since(run.since)),
                           human_duration(run.virtual_ms), run.what);
    return out;
}

}  // namespace lockstep::sim::cli
