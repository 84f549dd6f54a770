// Reads requests as Redis stores them. Many rules read the same one, one after the other: it is parsed once.
#pragma once

#include <memory>
#include <string_view>

#include "engine/wire/fwd.h"
#include "sim/model/recent_texts.h"

namespace lockstep::sim {

class RequestReader {
public:
    /// Null for what is no request.
    [[nodiscard]] std::shared_ptr<const cap::JobRequest> read(std::string_view json) const;

private:
    mutable RecentTexts<std::shared_ptr<const cap::JobRequest>, 64> last_;
};

}  // namespace lockstep::sim
