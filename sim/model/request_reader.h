// Reads requests as Redis stores them. Many rules read the same one, one after the other: it is parsed once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::sim {

class RequestReader {
public:
    /// Null for what is no request.
    [[nodiscard]] std::shared_ptr<const cap::JobRequest> read(std::string_view json) const;

private:
    struct Read {
        std::string json;
        std::shared_ptr<const cap::JobRequest> request;
    };
    static constexpr std::size_t kKept = 64;

    mutable std::array<Read, kKept> last_;  // by a sum of the text
};

}  // namespace lockstep::sim
