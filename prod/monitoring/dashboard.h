// A Grafana dashboard of all series, made from their table.
//
// 1. Its data source is a variable, and it has no id of its own: it can be imported anywhere, more than once (O14).
// 2. Rows for what people look at first; whatever series none of them shows has a panel in the last one.
#pragma once

#include <string>
#include <vector>

namespace lockstep::prod {

/// In JSON.
[[nodiscard]] std::string dashboard();
/// Every expression in it. `$pod` and `$__rate_interval` are Grafana's to fill in.
[[nodiscard]] std::vector<std::string> dashboard_expressions();

}  // namespace lockstep::prod
