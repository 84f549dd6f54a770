#include "sim/scenario/check_forged.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "fakes/gateway/load_plan.h"

namespace lockstep::sim::detail {

namespace {

/// Rule of NATS: tokens between dots, none of them empty or a wildcard.
bool is_subject(std::string_view text) {
    const bool plain =
        std::ranges::none_of(text, [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '*' || c == '>'; });
    return plain && !text.starts_with('.') && !text.ends_with('.') && text.find("..") == std::string_view::npos;
}

}  // namespace

void check_forged(const Load& line, const nlohmann::json& object, const std::string& at,
                  std::vector<Finding>& findings) {
    for (const char* key : {"topic", "payload_bytes"})
        if (member(object, key) != nullptr)
            findings.push_back({child(at, key), fmt::format("\"{}\" goes with submits only", key), false});
    if (member(object, "raw") != nullptr && member(object, "subject") == nullptr) {
        findings.push_back(
            {at, "expected \"subject\" beside \"raw\": nothing else says where the bytes belong", false});
    } else if (member(object, "subject") == nullptr) {
        // One that cannot be read has been refused already.
        if (engine::wire::from_json<cap::BusPacket>(line.packet_json) &&
            fakes::subject_of_forged(line.packet_json).empty())
            findings.push_back({at + "/forge",
                                "expected a packet with a payload, such as {\"heartbeat\": {...}} or "
                                "{\"job_result\": {...}}; or \"subject\" beside it",
                                false});
    } else if (!is_subject(line.subject)) {
        findings.push_back({at + "/subject",
                            fmt::format("expected a subject without wildcards and blanks, got \"{}\"", line.subject),
                            false});
    }
}

}  // namespace lockstep::sim::detail
