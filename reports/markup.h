// Text that comes from a run, in the markup of a page.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::reports {

/// As content of an element or of an attribute in double quotes: never markup, nor one of the places that a page is put together by.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace lockstep::reports
