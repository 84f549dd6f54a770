// The steps of a run in the order in which a person reads them: behind what they wait for, children below their parents.
//
// Documents and definitions may be written by others and hold anything; something comes of each.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::prod {

struct OutlinedStep {
    std::string key;                                   // as in the run's `steps`
    nlohmann::json record = nlohmann::json::object();  // empty: the step has not begun
    std::vector<std::string> after;                    // what it waits for
    int rank = 0;                                      // 0: it waits for nothing; else behind all that it waits for
    /// Of it and of each of its parents, the outermost first: whether it is the last of its brothers. One for a step of the run.
    std::vector<bool> last;

    [[nodiscard]] std::size_t depth() const { return last.size() - 1; }
};

/// `definition` is null where it is not known.
[[nodiscard]] std::vector<OutlinedStep> outline(const nlohmann::json& run, const nlohmann::json& definition);

/// The text at a dotted path; empty where something else stands there.
[[nodiscard]] std::string text_at(const nlohmann::json& object, std::string_view path);

}  // namespace lockstep::prod
