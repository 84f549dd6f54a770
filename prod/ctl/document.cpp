#include "prod/ctl/document.h"

#include "engine/wire/json_text.h"
#include "prod/observe/hidden_characters.h"

namespace lockstep::prod {

std::string document_line(nlohmann::json document) {
    document["schema_version"] = kOutputSchemaVersion;
    return json_text(document);
}

std::string json_text(const nlohmann::json& document, int indent) {
    return escape_hidden(engine::wire::json_text(document, indent)) + "\n";
}

}  // namespace lockstep::prod
