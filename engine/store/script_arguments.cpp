#include "engine/store/script_arguments.h"

#include <algorithm>
#include <iterator>

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"

namespace lockstep::engine {

static_assert(std::ranges::is_sorted(kScriptArguments), "they are looked up by bisection");

ScriptArguments& ScriptArguments::text(std::string_view name, std::string value) {
    PRECONDITION(std::ranges::binary_search(names_, name), "no script has an argument {}", name);
    if (value.empty()) return *this;
    named_.emplace_back(name);
    named_.push_back(std::move(value));
    return *this;
}

ScriptArguments& ScriptArguments::number(std::string_view name, std::int64_t value) {
    return text(name, value == 0 ? std::string{} : std::to_string(value));
}

ScriptArguments& ScriptArguments::number_or_zero(std::string_view name, std::int64_t value) {
    return text(name, std::to_string(value));
}

ScriptArguments& ScriptArguments::duration(std::string_view name, Duration value) {
    return text(name, value == Duration{0} ? std::string{} : millis(value));
}

ScriptArguments& ScriptArguments::duration_or_zero(std::string_view name, Duration value) {
    return text(name, millis(value));
}

ScriptArguments& ScriptArguments::flag(std::string_view name, bool given) {
    return text(name, given ? std::string("1") : std::string{});
}

std::vector<std::string> ScriptArguments::argv(std::vector<std::string> in_order) && {
    INVARIANT(named_.size() % 2 == 1, "{} words are no pairs behind their number", named_.size());
    named_.front() = std::to_string((named_.size() - 1) / 2);
    named_.insert(named_.end(), std::make_move_iterator(in_order.begin()), std::make_move_iterator(in_order.end()));
    return std::move(named_);
}

}  // namespace lockstep::engine
