#include "sim/search/fault_free.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;

/// In less, the faults that are longest would have no place beside a stretch.
constexpr Duration kHealAtLeast = 2min;
/// What the end of a fault brings about, such as a new connection, is over by then.
constexpr Duration kPause = 2s;
constexpr int kRepeatedMax = 4;

Duration seconds_between(Dice& dice, Duration min, Duration max) {
    return std::chrono::seconds{dice.between(static_cast<int>(min / 1s), static_cast<int>(max / 1s))};
}

std::optional<Duration> duration_of_member(const Document& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) return {};
    const auto duration = engine::parse_duration(found->get_ref<const std::string&>());
    return duration ? std::optional(*duration) : std::nullopt;
}

/// Jobs that get their ids from the run.
bool may_come_again(const Document& line) {
    constexpr std::array kOthers{"garbage", "forge", "raw", "redis", "cancel", "approve", "workflow", "payload_bytes"};
    const auto is_in_line = [&line](const char* name) { return line.contains(name); };
    return std::ranges::none_of(kOthers, is_in_line) && !(line.contains("job") && line["job"].contains("job_id"));
}

}  // namespace

FaultFree::FaultFree(Dice& dice, Duration heal_at) : heal_at_(heal_at) {
    if (heal_at < kHealAtLeast) return;
    const int count = dice.chance(0.6) ? 1 : 2;
    const Duration share = heal_at / count;
    for (int i = 0; i < count; ++i) {
        const Duration length = seconds_between(dice, share / 4, share * 5 / 12);
        // Some time is left behind each.
        stretches_.push_back({i * share + seconds_between(dice, share / 4, share * 7 / 8 - length), length});
    }
}

Document FaultFree::document() const {
    Document out = Document::array();
    for (const Stretch& stretch : stretches_)
        out.push_back({{"at", engine::format_duration(stretch.at)}, {"for", engine::format_duration(stretch.length)}});
    return out;
}

void FaultFree::keep_out(Dice& dice, Document& fault) const {
    if (stretches_.empty()) return;
    const bool waits = fault.contains("on");
    std::size_t next = waits && dice.chance(0.3) ? 1 : 0;  // of the stretches
    Duration begin = duration_of_member(fault, "at").value_or(Duration{});
    if (!waits)
        while (next < stretches_.size() && stretches_[next].at <= begin + kPause) ++next;
    if (next > 0) begin = std::max(begin, stretches_[next - 1].at + stretches_[next - 1].length);
    if (!waits) fault["at"] = engine::format_duration(begin);
    const Duration end = (next < stretches_.size() ? stretches_[next].at : heal_at_) - kPause;
    // Half of the time is left to come to what it waits for.
    const Duration longest = waits ? (end - begin) / 2 : end - begin;
    const Duration length = std::min(duration_of_member(fault, "for").value_or(Duration{}), longest);
    if (fault.contains("for")) fault["for"] = engine::format_duration(length);
    if (!waits) return;
    if (next > 0) fault["on"]["after"] = engine::format_duration(begin);
    if (next < stretches_.size()) fault["on"]["until"] = engine::format_duration(end - length);
}

void FaultFree::repeat_load(Dice& dice, Document& load) const {
    std::vector<Stretch> waves = stretches_;
    waves.push_back({heal_at_ + kPause, 30s});
    const Document lines = load;
    for (const Stretch& wave : waves) {
        for (const Document& line : lines) {
            if (!may_come_again(line) || !dice.chance(0.5)) continue;
            Document again = line;
            again["at"] = engine::format_duration(wave.at + seconds_between(dice, 0s, wave.length / 3));
            again["count"] = dice.between(1, std::min(kRepeatedMax, line.value("count", 1)));
            load.push_back(std::move(again));
        }
    }
}

void leave_fault_free(std::uint64_t number, std::size_t of_themes, Document& scenario) {
    constexpr Duration kWithoutChaos = 3min;
    Dice dice(number, "fault-free");
    const auto chaos = scenario.find("chaos");
    const bool heals = chaos != scenario.end();
    const FaultFree stretches(dice,
                              heals ? duration_of_member(*chaos, "heal_at").value_or(kWithoutChaos) : kWithoutChaos);
    if (heals) (*chaos)["fault_free"] = stretches.document();
    Document& faults = scenario["faults"];
    for (std::size_t i = of_themes; i < faults.size(); ++i) stretches.keep_out(dice, faults[i]);
    stretches.repeat_load(dice, scenario["load"]);
}

}  // namespace lockstep::sim
