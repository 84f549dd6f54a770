#include "prod/lockstepd/service_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lockstep::prod {

namespace {

constexpr auto kExtensionPause = std::chrono::seconds(1);
/// Longer than the pause by so much that a loop which is merely busy does not lose its process.
constexpr auto kExtension = std::chrono::seconds(10);

std::optional<std::int64_t> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    std::int64_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
}

}  // namespace

void notify_service_manager(std::string_view state) {
    const char* path = std::getenv("NOTIFY_SOCKET");
    if (path == nullptr) return;
    const std::size_t length = std::strlen(path);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (length < 2 || length >= sizeof(address.sun_path)) return;
    std::memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    // A manager that does not listen is no reason to fail.
    (void)sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
    close(socket);
}

std::optional<engine::Duration> watchdog_limit() {
    const auto micros = number_in("WATCHDOG_USEC");
    if (!micros || *micros <= 0) return std::nullopt;
    // Inherited from a parent that is the one to be watched.
    if (const auto pid = number_in("WATCHDOG_PID"); pid && *pid != ::getpid()) return std::nullopt;
    return std::chrono::microseconds(*micros);
}

engine::Task<void> feed_watchdog(const engine::Clock& clock, engine::Duration limit) {
    while (true) {
        notify_service_manager("WATCHDOG=1");
        co_await clock.sleep(limit / 2);
    }
}

engine::Task<void> extend_stop(const engine::Clock& clock) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(kExtension).count();
    const std::string state = "EXTEND_TIMEOUT_USEC=" + std::to_string(micros);
    while (true) {
        notify_service_manager(state);
        co_await clock.sleep(kExtensionPause);
    }
}

}  // namespace lockstep::prod
