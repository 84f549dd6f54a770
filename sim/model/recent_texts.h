// What was made of the texts that were asked for last. Many rules ask for the same one, one after the other: it is made once.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::sim {

template <class Value, std::size_t kKept>
class RecentTexts {
public:
    /// `make(text)`, unless it is still known. Valid until the next call.
    template <class Make>
    const Value& of(std::string_view text, const Make& make) {
        Known& known = last_[std::hash<std::string_view>{}(text) % kKept];
        if (!known.value || known.text != text) {
            known.value = make(text);
            known.text = text;
        }
        return *known.value;
    }

private:
    struct Known {
        std::string text;
        std::optional<Value> value;
    };

    std::array<Known, kKept> last_;
};

}  // namespace lockstep::sim
