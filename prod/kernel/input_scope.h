// `match.scope` of an input rule: what a job is told to do in words, held against the list of things that its input would do. The
// rule fires when something on the list is of a kind that the instruction does not cover.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fakes/policy/tree_reader.h"

namespace lockstep::prod {

/// Names and categories are compared without regard to case; `-`, `_` and a blank are the same.
struct InputScope {
    std::string instruction_path, items_path;  // into the JSON of the input, member by member with dots between
    std::string category_path = "category";    // a member of each item
    std::string name_path = "name";            // another one, for the reason
    /// By a word of the instruction: the categories that it covers; an empty list covers all.
    std::map<std::string, std::vector<std::string>> allowed_categories;
    std::map<std::string, std::string> aliases;  // other names of categories
    bool fires_without_input = true;             // on_missing_input: deny
    bool fires_when_ambiguous = true;            // on_ambiguous: deny
};

/// `path` is the place of `node` in its document, for the mistakes that are added to `errors`.
[[nodiscard]] InputScope read_scope(const nlohmann::json& node, const std::string& path,
                                    fakes::policy::ParseErrors& errors);

/// Why the rule fires, at most a few hundred characters; nothing when it does not. An input that is no JSON object, or lacks the
/// instruction or the items, is a missing one; the instruction is ambiguous when it holds no word of `allowed_categories`, and of
/// several the longest counts.
[[nodiscard]] std::optional<std::string> violation(const InputScope& scope, std::string_view input);

}  // namespace lockstep::prod
