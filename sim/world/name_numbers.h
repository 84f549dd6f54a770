// Names by number: who keeps something of everybody who has a name can keep it by number.
//
// Numbers count from 1, in the order in which the names were met: the same in every run of the same scenario and seed.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lockstep::sim {

class NameNumbers {
public:
    using Number = std::uint32_t;

    /// Gives it one where it has none; 0 for no name.
    Number number_of(std::string_view name) {
        if (name.empty()) return 0;
        if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
        const auto number = static_cast<Number>(names_.size() + 1);
        numbers_.emplace(names_.emplace_back(name), number);
        return number;
    }
    /// REQUIRES: a number that was given, or 0, which is no name.
    [[nodiscard]] std::string_view name_of(Number number) const {
        return number == 0 ? std::string_view{} : std::string_view(names_[number - 1]);
    }
    /// 0: it has not been met.
    [[nodiscard]] Number find(std::string_view name) const {
        const auto found = numbers_.find(name);
        return found == numbers_.end() ? 0 : found->second;
    }

private:
    std::deque<std::string> names_;
    std::unordered_map<std::string_view, Number> numbers_;  // views the names; never iterated
};

}  // namespace lockstep::sim
