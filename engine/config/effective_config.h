// The settings that hold for one job: the documents of the config service for the system and for the job's tenant, team,
// workflow and step, merged, the narrower one winning (spec: config, section 3; wire, section 8 step 7).
//
// The documents are read afresh for every try, in the same script that takes the job's lock: a change counts from the next
// job on and costs no round trip. What is remembered is only the merge of texts that have been merged before.
#pragma once

#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// Where the merged settings go with a request, as JSON. Neither stored nor part of the job's hash.
inline constexpr const char* kEffectiveConfigEnv = "CORDUM_EFFECTIVE_CONFIG";

/// The keys of the documents that concern a request, the widest first.
[[nodiscard]] std::vector<std::string> config_documents_of(const cap::JobRequest& request);

class EffectiveConfig {
public:
    /// The merged `data` of the documents as JSON with sorted keys; empty when there are no settings. Objects merge, of
    /// anything else the later one wins; an empty text is a document that does not exist. The error names the one that
    /// cannot be read.
    [[nodiscard]] tl::expected<std::string, std::string> merge(const std::vector<std::string>& documents);

private:
    std::map<std::vector<std::string>, std::string> merged_;  // by the texts
};

}  // namespace lockstep::engine
