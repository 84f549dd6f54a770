#include "prod/monitoring/files.h"

#include "prod/monitoring/alerts.h"
#include "prod/monitoring/dashboard.h"
#include "prod/monitoring/metrics_page.h"

namespace lockstep::prod {

std::vector<MonitoringFile> monitoring_files() {
    return {{"prod/observe/metrics.md", metrics_page()},
            {"prod/deploy/prometheus/lockstep.rules.yml", alert_rules()},
            {"prod/deploy/grafana/lockstep.json", dashboard()}};
}

}  // namespace lockstep::prod
