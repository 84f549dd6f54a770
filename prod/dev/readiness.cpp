#include "prod/dev/readiness.h"

#include <httplib.h>

namespace lockstep::prod {

bool says_ready(int port) {
    httplib::Client client("127.0.0.1", port);
    client.set_connection_timeout(std::chrono::seconds(1));
    client.set_read_timeout(std::chrono::seconds(3));
    const auto answer = client.Get("/readyz");
    return answer && answer->status == 200;
}

}  // namespace lockstep::prod
