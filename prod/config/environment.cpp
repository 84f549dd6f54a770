#include "prod/config/environment.h"

#include <unistd.h>

namespace lockstep::prod {

Environment Environment::of_process() {
    Values values;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (equals != std::string_view::npos) values.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return Environment(std::move(values));
}

std::optional<std::string> Environment::get(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end() || found->second.empty()) return std::nullopt;
    return found->second;
}

std::string Environment::get_or(std::string_view name, std::string_view otherwise) const {
    auto value = get(name);
    return value ? std::move(*value) : std::string(otherwise);
}

void overrule(Environment::Values& values, const std::string& variable, const std::string& value) {
    values[variable] = value;
    values.erase(variable + "_FILE");
}

}  // namespace lockstep::prod
