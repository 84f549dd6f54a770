// A run as it is stored (workflow.md 4): the JSON document under `wf:run:<run>`, with names for its members.
//
// 1. Members that nobody here knows stay as they are, so that others who keep more in the document lose nothing.
// 2. Members at their default are left out when they are written.
// 3. Children of a step stand twice: under their own keys in `steps`, which is what counts here, and as copies in their parent's
//    `children` (`mirror_children`).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/runtime/time.h"

namespace lockstep::engine {

enum class RunStatus : std::uint8_t { pending, running, waiting, succeeded, failed, denied, cancelled, timed_out };
enum class StepStatus : std::uint8_t {
    pending,
    running,
    waiting,
    succeeded,
    failed,
    denied,
    cancelled,
    timed_out,
    skipped
};

[[nodiscard]] std::string_view to_string(RunStatus status);
[[nodiscard]] std::string_view to_string(StepStatus status);
[[nodiscard]] std::optional<RunStatus> parse_run_status(std::string_view text);
[[nodiscard]] constexpr bool is_final(RunStatus status) { return status > RunStatus::waiting; }
/// Skipped steps are neither final nor pending: nothing becomes of them.
[[nodiscard]] constexpr bool is_final(StepStatus status) {
    return status > StepStatus::waiting && status != StepStatus::skipped;
}
[[nodiscard]] constexpr bool is_open(StepStatus status) { return status <= StepStatus::waiting; }

/// One step of a run: a view into its document, valid for as long as that is; other steps may come meanwhile.
class StepRun {
public:
    StepRun(nlohmann::json& object, std::string key) : object_(&object), key_(std::move(key)) {}

    /// As in `steps`: the step's id, or `<step>[<index>]`.
    [[nodiscard]] const std::string& key() const { return key_; }
    [[nodiscard]] StepStatus status() const;
    [[nodiscard]] std::string job_id() const;
    [[nodiscard]] std::int64_t attempts() const;
    /// When it is due: a delay that waits, or the next try after a failure. Nothing where none is set, or it cannot be read.
    [[nodiscard]] std::optional<WallTime> next_attempt_at() const;
    [[nodiscard]] std::optional<WallTime> started_at() const;
    [[nodiscard]] std::string skip_reason() const;
    [[nodiscard]] bool has_input_error() const;
    /// Null for a member that is not there.
    [[nodiscard]] const nlohmann::json& member(std::string_view name) const;

    void set_status(StepStatus status);
    /// Running or waiting, from `at` on, as the attempt after the last one.
    void begin(StepStatus status, WallTime at);
    /// A final status at `at`; what was due is due no more.
    void end(StepStatus status, WallTime at);
    void set_job_id(std::string job);
    void set_next_attempt_at(std::optional<WallTime> at);
    /// An empty code: none.
    void set_error(std::string message, std::string_view code = {});
    void set(std::string_view name, nlohmann::json value);
    void erase(std::string_view name);

private:
    nlohmann::json* object_;
    std::string key_;
};

class RunDocument {
public:
    /// The error says what the text is not.
    [[nodiscard]] static tl::expected<RunDocument, std::string> parse(std::string_view text);
    /// REQUIRES: an object.
    explicit RunDocument(nlohmann::json document);

    [[nodiscard]] std::string id() const { return text("id"); }
    [[nodiscard]] std::string workflow() const { return text("workflow_id"); }
    [[nodiscard]] std::string org() const { return text("org_id"); }
    [[nodiscard]] std::string team() const { return text("team_id"); }
    [[nodiscard]] RunStatus status() const;
    [[nodiscard]] std::optional<WallTime> started_at() const;
    [[nodiscard]] std::optional<WallTime> created_at() const;
    /// From when on its time limit counts: its start, or when it was tried again last. Nothing for a run that has not begun.
    [[nodiscard]] std::optional<WallTime> limit_counts_from() const;
    [[nodiscard]] bool dry_run() const;
    [[nodiscard]] std::string text(std::string_view name) const;
    /// Null for a member that is not there.
    [[nodiscard]] const nlohmann::json& member(std::string_view name) const;
    void set(std::string_view name, nlohmann::json value);
    void erase(std::string_view name);

    /// Notes in `metadata.retried_at` that it was tried again.
    void mark_retried(WallTime at);
    /// Sets it, and when it began or ended.
    void set_status(RunStatus status, WallTime at);
    void set_error(std::string message);

    /// What expressions see: input, ctx, steps. A copy.
    [[nodiscard]] nlohmann::json scope() const;
    /// `context`, made if it is not there.
    [[nodiscard]] nlohmann::json& context();
    /// Writes at a dotted path in `context`, making objects on the way. False where something else than an object stands there.
    bool write_context(std::string_view path, nlohmann::json value);
    bool erase_context(std::string_view path);

    /// The step's own record, made pending if it is not there.
    [[nodiscard]] StepRun step(const std::string& key);
    /// Nothing when there is none.
    [[nodiscard]] std::optional<StepRun> find_step(const std::string& key);
    /// In the order of the alphabet.
    [[nodiscard]] std::vector<std::string> step_keys() const;

    void mirror_children(const std::string& parent, const std::vector<std::string>& keys);

    /// Compact, keys sorted by their bytes.
    [[nodiscard]] std::string write() const;

    /// How many records of steps have been looked up so far: the work of planning, as a number.
    [[nodiscard]] std::size_t looked_up() const { return looked_up_; }

private:
    nlohmann::json document_;
    std::size_t looked_up_ = 0;
};

/// Writes at a dotted path in an object, making objects on the way. False where something else than an object stands there.
bool write_at(nlohmann::json& object, std::string_view path, nlohmann::json value);
bool erase_at(nlohmann::json& object, std::string_view path);

/// The member at a dotted path; null where the way there ends. Numbers index lists.
[[nodiscard]] const nlohmann::json& at_path(const nlohmann::json& value, std::string_view path);

}  // namespace lockstep::engine
