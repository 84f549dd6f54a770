// What a consumer remembers of a message of the stream (redis-schema.md 8), as the scripts need it. The first thing that a handler
// asks of the store also asks whether the message has been handled before, and its last commit also says that it has been now:
// one call each, so that no crash comes between a job's step and the mark of the message that asked for it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/runtime/time.h"
#include "engine/store/script_arguments.h"

namespace lockstep::engine {

struct MessageMarks {
    enum class Standing : std::uint8_t {
        unasked,         // nobody has looked for the processed mark, and no in-flight mark has been set
        in_hand,         // asked for: it was not handled before, or there was no answer; the in-flight mark may stand
        handled_before,  // its processed mark was found
        handled,         // its processed mark has been written, and the in-flight mark is gone
    };

    std::string processed;  // key
    std::string in_flight;  // key
    std::string content;    // what the processed mark holds
    Duration processed_life{};
    Duration in_flight_life{};
    Standing standing = Standing::unasked;

    /// Of the in-flight and the processed mark, as `mark_ttls_ms` of the scripts.
    [[nodiscard]] std::string lives() const;
    /// For a script that begins with `handled_before` (scripts/common.lua). REQUIRES, as below: keys, content and lives are set.
    void ask(ScriptArguments& arguments);
    /// For a script that ends with `mark_handled`. It counts once the script has said that it was applied.
    void settle(ScriptArguments& arguments) const;

private:
    void require_whole() const;
};

}  // namespace lockstep::engine
