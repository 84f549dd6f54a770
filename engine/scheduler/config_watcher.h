// Keeps the settings in force those of the configuration service (settings.md 4 and 5).
//
// 1. At start the service is told of the files (see config/start_document.h), then its settings are put in force, before the
//    first job is taken. From then on they are read again at every `config_reload_interval` and whenever somebody announces a
//    change; announcements that come together are one.
// 2. What cannot be read changes nothing: each part keeps its last good value, and the log says why. So does a store that is
//    away.
// 3. Pools that drain or are inactive are never routed to, whoever wrote them (C-53, H-31).
// 4. Limits that the service leaves at zero are the built-in ones, at once and on every replica (D-10).
// 5. A fail mode or a limit of the reconciler that the operator has pinned at start stays; another one is the service's, or else what
//    holds without it (C-19, D-27).
//
// What it changes is in Replica: `routing`, `timeouts`, and in `tunables` dispatch_timeout, running_timeout,
// policy_check_fail_mode, output_policy_fail_mode and output_policy_enabled. They are to be read where they are used.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "engine/config/overlay.h"
#include "engine/config/pinned_settings.h"
#include "engine/config/start_document.h"
#include "engine/config/timeouts.h"
#include "engine/runtime/wait.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

/// Told of a table whose pools may include such as drain.
using PoolsListener = std::function<void(const RoutingTable&)>;

/// What the files say that may change while the scheduler runs.
struct FileSettings {
    std::string pools_document;        // as JSON
    std::optional<Timeouts> timeouts;  // nothing: there is no such file
    Duration dispatch_timeout{};       // what holds where the service says nothing
    Duration running_timeout{};
};

[[nodiscard]] FileDocuments documents_of(const std::string& pools_document, const std::optional<Timeouts>& timeouts);

class ConfigWatcher final : public MessageSink {
public:
    /// `files` are what the service is told of. The replica outlives the watcher.
    /// `on_pools`, if any, is told of every table that is put in force, the start's included, as it was written.
    ConfigWatcher(Replica& replica, FileDocuments files, PinnedSettings pinned, PoolsListener on_pools = {});

    /// Listens for announcements, writes what the service lacks and puts its settings in force. Needs Redis, and waits for it
    /// for no longer than `kPatience`; the error is why it gave up. Starting again is allowed.
    [[nodiscard]] Task<tl::expected<void, std::string>> start();
    /// The files have been read again: the service is told of them, and what it says then is put in force, as at a start. Waits
    /// for Redis as `start` does; with an error everything stays as it was. REQUIRES: started.
    [[nodiscard]] Task<tl::expected<void, std::string>> adopt(FileSettings files);
    /// Reloads for ever. REQUIRES: started.
    [[nodiscard]] Task<void> run();
    /// Called with every version of the document that can be read. Before `start`.
    void set_listener(std::function<void(const std::string& document)> listener) { listener_ = std::move(listener); }
    /// Listens no longer.
    void stop() { announcements_.reset(); }

    static constexpr Duration kPatience = std::chrono::seconds{10};

private:
    /// Any packet will do (wire.md 2.1).
    void on_message(std::string_view subject, std::string_view payload) override;

    [[nodiscard]] Task<tl::expected<void, std::string>> set_up();
    [[nodiscard]] Task<Outcome<std::string>> read();
    /// Writes the start document over `stored`. False when the attempt has to be repeated with what is stored by then.
    [[nodiscard]] Task<bool> introduce_files(std::string stored);
    [[nodiscard]] Task<void> reload();

    void apply(const std::string& document);
    [[nodiscard]] bool apply_pools(const Overlay& overlay);
    [[nodiscard]] bool apply_timeouts(const Overlay& overlay);
    [[nodiscard]] bool apply_modes(const Overlay& overlay);
    void refuse(std::string_view why);

    /// Until it succeeds or `kPatience` is over.
    [[nodiscard]] Task<tl::expected<void, std::string>> set_up_patiently();
    void tell_of_overruled();

    Replica& replica_;
    FileDocuments files_;
    const PinnedSettings pinned_;
    const PoolsListener on_pools_;
    Tunables at_start_;  // the reconciler's limits are those of the files
    Timeouts file_timeouts_;
    std::string pools_in_force_;     // fingerprint; empty: those of the file, never confirmed
    std::string timeouts_in_force_;  // fingerprint
    std::string last_document_;      // as read
    std::function<void(const std::string&)> listener_;
    Event changed_;
    std::unique_ptr<Subscription> announcements_;
    bool started_ = false;
};

}  // namespace lockstep::engine
