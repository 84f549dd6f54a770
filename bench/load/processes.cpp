#include "bench/load/processes.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lockstep::bench {

namespace {

double tick_seconds() { return 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

std::string first_line(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

double seconds(const timeval& span) {
    return static_cast<double>(span.tv_sec) + static_cast<double>(span.tv_usec) / 1e6;
}

}  // namespace

ProcessTable ProcessTable::read() {
    ProcessTable table;
    std::error_code gone;  // processes end while one looks
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
        const std::string name = entry.path().filename();
        pid_t pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
        const std::string line = first_line(entry.path() / "stat");
        // The name stands in brackets and may hold anything, brackets included.
        const auto after_name = line.rfind(')');
        if (after_name == std::string::npos) continue;
        std::istringstream rest(line.substr(after_name + 1));
        std::string word;
        std::vector<std::string> fields;  // from the third one of proc(5) on
        while (rest >> word) fields.push_back(word);
        // Nobody may ever wait for a zombie, and once somebody does its time is its parent's.
        if (fields.size() < 15 || fields[0] == "Z") continue;
        Process process;
        process.parent = static_cast<pid_t>(std::stol(fields[1]));
        for (std::size_t i = 11; i < 15; ++i) process.cpu_seconds += std::stod(fields[i]) * tick_seconds();
        table.processes_.emplace(pid, process);
    }
    return table;
}

std::vector<pid_t> ProcessTable::tree(pid_t root) const {
    std::vector<pid_t> found;
    if (processes_.contains(root)) found.push_back(root);
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const auto& [pid, process] : processes_)
            if (process.parent == found[i]) found.push_back(pid);
    return found;
}

double ProcessTable::cpu_of(pid_t root) const {
    double sum = 0;
    for (const pid_t pid : tree(root)) sum += processes_.at(pid).cpu_seconds;
    return sum;
}

double peak_resident_bytes(const ProcessTable& table, pid_t root) {
    double most = 0;
    for (const pid_t pid : table.tree(root)) {
        std::ifstream status(fmt::format("/proc/{}/status", pid));
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("VmHWM:")) most = std::max(most, 1024 * std::stod(line.substr(6)));
    }
    return most;
}

double cpu_of_ended_children() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_of_machine() {
    std::istringstream line(first_line("/proc/stat"));
    std::string name;
    line >> name;
    // user nice system idle iowait irq softirq; what other guests took (steal) is not ours to see
    double sum = 0;
    double ticks = 0;
    for (int field = 0; field < 7 && line >> ticks; ++field)
        if (field != 3 && field != 4) sum += ticks;
    return sum * tick_seconds();
}

}  // namespace lockstep::bench
