#include "prod/ctl/document.h"

#include "prod/observe/hidden_characters.h"

namespace lockstep::prod {

std::string document_line(nlohmann::json document) {
    document["schema_version"] = kOutputSchemaVersion;
    return json_text(document);
}

std::string json_text(const nlohmann::json& document, int indent) {
    return escape_hidden(document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

}  // namespace lockstep::prod
