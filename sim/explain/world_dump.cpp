#include "sim/explain/world_dump.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sim/explain/explanation.h"

namespace lockstep::sim {

namespace {

struct Part {
    const char* title;
    WorldDump::Section WorldDump::* section;
};

constexpr std::array<Part, 6> kParts{{{"Nodes", &WorldDump::nodes},
                                      {"Locks", &WorldDump::locks},
                                      {"Circuit of the safety kernel", &WorldDump::circuit},
                                      {"Streams", &WorldDump::streams},
                                      {"Consumers", &WorldDump::consumers},
                                      {"Redis", &WorldDump::redis}}};

std::string title_of(const WorldDump& dump) {
    return fmt::format("event {} at {}: {}", dump.event, seconds_text(dump.ns), dump.what);
}

void add_difference(const WorldDump::Section& from, const WorldDump::Section& to, std::string& out) {
    auto a = from.begin();
    auto b = to.begin();
    while (a != from.end() || b != to.end()) {
        const bool only_a = b == to.end() || (a != from.end() && a->first < b->first);
        const bool only_b = a == from.end() || (b != to.end() && b->first < a->first);
        if (only_a) {
            out += fmt::format("- {}  {}\n", a->first, a->second.compared);
            ++a;
        } else if (only_b) {
            out += fmt::format("+ {}  {}\n", b->first, b->second.compared);
            ++b;
        } else {
            if (a->second.compared != b->second.compared)
                out += fmt::format("- {}  {}\n+ {}  {}\n", a->first, a->second.compared, b->first, b->second.compared);
            ++a;
            ++b;
        }
    }
}

}  // namespace

std::string to_text(const WorldDump& dump) {
    std::string out = fmt::format("{} of {}\n", kDumpMark, title_of(dump));
    for (const Part& part : kParts) {
        const WorldDump::Section& section = dump.*part.section;
        out += fmt::format("\n{}{}\n", part.title, section.empty() ? ": none" : "");
        for (const auto& [name, line] : section) out += fmt::format("  {}  {}\n", name, line.shown);
    }
    return out;
}

std::string difference_text(const WorldDump& from, const WorldDump& to) {
    std::string out = fmt::format("{}: what changed\n- {}\n+ {}\n", kDumpMark, title_of(from), title_of(to));
    bool any = false;
    for (const Part& part : kParts) {
        std::string lines;
        add_difference(from.*part.section, to.*part.section, lines);
        if (lines.empty()) continue;
        any = true;
        out += fmt::format("\n{}\n{}", part.title, lines);
    }
    return any ? out : out + "\nNothing.\n";
}

}  // namespace lockstep::sim
