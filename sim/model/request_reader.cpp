#include "sim/model/request_reader.h"

#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::sim {

std::shared_ptr<const cap::JobRequest> RequestReader::read(std::string_view json) const {
    return last_.of(json, [](std::string_view text) {
        auto request = std::make_shared<cap::JobRequest>();
        return engine::wire::parse_json(text, *request) ? request : nullptr;
    });
}

}  // namespace lockstep::sim
