#include "sim/model/letter_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 6> kNotAboutJobs{"poison:",       "undecodable:",  "saga-unmarshal-",
                                                        "saga-expired-", "saga-unknown-", "run:"};

struct TextField {
    const char* key;
    std::string LetterText::* member;
};
constexpr std::array kTexts{
    TextField{"job_id", &LetterText::id},        TextField{"topic", &LetterText::topic},
    TextField{"status", &LetterText::status},    TextField{"reason", &LetterText::reason},
    TextField{"reason_code", &LetterText::code}, TextField{"last_state", &LetterText::last_state},
};

/// RFC 3339 in UTC, with or without fractions of a second.
std::optional<std::chrono::seconds> time_of(std::string text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos) return seconds_of(text);
    const bool digits = text.ends_with('Z') && dot + 2 < text.size() &&
                        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(dot) + 1, text.end() - 1,
                                    [](char c) { return c >= '0' && c <= '9'; });
    return digits ? seconds_of(text.substr(0, dot) + "Z") : std::nullopt;
}

}  // namespace

tl::expected<LetterText, std::string> read_letter(std::string_view entry) {
    const Json json = engine::wire::read_json(entry);
    if (!json.is_object()) return tl::make_unexpected("is no JSON object");
    LetterText letter;
    for (const auto& [key, value] : json.items()) {
        const auto* const text =
            std::ranges::find_if(kTexts, [&key](const TextField& field) { return key == field.key; });
        if (text != kTexts.end()) {
            if (!value.is_string()) return tl::make_unexpected(fmt::format("has a {} that is no text", key));
            letter.*(text->member) = value.get<std::string>();
        } else if (key == "attempts") {
            if (!value.is_number_integer()) return tl::make_unexpected("has attempts that are no whole number");
            letter.attempts = value.get<std::int64_t>();
        } else if (key == "created_at") {
            const auto time = value.is_string() ? time_of(value.get<std::string>()) : std::nullopt;
            if (!time) return tl::make_unexpected("has a created_at that is no time in UTC");
            letter.created_at = *time;
        } else {
            return tl::make_unexpected(fmt::format("has a {}, which no letter has", key));
        }
    }
    if (letter.id.empty() || letter.created_at.count() == 0)
        return tl::make_unexpected("does not say whose it is, or when it was written");
    return letter;
}

bool about_a_job(std::string_view id) {
    return std::ranges::none_of(kNotAboutJobs, [id](std::string_view prefix) { return id.starts_with(prefix); });
}

}  // namespace lockstep::sim
