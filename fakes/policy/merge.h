// Policy fragments: named pieces in the config service, laid over the file.
#pragma once

#include <string>
#include <vector>

#include "fakes/policy/document.h"

namespace lockstep::fakes::policy {

/// Lays `fragment` over `base`: a rule takes the place of the one with its id, others go to the end of their list;
/// tenants are replaced by name. The base keeps its defaults and its version: a fragment adds rules, it does not
/// govern.
void merge(Document& base, Document fragment);

/// The snapshot of a file with fragments, `<file>|cfg:<hash of the fragments' texts>`; the file's own without any.
[[nodiscard]] std::string merged_snapshot_id(std::string file_snapshot, const std::vector<std::string>& fragments);

}  // namespace lockstep::fakes::policy
