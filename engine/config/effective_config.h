// The settings that hold for one job: the documents of the config service for the system and for the job's tenant, team,
// workflow and step, merged, the narrower one winning (settings.md 4; wire.md 8, step 7). Team, workflow and step
// are whatever the submitter has named: they can only tighten what those above them say about safety (see tightening.h).
//
// The documents are read afresh for every try, in the same script that takes the job's lock: a change counts from the next
// job on and costs no round trip. What is remembered is the merge of texts that have been merged before, and the last
// readable copy of each document: one that cannot be read neither opens what it denied nor stops everybody.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// The keys of the documents that concern a request, the widest first: those of the system and of the tenant, and then those
/// that the submitter has chosen.
[[nodiscard]] std::vector<std::string> config_documents_of(const cap::JobRequest& request);

struct MergedSettings {
    /// As JSON with sorted keys; empty when there are no settings. Nothing: a document cannot be read, and no copy is known.
    std::optional<std::string> json = std::string{};
    std::vector<std::string>
        unreadable;                   // keys of documents that cannot be read, whether a copy stands in for them or not
    std::vector<std::string> untold;  // those of them whose present text is met for the first time
};

class EffectiveConfig {
public:
    /// Whether the layers that a submitter chooses are bound by those above. Off: of anything but objects the later one wins.
    explicit EffectiveConfig(bool tightening = true) : tightening_(tightening) {}

    /// Merges the `data` of the documents under these keys. Objects merge, of anything else the later one wins; an empty text is
    /// a document that does not exist.
    [[nodiscard]] MergedSettings merge(const std::vector<std::string>& keys, std::vector<std::string> documents);

    /// Somebody else of this replica has read a document: a copy to fall back on, should it break before a job needs it.
    void note_readable(const std::string& key, const std::string& document);

private:
    /// Puts the last readable copy in the place of a document that cannot be read. False: there is none.
    [[nodiscard]] bool make_readable(const std::string& key, std::string& document, MergedSettings& told);
    [[nodiscard]] std::string merged(const std::vector<std::string>& documents) const;

    bool tightening_;
    std::map<std::vector<std::string>, std::string> merged_;  // by the texts
    std::map<std::string, std::string> good_, bad_;  // by key: the last text that could be read, and that could not
};

}  // namespace lockstep::engine
