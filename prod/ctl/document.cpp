#include "prod/ctl/document.h"

namespace lockstep::prod {

std::string document_line(nlohmann::json document) {
    document["schema_version"] = kOutputSchemaVersion;
    return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::prod
