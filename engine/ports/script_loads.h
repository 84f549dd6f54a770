// Which scripts are being taught to the Redis server now, so that the callers who meet NOSCRIPT together send the text once
// and not once each: a restart of the server would otherwise be answered with a herd of texts, in the very moment in which
// it has the most to do.
//
// Owned by a Redis port, used on its thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace lockstep::engine {

class ScriptLoads {
    using Texts = std::set<std::string, std::less<>>;

public:
    /// A load by the one who holds this, until it is answered or the caller is gone.
    class [[nodiscard]] Load {
    public:
        Load(ScriptLoads& loads, std::string sha1) : all_(loads.under_way_), sha1_(std::move(sha1)) {
            all_->insert(sha1_);
        }
        Load(const Load&) = delete;
        Load& operator=(const Load&) = delete;
        ~Load() { all_->erase(sha1_); }

    private:
        std::shared_ptr<Texts> all_;  // the caller may outlive the port
        std::string sha1_;
    };

    [[nodiscard]] bool under_way(const std::string& sha1) const { return under_way_->contains(sha1); }

private:
    std::shared_ptr<Texts> under_way_ = std::make_shared<Texts>();  // by SHA-1
};

}  // namespace lockstep::engine
