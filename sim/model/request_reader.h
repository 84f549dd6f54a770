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
    RequestReader();
    ~RequestReader();
    RequestReader(const RequestReader&) = delete;
    RequestReader& operator=(const RequestReader&) = delete;

    /// Null for what is no request. What it points to is valid until the next call.
    [[nodiscard]] const cap::JobRequest* read(std::string_view json) const;

private:
    struct Read;
    static constexpr std::size_t kKept = 64;

    mutable std::array<std::unique_ptr<Read>, kKept> last_;  // by a sum of the text
};

}  // namespace lockstep::sim
