#include "prod/config/job_files.h"

#include <fmt/core.h>

#include "prod/config/timeouts.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {

namespace {

tl::expected<PoolsFile, std::string> read_pools(const Settings& settings) {
    const auto text = read_file(settings.pools_file);
    if (!text)
        return tl::make_unexpected(
            fmt::format("{}. POOL_CONFIG_PATH names the file that says which pools serve which topics", text.error()));
    return parse_pools_file(*text, settings.pools_file);
}

tl::expected<engine::Timeouts, std::string> read_timeouts(const Settings& settings) {
    const auto text = read_file(settings.timeouts_file);
    if (!text) return tl::make_unexpected(text.error());
    return parse_timeouts_file(*text, settings.timeouts_file);
}

}  // namespace

tl::expected<JobFiles, std::string> read_job_files(const Settings& settings, TimeoutsFile wanted) {
    JobFiles files;
    auto pools = read_pools(settings);
    auto timeouts = read_timeouts(settings);
    const bool strict = settings.production && settings.timeouts_file_given;
    std::string mistakes = pools ? "" : pools.error();
    const auto mistake = [&](const std::string& what) { mistakes += (mistakes.empty() ? "" : "\n") + what; };
    if (!timeouts && strict)
        mistake(timeouts.error() + "\nTIMEOUT_CONFIG_PATH is set, so production mode does not start without it");
    else if (!timeouts && wanted == TimeoutsFile::required)
        mistake(timeouts.error());
    else if (!timeouts)
        files.warnings.push_back(timeouts.error() + "; built-in timeouts are used");
    if (!mistakes.empty()) return tl::make_unexpected(mistakes);

    files.pools = std::move(*pools);
    files.tunables = settings.tunables;
    if (timeouts) {
        engine::apply_limits(*timeouts, settings.pinned, files.tunables);
        files.timeouts = std::move(*timeouts);
    }
    const engine::Timeouts* limits = files.timeouts ? &*files.timeouts : nullptr;
    if (auto late = late_result_warning(files.tunables, limits); !late.empty())
        files.warnings.push_back(std::move(late));
    return files;
}

}  // namespace lockstep::prod
