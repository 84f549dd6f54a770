#include "sim/model/request_reader.h"

#include <functional>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::sim {

struct RequestReader::Read {
    std::string json;
    decltype(engine::wire::from_json<cap::JobRequest>(std::string_view{})) request;
};

RequestReader::RequestReader() = default;
RequestReader::~RequestReader() = default;

const cap::JobRequest* RequestReader::read(std::string_view json) const {
    std::unique_ptr<Read>& last = last_[std::hash<std::string_view>{}(json) % kKept];
    if (!last || last->json != json)
        last = std::make_unique<Read>(Read{std::string(json), engine::wire::from_json<cap::JobRequest>(json)});
    return last->request ? &*last->request : nullptr;
}

}  // namespace lockstep::sim
