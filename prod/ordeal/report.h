// A judgement for people and for programs.
#pragma once

#include <string>

#include "prod/ordeal/judge.h"

namespace lockstep::prod::ordeal {

/// Every check with its count; of the cases as many as somebody reads.
[[nodiscard]] std::string as_text(const Ledger& ledger, const Verdict& verdict);
/// One JSON document, with every case.
[[nodiscard]] std::string as_json(const Ledger& ledger, const Verdict& verdict);

}  // namespace lockstep::prod::ordeal
