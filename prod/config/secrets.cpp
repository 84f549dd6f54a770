#include "prod/config/secrets.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "prod/config/variables.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {

namespace {

constexpr std::string_view kFileSuffix = "_FILE";
/// Addresses, passwords and seeds are short; a file that is longer was not meant.
constexpr std::size_t kSecretBytesMax = 64 * 1024;

std::string without_line_break(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

class SecretReader {
public:
    explicit SecretReader(const Environment& environment) : env_(environment), values_(environment.all()) {
        if (const auto folder = env_.get("CREDENTIALS_DIRECTORY")) credentials_ = *folder;
    }

    Secrets read() {
        for (const Variable& one : variable_table()) {
            if (!may_stand_in_file(one)) continue;
            const std::string_view variable = one.name;
            const std::string naming = std::string(variable) + std::string(kFileSuffix);
            if (const auto file = env_.get(naming)) take_content(variable, naming, *file);
            if (const auto file = credential(variable)) take_content(variable, "a credential of that name", *file);
            values_.erase(naming);
        }
        for (const Variable& one : variable_table()) {
            if (one.kind != VariableKind::path) continue;
            if (const auto file = credential(one.name); file && is_free(one.name, "a credential of that name"))
                put(one.name, *file, *file);
        }
        return {Environment(std::move(values_)), std::move(files_), std::move(mistakes_)};
    }

private:
    std::optional<std::string> credential(std::string_view variable) const {
        if (credentials_.empty()) return std::nullopt;
        const std::filesystem::path file = credentials_ / variable;
        std::error_code unknown;
        if (!std::filesystem::exists(file, unknown)) return std::nullopt;
        return file.string();
    }

    bool is_free(std::string_view variable, std::string_view also) {
        const auto known = files_.find(variable);
        if (known == files_.end() && !env_.get(variable)) return true;
        mistakes_.push_back(fmt::format("{}: {} says it, and so does {}; keep one of them", variable,
                                        known == files_.end() ? "the environment" : known->second, also));
        return false;
    }

    void take_content(std::string_view variable, std::string_view source, const std::string& file) {
        if (!is_free(variable, source)) return;
        auto text = read_file(file, kSecretBytesMax);
        if (!text) {
            mistakes_.push_back(fmt::format("{}: {}: {}", variable, source, text.error()));
            return;
        }
        std::string value = without_line_break(std::move(*text));
        if (value.empty())
            mistakes_.push_back(fmt::format("{}: {}: {} is empty; write the value into it", variable, source, file));
        else if (value.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
            mistakes_.push_back(fmt::format("{}: {}: {} holds more than one line", variable, source, file));
        else
            put(variable, file, std::move(value));
    }

    void put(std::string_view variable, const std::string& file, std::string value) {
        values_[std::string(variable)] = std::move(value);
        files_.emplace(variable, file);
    }

    const Environment& env_;
    Environment::Values values_;
    std::filesystem::path credentials_;  // empty: no service manager gave us any
    std::map<std::string, std::string, std::less<>> files_;
    std::vector<std::string> mistakes_;
};

}  // namespace

Secrets read_secrets(const Environment& environment) { return SecretReader(environment).read(); }

bool names_secret_file(std::string_view variable) {
    if (!variable.ends_with(kFileSuffix)) return false;
    variable.remove_suffix(kFileSuffix.size());
    const Variable* stands_for = find_variable(variable);
    return stands_for != nullptr && may_stand_in_file(*stands_for);
}

}  // namespace lockstep::prod
