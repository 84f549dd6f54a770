// Members of JSON objects that others have written.
#pragma once

#include <string>

namespace lockstep::engine::wire {

/// Empty where there is none, or one of another type. REQUIRES: an object, or anything else that `find` looks through in vain.
template <class Json>
[[nodiscard]] std::string text_member(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->template get<std::string>() : std::string{};
}

}  // namespace lockstep::engine::wire
