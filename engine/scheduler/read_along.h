// What taking up a job reads along in the same round trip: how the circuit in front of policy stands, and the settings
// that hold for the job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/config/effective_config.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

class ReadAlong {
public:
    ReadAlong(const Replica& replica, const cap::JobRequest& request);

    [[nodiscard]] std::vector<std::string> keys() const;
    /// Nothing when nothing was read.
    [[nodiscard]] std::optional<CircuitGlimpse> circuit(const JobFacts& facts) const;
    /// The settings documents that were read.
    [[nodiscard]] std::vector<std::string> documents(const JobFacts& facts) const;
    /// Whether they are those of this request too.
    [[nodiscard]] bool concerns(const cap::JobRequest& request) const {
        return config_documents_of(request) == documents_;
    }

private:
    const std::vector<std::string>& circuit_keys_;
    std::vector<std::string> documents_;
};

/// What came of looking for a job's settings.
struct SettingsFound {
    enum class Kind : std::uint8_t {
        attached,    // where there are any
        store_away,  // nobody knows what they are
        unreadable,  // a document is no JSON object, and this replica has no good copy of it
    };
    Kind kind = Kind::attached;
    std::string document;  // the key of the one that cannot be read
};

/// Attaches the settings to a request that is to be judged and sent. Without them it must go nowhere: they may forbid it (
/// D-14).
[[nodiscard]] Task<SettingsFound> attach_effective_config(Replica& replica, EffectiveConfig& merger,
                                                          const ReadAlong& along, const JobFacts& facts,
                                                          cap::JobRequest& request);

}  // namespace lockstep::engine
