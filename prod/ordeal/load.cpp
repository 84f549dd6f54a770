#include "prod/ordeal/load.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "prod/ordeal/messages.h"

namespace lockstep::prod::ordeal {

namespace {

using std::chrono::milliseconds;

constexpr const char* kSubmit = "sys.job.submit";
constexpr const char* kResult = "sys.job.result";
constexpr const char* kCancel = "sys.job.cancel";

constexpr milliseconds kBeat{5};
constexpr milliseconds kAckPatience{1500};
constexpr milliseconds kTryFor{30'000};
constexpr milliseconds kLookAtStore{500};
constexpr milliseconds kStorePatience{300};
/// Beyond it nothing more is submitted: an ordeal is about what is done to few jobs, not about how many there are.
constexpr long kUnderWayMost = 2500;

constexpr std::size_t kSmall = 40;
constexpr std::size_t kLarge = 900'000;

// One job in so many.
constexpr std::uint64_t kDenied = 40;
constexpr std::uint64_t kGated = 60;
constexpr std::uint64_t kSubmittedAgain = 25;
constexpr std::uint64_t kCancelled = 50;
constexpr std::uint64_t kSecondOpinion = 12;
constexpr std::uint64_t kLateMost = 2000;  // ms

}  // namespace

std::string job_prefix(std::uint64_t seed) { return fmt::format("ordeal-{}-", seed); }

Load::Load(const std::string& nats_url, PrimaryPort redis_port, Plan plan)
    : plan_(std::move(plan)), rng_(plan_.seed, "load"), store_(std::move(redis_port), kStorePatience), bus_(nats_url) {
    bus_.listen(kResult, [this](std::string_view, std::string_view payload) { hear_result(payload); });
    thread_ = std::thread([this] { run(); });
}

Load::~Load() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void Load::request(DisturbanceKind kind, int amount) {
    const std::lock_guard lock(mutex_);
    requests_.push_back({kind, amount});
}

void Load::finish(Ledger& ledger) {
    stopping_ = true;
    thread_.join();
    ledger.submissions = std::move(submissions_);
    ledger.garbage_acknowledged = garbage_acknowledged_;
    ledger.nonsense_acknowledged = nonsense_acknowledged_;
}

void Load::run() {
    next_job_ = Clock::now();
    while (!stopping_) {
        beat();
        std::this_thread::sleep_for(kBeat);
    }
}

void Load::beat() {
    send_due();
    std::deque<Request> requests;
    {
        const std::lock_guard lock(mutex_);
        requests.swap(requests_);
    }
    for (const Request& request : requests) serve(request);
    const auto pause = std::chrono::microseconds(1'000'000 / plan_.jobs_per_second);
    // What could not be submitted in time is not made up for.
    next_job_ = std::max(next_job_, Clock::now() - milliseconds(200));
    for (; next_job_ <= Clock::now() && !stopping_; next_job_ += pause) {
        if (!too_many_under_way()) submit_one();
    }
}

bool Load::too_many_under_way() {
    if (Clock::now() - looked_ > kLookAtStore) {
        looked_ = Clock::now();
        // Redis may be down: what was known before still is the best guess.
        resting_ = store_.resting_jobs().value_or(resting_);
    }
    const long known = static_cast<long>(submissions_.size());
    return known >= plan_.jobs_most || known - resting_ > kUnderWayMost;
}

void Load::submit_one() {
    if (!names_.empty() && rng_.below(kSubmittedAgain) == 0) submit_again();
    Submission submission;
    submission.content_size = kSmall;
    std::string topic = plan_.topics[rng_.below(plan_.topics.size())];
    if (rng_.below(kDenied) == 0) submission.kind = JobKind::denied;
    if (rng_.below(kGated) == 0) {
        submission.kind = JobKind::needs_approval;
        topic = plan_.topic_of_approvals;
    }
    submission.cancel_asked = submission.kind == JobKind::ordinary && rng_.below(kCancelled) == 0;
    submit(topic, submission);
}

void Load::submit(const std::string& topic, Submission submission) {
    const std::string job = job_prefix(plan_.seed) + std::to_string(submissions_.size());
    submission.times_sent = 1;
    const std::string payload = submit_packet(job, topic, submission);
    const bool cancel = submission.cancel_asked;
    submissions_.emplace(job, submission);
    topics_.emplace(job, topic);
    names_.push_back(job);
    send(job, payload, "jobreq:" + job);
    if (!cancel) return;
    const std::lock_guard lock(mutex_);
    later_.push_back({Clock::now() + milliseconds(rng_.below(kLateMost)), kCancel, cancel_packet(job)});
}

void Load::submit_again() {
    const std::string& job = names_[names_.size() - 1 - rng_.below(std::min<std::size_t>(names_.size(), 500))];
    Submission& submission = submissions_.at(job);
    const std::string payload = submit_packet(job, topics_.at(job), submission);
    send(job, payload, fmt::format("again:{}:{}", job, ++submission.times_sent));
}

void Load::send(const std::string& job, const std::string& payload, const std::string& message_id) {
    const auto give_up = Clock::now() + kTryFor;
    // Under one message id a try that was stored without our knowledge is not stored again.
    while (Clock::now() < give_up && !stopping_) {
        const auto answer = bus_.publish(kSubmit, payload, message_id, kAckPatience);
        if (answer) {
            Submission& submission = submissions_.at(job);
            if (!submission.acknowledged) {
                submission.acknowledged = now();
                submission.sequence = answer->sequence;
            }
            return;
        }
        std::this_thread::sleep_for(milliseconds(20));
    }
}

void Load::serve(const Request& request) {
    for (int i = 0; i < request.amount && !stopping_; ++i) {
        const char* subject = rng_.below(2) == 0 ? kSubmit : kResult;
        switch (request.kind) {
            case DisturbanceKind::flood:
            case DisturbanceKind::large: {
                Submission submission;
                submission.content_size = request.kind == DisturbanceKind::large ? kLarge : kSmall;
                // More than the workers of the slower jobs take at once.
                if (!too_many_under_way()) submit(plan_.topics[rng_.below(plan_.topics.size())], submission);
                break;
            }
            case DisturbanceKind::garbage:
                if (bus_.publish(subject, garbage(rng_), "", kAckPatience)) ++garbage_acknowledged_;
                break;
            case DisturbanceKind::nonsense:
                if (bus_.publish(subject, nonsense(rng_), "", kAckPatience)) ++nonsense_acknowledged_;
                break;
            default: return;
        }
    }
}

void Load::send_due() {
    std::vector<Later> due;
    {
        const std::lock_guard lock(mutex_);
        const auto first = std::partition(later_.begin(), later_.end(),
                                          [now = Clock::now()](const Later& one) { return one.due > now; });
        due.assign(std::make_move_iterator(first), std::make_move_iterator(later_.end()));
        later_.erase(first, later_.end());
    }
    for (const Later& one : due) bus_.say(one.subject, one.payload);
}

void Load::hear_result(std::string_view payload) {
    const auto result = parse_result(payload);
    if (!result || result->status != "SUCCEEDED" || !result->job.starts_with("ordeal-")) return;
    const auto drawn = std::hash<std::string>{}(result->job);
    // A repetition is heard here as well, and is no occasion for another.
    if (drawn % kSecondOpinion != 0 || !opined_.insert(result->job).second) return;
    const bool agrees = drawn / kSecondOpinion % 4 == 0;
    const std::lock_guard lock(mutex_);
    later_.push_back({Clock::now() + milliseconds(drawn / 100 % kLateMost), kResult,
                      result_packet(result->job, result->worker, agrees)});
}

}  // namespace lockstep::prod::ordeal
