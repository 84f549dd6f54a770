// OpenSSL at the end of a process.
#pragma once

#include <openssl/crypto.h>

namespace lockstep::prod {

/// Has OpenSSL not take itself down at exit. The threads of nats.c go on for a moment after the last connection has been destroyed, and
/// free what is left of its TLS: if OpenSSL has gone meanwhile, the heap is corrupt, and a program that has done all that it was asked ends by
/// SIGABRT. (nats_CloseAndWait, which would wait for them, frees what OpenSSL 3 frees again.) REQUIRES: nothing has used OpenSSL yet.
inline void keep_openssl_until_the_end() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace lockstep::prod
