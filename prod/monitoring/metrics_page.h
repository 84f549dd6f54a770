// The reference page of all series, in Markdown.
#pragma once

#include <string>

namespace lockstep::prod {

[[nodiscard]] std::string metrics_page();

}  // namespace lockstep::prod
