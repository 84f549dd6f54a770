// The bytes that an ordeal submits: jobs whose content can be told again from their names, and messages that nobody should
// send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fakes/rng.h"
#include "prod/ordeal/ledger.h"

namespace lockstep::prod::ordeal {

/// The variable in the environment of a request whose text is `content_of` its job.
inline constexpr const char* kContentVariable = "ORDEAL_CONTENT";

/// Text of this length that no other job has.
[[nodiscard]] std::string content_of(std::string_view job, std::size_t size);

/// Where a text differs from the content that a job was submitted with; empty when it does not.
[[nodiscard]] std::string fault_of_content(std::string_view found, std::string_view job, std::size_t size);

[[nodiscard]] std::string submit_packet(const std::string& job, const std::string& topic, const Submission& submission);
[[nodiscard]] std::string cancel_packet(const std::string& job);
/// A worker's word that the job has failed, or what else the status says.
[[nodiscard]] std::string result_packet(const std::string& job, const std::string& worker, bool succeeded);
/// The tenants of honest and of hostile jobs.
inline constexpr const char* kTenant = "ordeal";
inline constexpr const char* kHostileTenant = "mallory";
/// A job of the hostile tenant, with this context pointer.
[[nodiscard]] std::string hostile_packet(const std::string& job, const std::string& topic, const std::string& pointer);
[[nodiscard]] std::string heartbeat_packet(const std::string& worker, const std::string& pool, int active_jobs);
/// Bytes that are no packet.
[[nodiscard]] std::string garbage(fakes::Rng& rng);
/// A sound packet about no job of the ordeal, with values that nobody should send.
[[nodiscard]] std::string nonsense(fakes::Rng& rng);

struct HeardResult {
    std::string job;
    std::string worker;
    std::string status;  // a state's name; empty for a report of progress
    bool may_be_tried_again = false;
};
/// Nothing when it is no result.
[[nodiscard]] std::optional<HeardResult> parse_result(std::string_view packet);

struct HeardRequest {
    std::string job;
    std::string content;
};
[[nodiscard]] std::optional<HeardRequest> parse_request(std::string_view packet);

}  // namespace lockstep::prod::ordeal
