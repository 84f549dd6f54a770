// What the codes of dead letters mean and what to do about each: the one table, which the page and the commands are made from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::prod {

struct ReasonCode {
    std::string_view code;
    std::string_view says;  // a sentence
    std::string_view mend;  // what to do about it, a sentence
    bool ours = true;  // written by a scheduler of ours; false: by workers, gateways and other implementations only
};

[[nodiscard]] std::span<const ReasonCode> reason_codes();
/// Null where the code is nobody's that is known: a worker may make up its own.
[[nodiscard]] const ReasonCode* find_reason_code(std::string_view code);

/// What the code means, what to do, and where that stands; also for one that is not known.
[[nodiscard]] std::string explain_reason_code(std::string_view code);

/// prod/deploy/dead_letters.md: a section for each code, under its name.
[[nodiscard]] std::string reason_codes_page();
/// [{code, says, mend}]
[[nodiscard]] nlohmann::json reason_codes_json();

}  // namespace lockstep::prod
