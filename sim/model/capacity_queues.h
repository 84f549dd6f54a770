// How much room workers have, and which jobs wait for some (engine/delivery-semantics.md, "Jobs that wait for capacity").
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/model/names.h"

namespace lockstep::sim {

struct Job;
struct Tenant;

class Capacity {
public:
    struct Worker {
        std::string pool;  // by its last heartbeat, and so the rest
        std::map<std::string, std::string, std::less<>> labels;
        std::int64_t jobs_max = 0;  // 0: it sets no limit
        float cpu = 0, gpu = 0;     // percent
        std::int64_t others = 0;    // jobs that it reported beyond its list
        std::int64_t listed = 0;    // jobs in the list that Redis keeps of it
    };
    /// The jobs of one tenant in one queue.
    struct Queue {
        std::set<std::string, std::less<>> pools;
        std::map<std::string, std::string, std::less<>> labels;
        std::string_view tenant;
        std::map<std::string_view, const Job*> jobs;  // by name
        Time unserved_since{};                        // none has left it since
    };

    [[nodiscard]] const Worker& worker(WorkerNumber number) const { return workers_[number]; }
    /// By key.
    [[nodiscard]] const std::map<std::string, Queue, std::less<>>& queues() const { return queues_; }

    /// Whether it may serve other jobs than before.
    bool heard(WorkerNumber number, const cap::Heartbeat& heartbeat);
    /// Jobs that were added to its list; negative: removed.
    void listed(WorkerNumber number, int jobs) { at(number).listed += jobs; }
    void list_removed(WorkerNumber number) { at(number).listed = 0; }
    /// The key is that of a queue.
    void queued(std::string_view key, const Job& job, Time now);
    void left(std::string_view key, std::string_view job, Time now);
    void queue_removed(std::string_view key);

    /// Whose jobs are ahead in a queue is read of these keys (capacity_keys.h): each member has a place there.
    void place_taken(std::string_view key);
    void places_left(std::string_view key, std::size_t count, Since now);
    void all_places_left(Since now);
    /// Places that the queue had at some time from that event on, which is of the last minutes. Without a name: all queues together.
    [[nodiscard]] std::size_t places_since(std::string_view queue, EventNumber event) const;

private:
    struct Places {
        std::size_t now = 0;
        std::deque<Since> left;  // the oldest first

        void leave(std::size_t count, Since when);
        [[nodiscard]] std::size_t since(EventNumber event) const;
    };

    Worker& at(WorkerNumber number) {
        if (number >= workers_.size()) workers_.resize(number + 1);
        return workers_[number];
    }

    std::vector<Worker> workers_;  // by number
    std::map<std::string, Queue, std::less<>> queues_;
    std::map<std::string, Places, std::less<>> places_;  // by the name of the queue
};

}  // namespace lockstep::sim
