// What is checked on an incoming packet before any state is touched. A packet that fails is logged, counted,
// acknowledged and dropped: sending it again would not mend it. Requests that come back from the store are checked as well, since
// others write there, too; so are those that a workflow engine is about to submit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// Most entries in meta.risk_tags, meta.requires and labels; largest token budget. Both are limits of the protocol.
inline constexpr int kEntriesMax = 1000;
inline constexpr std::int64_t kTokensMax = 10'000'000'000;
/// Bytes of an identifier (job, topic, tenant, the name of a label), and of a label's value. No legal use comes near; keys, series
/// and log lines are made of them.
inline constexpr std::size_t kIdentifierMax = 1024;
inline constexpr std::size_t kLabelMax = 16'384;

/// The tenant of jobs that name none.
inline constexpr std::string_view kDefaultTenant = "default";

/// Why the packet must be dropped, for the log; nothing when it is sound.
[[nodiscard]] std::optional<std::string> rejection(const cap::JobRequest& request);
[[nodiscard]] std::optional<std::string> rejection(const cap::JobResult& result);
/// The two parts of a request's rejection: what no job can have, and fields that name another tenant than the tenant rule
/// does (D-06).
[[nodiscard]] std::optional<std::string> malformation(const cap::JobRequest& request);
[[nodiscard]] std::optional<std::string> tenant_conflict(const cap::JobRequest& request);

/// The tenant rule: the field, else the environment's `tenant_id`, else the default tenant; blanks around it do not count. It
/// holds for everything that is kept, asked, counted or read for a job.
/// The result points into the request or to a constant.
[[nodiscard]] std::string_view tenant_of(const cap::JobRequest& request);
/// The tenant that a text names, without the blanks around it; within the argument, or the default one.
[[nodiscard]] std::string_view tenant_or_default(std::string_view tenant);

/// The time that a request gives its job from its submission on; zero: any. Beyond ten years counts as ten years.
[[nodiscard]] Duration deadline_of(const cap::JobRequest& request);

/// Trims job id and topic in place, as the request path does once a request is sound. Either may become empty by it.
void trim_identity(cap::JobRequest& request);

}  // namespace lockstep::engine::wire
