// How many messages about one job are handled at once in one replica. All of them want the job's lock, and while it is held
// each would wait for it in one of the places that the messages of other jobs need as well. The rest stands here, first come,
// first served, and takes none.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/invariant.h"
#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

class JobCrowd {
public:
    /// `most` (at least 1) handlers of one job at once.
    explicit JobCrowd(std::size_t most) : most_(most) { PRECONDITION(most > 0, "nobody could be handled"); }

    /// A handler's place, given back by its end. An empty one is no place.
    class [[nodiscard]] Place {
    public:
        Place() = default;
        Place(JobCrowd& crowd, JobId job) : crowd_(&crowd), job_(std::move(job)) {}
        Place(Place&& other) noexcept : crowd_(std::exchange(other.crowd_, nullptr)), job_(std::move(other.job_)) {}
        Place& operator=(Place&& other) noexcept {
            std::swap(crowd_, other.crowd_);
            std::swap(job_, other.job_);
            return *this;
        }
        ~Place() {
            if (crowd_ != nullptr) crowd_->leave(job_);
        }
        explicit operator bool() const { return crowd_ != nullptr; }

    private:
        JobCrowd* crowd_ = nullptr;
        JobId job_;
    };

    /// A place for the job at once, or none: also where others stand.
    [[nodiscard]] Place enter(const JobId& job);
    /// A place as soon as it is this one's turn, or none when `deadline` comes first or all are sent away.
    [[nodiscard]] Task<Place> wait(JobId job, MonoTime deadline);
    /// Sends away whoever stands.
    void send_away() noexcept;

private:
    struct OfJob {
        std::size_t handled = 0;
        std::size_t standing = 0;  // those that have been called and have not gone on yet included
        WaitQueue line;
    };
    [[nodiscard]] Place take(OfJob& of_job, const JobId& job);
    void leave(const JobId& job) noexcept;
    void forget_if_empty(const JobId& job) noexcept;

    const std::size_t most_;
    std::map<JobId, OfJob> jobs_;  // those with anybody
};

}  // namespace lockstep::engine
