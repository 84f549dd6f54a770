// lockstep-dev, which `lockstep dev` runs: a whole deployment in one command, for who tries Lockstep out.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>

#include "engine/runtime/scope.h"
#include "prod/ctl/live_text.h"
#include "prod/ctl/submit.h"
#include "prod/ctl/why.h"
#include "prod/dev/dev_options.h"
#include "prod/dev/dev_view.h"
#include "prod/dev/playground.h"
#include "prod/loop/signals.h"
#include "prod/tls/openssl_exit.h"
#include "reports/usage/standard_streams.h"

namespace lockstep::prod {
namespace {

constexpr auto kViewPause = std::chrono::seconds(1);
constexpr auto kForEver = std::chrono::hours(24 * 365 * 100);
/// Whoever asks for no more than the sample job has it waited for on a busy machine, too; whoever looks on sees why it waits.
constexpr auto kSamplePatience = std::chrono::seconds(60);
constexpr auto kViewerPatience = std::chrono::seconds(10);
constexpr const char* kSampleId = "hello";
constexpr int kInterrupted = 130;

int say_no(int code, const std::string& why) {
    std::fflush(stdout);
    fmt::print(stderr, "lockstep dev: {}\n", why);
    return code;
}

engine::Task<void> keep_code(engine::Task<int> part, std::optional<int>& code) { code = co_await std::move(part); }

engine::Task<int> start_all(Playground& playground) {
    const bool started = co_await playground.start();
    co_return started ? kDone : kFailed;  // the playground says why
}

engine::Task<int> run_sample(Session& session, const DevOptions& options) {
    SubmitOptions sample{.topic = options.topic, .id = kSampleId, .payload = options.payload};
    sample.wait = options.workers > 0;
    sample.wait_limit = options.until_done ? kSamplePatience : kViewerPatience;
    int code = co_await submit(session, std::move(sample));
    if (code == kEndedBadly) (void)co_await show_why(session, kSampleId, false);
    std::fflush(stdout);
    co_return code;
}

engine::Task<int> show_what_goes_on(Session& session, Playground& playground, const DevOptions& options) {
    LiveText live(stdout, ::isatty(STDOUT_FILENO) != 0);
    std::optional<Overview> before;
    while (true) {
        for (const std::string& line : playground.news()) live.note(line);
        const ReplicaCount replicas{playground.replicas_running(), options.replicas};
        auto now = co_await read_overview(session);
        const std::string text = !now                 ? fmt::format("Redis does not tell: {}\n", now.error())
                                 : live.on_terminal() ? dev_screen(*now, before ? &*before : nullptr, replicas)
                                                      : dev_line(*now, replicas);
        if (!live.draw(text)) co_return kFailed;  // whoever has read it has gone
        if (now) before = std::move(*now);
        co_await session.clock().sleep(kViewPause);
    }
}

Settings addresses_of(const Playground& playground) {
    auto settings = read_settings(
        Environment({{"REDIS_URL", playground.redis_url()}, {"NATS_URL", playground.nats_url()}}), kClientRole);
    if (!settings) throw std::runtime_error(settings.error());
    settings->nats.name = "lockstep-dev";
    return std::move(*settings);
}

class Tour {
public:
    Tour(const DevOptions& options, Playground& playground)
        : options_(options), playground_(playground), session_(addresses_of(playground)) {}

    int take() {
        int code = in_parts();
        if (!playground_.broken().empty()) code = say_no(kFailed, playground_.broken() + "\nEverything is stopped.");
        const int asked = asked_to_end_;
        playground_.stop(session_.loop(), [&] { return asked_to_end_ > asked; });
        return code;
    }

private:
    /// Up to the end of the task, a wish to end, the end of a part that has no other, or the limit. Nothing: it was cut short.
    std::optional<int> part(engine::Task<int> task, engine::Duration limit = kForEver) {
        std::optional<int> code;
        engine::Scope scope(session_.loop());
        scope.spawn(keep_code(std::move(task), code));
        session_.loop().run_until([&] { return code || asked_to_end_ > 0 || !playground_.broken().empty(); }, limit);
        scope.cancel();
        return code;
    }

    int in_parts() {
        if (part(start_all(playground_)) != kDone) return kInterrupted;
        if (auto connected = session_.connect(true, true); !connected)
            return say_no(kFailed, connected.error().message);
        fmt::print("{}{}\n", playground_.introduction(),
                   options_.workers > 0 ? "A sample job:" : "A sample job, which waits for a worker:");
        std::fflush(stdout);
        const auto sample = part(run_sample(session_, options_));
        if (!sample || options_.until_done) return sample.value_or(kInterrupted);
        const auto cut_off =
            part(show_what_goes_on(session_, playground_, options_), options_.run_for.value_or(kForEver));
        return cut_off.value_or(kDone);
    }

    void on_signal(int number) {
        if (number == SIGCHLD)
            playground_.look();
        else
            ++asked_to_end_;
    }

    const DevOptions& options_;
    Playground& playground_;
    Session session_;
    int asked_to_end_ = 0;
    const SignalWatch signals_{session_.loop(), {SIGINT, SIGTERM, SIGHUP, SIGCHLD}, [this](int n) { on_signal(n); }};
};

int run(const DevOptions& options) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
    auto programs = find_programs(self.parent_path(), path != nullptr ? path : "");
    if (!programs) return say_no(kWrongUse, programs.error());
    try {
        Playground playground(options, std::move(*programs));
        return Tour(options, playground).take();
    } catch (const std::exception& mistake) {
        return say_no(kWrongUse, mistake.what());
    }
}

}  // namespace
}  // namespace lockstep::prod

namespace {

int program(int argc, char** argv) {
    google::protobuf::SetLogHandler(nullptr);
    using namespace lockstep::prod;
    keep_openssl_until_the_end();
    ::signal(SIGPIPE, SIG_IGN);  // `lockstep dev | head` has to take its processes and its folder away, too
    const auto options = parse_dev_options(argc, argv);
    return options ? run(*options) : options.error();
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstep dev", argc, argv, program); }
