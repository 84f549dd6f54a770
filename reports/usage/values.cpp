// What options take for a value, beyond what the parser knows by itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "engine/expression/utf8.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"
#include "reports/usage/command.h"
#include "reports/usage/text_only.h"

namespace lockstep::usage {

namespace {

constexpr const char* kTextOnly = "text";

std::string mistake_in_text(const std::string& text) {
    const std::size_t at = engine::not_utf8(text);
    if (at == std::string_view::npos) return {};
    return fmt::format("expected UTF-8, and byte {} is 0x{:02x}", at + 1, static_cast<unsigned char>(text[at]));
}

}  // namespace

CLI::Option* text_only(CLI::Option* option) { return option->check(CLI::Validator(mistake_in_text, "", kTextOnly)); }

std::string identifier_mistake(std::string& text) {
    text = engine::wire::trim(text);
    if (std::string mistake = mistake_in_text(text); !mistake.empty()) return mistake;
    if (text.empty()) return "expected more than blanks";
    if (text.size() > engine::wire::kIdentifierMax)
        return fmt::format("expected at most {} bytes, got {}", engine::wire::kIdentifierMax, text.size());
    return {};
}

Option Option::bytes() const {
    option_->get_validator(kTextOnly)->active(false);
    return *this;
}

/// A transformation: what only checks is given a copy, and the blanks would stay.
Option Option::identifier() const { return Option(option_->transform(CLI::Validator(identifier_mistake, ""))); }

Option Option::real_range(double least, double most) const {
    // Not a number lies in no range, which a comparison with the bounds alone would not notice.
    const auto mistake = [least, most](const std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
        return fmt::format("expected a number from {} to {}, got {}", least, most, text);
    };
    return Option(option_->check(CLI::Validator(mistake, fmt::format("FLOAT in [{} - {}]", least, most))));
}

}  // namespace lockstep::usage
