// The files of the repository that are made from the table of series.
#pragma once

#include <string>
#include <vector>

namespace lockstep::prod {

struct MonitoringFile {
    std::string path;  // from the root of the repository
    std::string content;
};

[[nodiscard]] std::vector<MonitoringFile> monitoring_files();

}  // namespace lockstep::prod
