#include "sim/model/request_reader.h"

#include <functional>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::sim {

std::shared_ptr<const cap::JobRequest> RequestReader::read(std::string_view json) const {
    Read& last = last_[std::hash<std::string_view>{}(json) % kKept];
    if (last.json != json) {
        auto request = std::make_shared<cap::JobRequest>();
        const bool is_one = engine::wire::parse_json(json, *request).has_value();
        last = {std::string(json), is_one ? std::move(request) : nullptr};
    }
    return last.request;
}

}  // namespace lockstep::sim
