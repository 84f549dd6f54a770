// The alert rules for Prometheus, made from the table of series (prod/observe/series.h), so that a rule can only ask for what there
// is. Symptoms come first; then what the runbooks of prod/deploy/alerts.md are about.
#pragma once

#include <string>
#include <vector>

namespace lockstep::prod {

struct Alert {
    std::string name;
    std::string expression;
    std::string pending_for;  // how long it has to hold
    std::string severity;     // critical: somebody is woken; warning: somebody looks today
    std::string summary;
};

/// The page that says what to do, from the root of the repository.
inline constexpr const char* kAlertsPage = "prod/deploy/alerts.md";
/// The annotation `runbook_url` is the URL of that page, with the alert's place in it: the one that Prometheus' external label of this
/// name says, else where the package puts the page.
inline constexpr const char* kRunbookLabel = "lockstep_runbooks";
inline constexpr const char* kRunbookPage = "file:///usr/share/lockstep/examples/alerts.md";

[[nodiscard]] std::vector<Alert> alerts();
/// Of the alert's heading in that page.
[[nodiscard]] std::string anchor(const Alert& alert);
/// The rules file, in YAML.
[[nodiscard]] std::string alert_rules();

}  // namespace lockstep::prod
