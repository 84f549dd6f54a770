// Secrets that stand in files instead of the environment, where every process of the same user and every crash report shows them
// (O2):
//
//   NATS_PASSWORD_FILE=/run/secrets/nats-password     the value of NATS_PASSWORD is the content of that file
//   LoadCredential=NATS_PASSWORD:/etc/lockstep/nats   the same by systemd: $CREDENTIALS_DIRECTORY/NATS_PASSWORD
//
// 1. Secrets are read this way, and so are addresses, which may have a log-in in them. Variables that name a file themselves
//    (NATS_CREDS, keys and certificates) take the path of the credential of their name.
// 2. Nothing is read twice: the variable, its _FILE and a credential of its name exclude each other.
// 3. A file is read once, at the start. One line break at its end is no part of the secret.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "prod/config/environment.h"

namespace lockstep::prod {

struct Secrets {
    Environment environment;  // with the values that the files hold, and without the variables that name such files
    std::map<std::string, std::string, std::less<>> files;  // by variable: where its value comes from
    std::vector<std::string> mistakes;                      // with file and reason, never with content
};

/// Adds to `environment` what files hold.
[[nodiscard]] Secrets read_secrets(const Environment& environment);

/// Whether a variable of this name has a file's name for its value, and stands for the one without `_FILE`.
[[nodiscard]] bool names_secret_file(std::string_view variable);

}  // namespace lockstep::prod
