// Values of variables, checked by what the table says of each (variables.h). A value that is refused leaves its target as it is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/time.h"
#include "prod/config/environment.h"

namespace lockstep::prod {

/// 1, true, yes, y, on in any case; everything else is false, as the documented variables have it.
[[nodiscard]] bool is_true(std::string_view text);
/// Nothing for a word that is neither yes nor no.
[[nodiscard]] std::optional<bool> truth_of(std::string_view text);

class ValueReader {
public:
    /// The environment outlives it.
    explicit ValueReader(const Environment& environment) : env_(environment) {}

    /// A line each, with the variable and what was expected.
    std::vector<std::string> mistakes;

protected:
    void mistake(std::string text) { mistakes.push_back(std::move(text)); }

    /// From the shortest of its row to ten years: zero may be a life of nothing, or a loop without a pause.
    void duration(std::string_view name, engine::Duration& target);
    /// Whatever its bounds.
    std::optional<std::int64_t> whole(std::string_view name);
    /// Within the bounds of its row, and of its tunable where the row has no upper one.
    void count(std::string_view name, std::int64_t& target);
    /// Of two variables for one span the one that takes a duration wins over the one that counts seconds.
    void span(std::string_view seconds_name, std::string_view duration_name, engine::Duration& target);
    /// One of its row's words, in any letters; `expected` lists them for people.
    std::string word(std::string_view name, std::string_view expected);
    bool flag(std::string_view name);
    bool given(std::initializer_list<std::string_view> names) const;

    const Environment& env_;

private:
    std::set<std::string> refused_flags_;  // each is told once
};

}  // namespace lockstep::prod
