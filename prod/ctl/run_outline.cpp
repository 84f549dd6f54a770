#include "prod/ctl/run_outline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/runs/run_document.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

constexpr int kDepthMax = 8;

class Outliner {
public:
    Outliner(const json& run, const json& definition) : definition_(engine::at_path(definition, "steps")) {
        for (const auto& [key, record] : engine::at_path(run, "steps").items())
            if (record.is_object()) records_[key] = &record;
        if (definition_.is_object())
            for (const auto& [key, step] : definition_.items()) records_.emplace(key, nullptr);
    }

    std::vector<OutlinedStep> outline() {
        find_children();
        find_what_is_waited_for();
        rank_all();
        list("", {});
        return std::move(steps_);
    }

private:
    /// Whose child a step is: of for_each, loop and parallel; else of the run.
    void find_children() {
        std::map<std::string, std::string> parents;
        for (const auto& [key, record] : records_) {
            const auto bracket = key.rfind('[');
            if (bracket != std::string::npos && records_.contains(key.substr(0, bracket)))
                parents[key] = key.substr(0, bracket);
            const json& input = engine::at_path(defined(key), "input");
            if (text_at(defined(key), "type") == "parallel")
                for (const json& child : engine::at_path(input, "steps"))
                    if (child.is_string()) parents[child.get<std::string>()] = key;
            if (const std::string body = text_at(input, "body_step"); !body.empty()) parents[body] = key;
        }
        for (const auto& [key, record] : records_) {
            std::string parent = parents.contains(key) ? parents[key] : "";
            if (parent == key || !records_.contains(parent) || depth(parents, parent) > kDepthMax) parent.clear();
            children_[parent].push_back(key);
        }
    }
    static int depth(const std::map<std::string, std::string>& parents, std::string key) {
        int levels = 0;
        for (auto at = parents.find(key); at != parents.end() && levels <= kDepthMax; at = parents.find(key)) {
            key = at->second;
            ++levels;
        }
        return levels;
    }

    void find_what_is_waited_for() {
        if (!definition_.is_object()) return;
        for (const auto& [key, step] : definition_.items())
            for (const json& one : engine::at_path(step, "depends_on"))
                if (one.is_string()) waits_for_[key].push_back(one.get<std::string>());
        for (const auto& [key, step] : definition_.items())
            if (const std::string handler = text_at(step, "on_error"); !handler.empty())
                waits_for_[handler].push_back(key);
    }

    /// One more than the highest of what it waits for. Each is ranked once all of these are; what waits for itself comes last.
    void rank_all() {
        const int most = static_cast<int>(records_.size());
        std::map<std::string, std::vector<std::string>> waiting;
        std::map<std::string, std::size_t> unranked;
        std::vector<std::string> ready;
        for (const auto& [key, record] : records_) {
            std::size_t before = 0;
            for (const std::string& other : waits_for_[key]) {
                if (!records_.contains(other)) {
                    ranks_[key] = 1;
                    continue;
                }
                waiting[other].push_back(key);
                ++before;
            }
            if (before == 0) ready.push_back(key);
            unranked[key] = before;
        }
        while (!ready.empty()) {
            const std::string key = std::move(ready.back());
            ready.pop_back();
            for (const std::string& next : waiting[key]) {
                ranks_[next] = std::max(ranks_[next], ranks_[key] + 1);
                if (--unranked[next] == 0) ready.push_back(next);
            }
        }
        for (const auto& [key, before] : unranked)
            if (before > 0) ranks_[key] = most;
    }
    [[nodiscard]] const json& defined(const std::string& key) const {
        static const json kNothing;
        if (!definition_.is_object()) return kNothing;
        const auto found = definition_.find(key);
        return found == definition_.end() ? kNothing : *found;
    }

    /// In the order in which they come: by what they wait for, begun ones first, then by their numbers and names.
    void list(const std::string& parent, const std::vector<bool>& last_above) {
        std::vector<std::string> keys = children_[parent];
        std::ranges::sort(keys, {}, [this](const std::string& key) {
            const json* record = records_.at(key);
            const bool waits = record == nullptr || text_at(*record, "started_at").empty();
            return std::tuple(ranks_[key], waits, key.size(), key);
        });
        for (std::size_t i = 0; i < keys.size(); ++i) {
            OutlinedStep step;
            step.key = keys[i];
            if (const json* record = records_.at(keys[i])) step.record = *record;
            step.after = waits_for_[keys[i]];
            step.rank = ranks_[keys[i]];
            step.last = last_above;
            step.last.push_back(i + 1 == keys.size());
            const std::vector<bool> last = step.last;
            steps_.push_back(std::move(step));
            if (children_.contains(keys[i])) list(keys[i], last);
        }
    }

    const json& definition_;
    std::map<std::string, const json*> records_;  // null: it has not begun
    std::map<std::string, std::vector<std::string>> children_;
    std::map<std::string, std::vector<std::string>> waits_for_;
    std::map<std::string, int> ranks_;
    std::vector<OutlinedStep> steps_;
};

}  // namespace

std::vector<OutlinedStep> outline(const json& run, const json& definition) {
    return Outliner(run, definition).outline();
}

std::string text_at(const json& object, std::string_view path) {
    const json& value = engine::at_path(object, path);
    return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace lockstep::prod
