#include "prod/observe/process_figures.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "prod/observe/prometheus_metrics.h"

namespace lockstep::prod {

namespace {

/// The fields of /proc/self/stat that are used, numbered from 0 behind the program's name (proc(5) begins with 3 there).
struct Stat {
    double user_ticks = 0;      // 11
    double system_ticks = 0;    // 12
    double threads = 0;         // 17
    double started_ticks = 0;   // 19, since the system started
    double virtual_bytes = 0;   // 20
    double resident_pages = 0;  // 21
};

std::optional<Stat> read_stat() {
    std::ifstream file("/proc/self/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');  // the name itself may hold anything
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream rest(text.substr(name_end + 1));
    std::string state;
    rest >> state;
    Stat stat;
    double value = 0;
    for (int field = 1; field <= 21 && rest >> value; ++field) switch (field) {
            case 11: stat.user_ticks = value; break;
            case 12: stat.system_ticks = value; break;
            case 17: stat.threads = value; break;
            case 19: stat.started_ticks = value; break;
            case 20: stat.virtual_bytes = value; break;
            case 21: stat.resident_pages = value; return stat;
            default: break;
        }
    return std::nullopt;
}

/// When the system started, since the Unix epoch.
std::optional<double> boot_time() {
    std::ifstream file("/proc/stat");
    std::string word;
    double value = 0;
    while (file >> word)
        if (word == "btime" && file >> value) return value;
    return std::nullopt;
}

std::optional<double> open_descriptors() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
    if (!folder) return std::nullopt;
    double entries = 0;
    while (::readdir(folder.get()) != nullptr) ++entries;
    return entries - 3;  // without ".", ".." and the one that reads them
}

}  // namespace

void ProcessFigures::look() {
    if (const auto stat = read_stat()) {
        const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
        const double cpu = (stat->user_ticks + stat->system_ticks) / ticks;
        metrics_.add(DaemonMetric::process_cpu, {}, cpu - cpu_seconds_told_);
        cpu_seconds_told_ = cpu;
        metrics_.set(DaemonMetric::process_threads, stat->threads);
        metrics_.set(DaemonMetric::process_virtual_memory, stat->virtual_bytes);
        metrics_.set(DaemonMetric::process_resident_memory,
                     stat->resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
        if (const auto boot = boot_time())
            metrics_.set(DaemonMetric::process_start_time, *boot + stat->started_ticks / ticks);
    }
    if (const auto open = open_descriptors()) metrics_.set(DaemonMetric::process_open_fds, *open);
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metrics_.set(DaemonMetric::process_max_fds, static_cast<double>(limit.rlim_cur));
}

}  // namespace lockstep::prod
