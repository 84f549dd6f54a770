// Environment variables, read once. A value of its own instead of getenv at the point of use, so that what a process was
// told is known as a whole: unknown names can be refused, and tests pass their own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::prod {

class Environment {
public:
    using Values = std::map<std::string, std::string, std::less<>>;

    explicit Environment(Values values) : values_(std::move(values)) {}
    [[nodiscard]] static Environment of_process();

    /// Nothing for a variable that is unset or empty: no variable of ours has a meaning for the empty text.
    [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
    [[nodiscard]] std::string get_or(std::string_view name, std::string_view otherwise) const;
    [[nodiscard]] const Values& all() const { return values_; }

private:
    Values values_;
};

/// What a command line says instead of a variable, and instead of the file that would hold its value.
void overrule(Environment::Values& values, const std::string& variable, const std::string& value);

}  // namespace lockstep::prod
