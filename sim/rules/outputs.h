// The register of outputs: each part of what schedulers and workflow engines write and send, with the invariants that notice when it is
// wrong, as `lockstep outputs` has found them, or the reason why nobody can say what it is to be. It stands in outputs.txt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sim {

struct RegisteredOutput {
    std::string_view name;      // such as `job:meta:* state`
    std::string_view judged;    // `changed=records_true dropped=-`, and so on; `-`: nobody notices
    std::string_view opaque{};  // why it is not judged; empty: it is

    /// Whether an invariant notices when it is wrong in this way, such as `changed`.
    [[nodiscard]] bool is_noticed(std::string_view how) const;
};

/// By name.
[[nodiscard]] std::span<const RegisteredOutput> registered_outputs();
/// That of this name, or else the nearest one that covers it, such as `worker.*.jobs job_request.*`. Null: there is none.
[[nodiscard]] const RegisteredOutput* find_output(std::string_view name);
/// Each line is `name<TAB>judged` or `name<TAB>opaque: why`; views into the text.
[[nodiscard]] std::vector<RegisteredOutput> read_register(std::string_view text);

}  // namespace lockstep::sim
