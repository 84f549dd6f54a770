#include "engine/workflow/local_turns.h"

#include <algorithm>
#include <iterator>

namespace lockstep::engine {

Task<LocalTurns::Turn> LocalTurns::take(std::string run, std::vector<std::string> jobs) {
    Queue& queue = queues_[run];
    ++queue.visitors;
    Turn turn(*this, std::move(run));  // from here on it is its to count down
    std::ranges::move(jobs, std::back_inserter(queue.jobs));
    turn.guard_ = co_await queue.mutex.lock();
    co_return turn;
}

LocalTurns::Turn::~Turn() {
    if (turns_ == nullptr) return;
    guard_.release();
    const auto queue = turns_->queues_.find(run_);
    if (--queue->second.visitors == 0) turns_->queues_.erase(queue);
}

std::vector<std::string> LocalTurns::Turn::take_jobs() {
    auto jobs = std::exchange(turns_->queues_.at(run_).jobs, {});
    std::ranges::sort(jobs);
    const auto twice = std::ranges::unique(jobs);
    jobs.erase(twice.begin(), twice.end());
    return jobs;
}

void LocalTurns::Turn::give_back(std::vector<std::string> jobs) {
    std::ranges::move(jobs, std::back_inserter(turns_->queues_.at(run_).jobs));
}

}  // namespace lockstep::engine
