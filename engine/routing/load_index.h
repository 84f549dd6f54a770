// The routable workers of each pool in the order in which routing prefers them, so that a choice among thousands looks at a few:
// least loaded first, ties by id. Of each label that may constrain placement, those that carry it, in the same order.
//
// 1. It views workers that are kept elsewhere. Whoever changes one takes it out before, and puts it in again afterwards.
// 2. The load is what routing assumes with `routing_inflight_correction` (settings.md 2). One that is no number comes last.
// 3. It does not know who is silent: whoever goes through it looks at that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/routing/worker.h"

namespace lockstep::engine {

/// Whether a job's label of this name is a demand on the worker's labels (settings.md 2).
[[nodiscard]] bool constrains_placement(std::string_view label);

/// active jobs + cpu/100 + gpu/100, in 32-bit floats as every peer computes it. `corrected`: with what was sent to the worker and what it
/// has ended since its last word.
[[nodiscard]] float load_score(const Worker& worker, bool corrected);
/// Active jobs as the worker said, and what was sent to it and ended since. Without the ends a worker would be given no more
/// jobs between two heartbeats than it has places, however fast it is.
[[nodiscard]] std::int32_t assumed_active(const Worker& worker, bool corrected);

class LoadIndex {
public:
    struct Place {
        float score = 0;
        const Worker* worker = nullptr;
        friend bool operator<(const Place& a, const Place& b) {
            return a.score != b.score ? a.score < b.score : a.worker->id < b.worker->id;
        }
    };
    using Order = std::set<Place>;

    /// A worker without a heartbeat is not routable, and left out. REQUIRES: it is not in yet, and outlives its place.
    void add(const Worker& worker);
    /// REQUIRES: it is as it was when it was added.
    void remove(const Worker& worker);

    /// Null: nobody.
    [[nodiscard]] const Order* of_pool(std::string_view pool) const;
    /// Those of the pool whose label `name` is `value`. Null: nobody.
    [[nodiscard]] const Order* carriers(std::string_view pool, std::string_view name, std::string_view value) const;

private:
    using Label = std::pair<std::string, std::string>;
    using LabelView = std::pair<std::string_view, std::string_view>;
    struct ByLabel {
        using is_transparent = void;
        template <class One, class Other>
        bool operator()(const One& one, const Other& other) const {
            return LabelView(one) < LabelView(other);
        }
    };
    struct Pool {
        Order all;
        std::map<Label, Order, ByLabel> carriers;
    };

    std::map<std::string, Pool, std::less<>> pools_;  // none without workers
};

}  // namespace lockstep::engine
