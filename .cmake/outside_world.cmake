# Fails when code that must get everything through its ports refers to the world outside by itself: a clock, a thread, a
# socket, a file, the environment, a source of randomness, the locale of the process; or keeps a variable that would
# survive a run. Judged from the symbols of the compiled archives, which no macro and no header can hide.
#
# cmake -DNM=<nm> -DSCRATCH=<folder> -DARCHIVES=<archives> -P this    checks archives
# cmake -DNM=<nm> -DSCRATCH=<folder> -DCOMPILER=<c++> -P this         checks the check: each plant must be caught

# Names of C functions and variables are whole names (without the `__`, `64` and `_chk` of their variants); those of C++ are
# beginnings. CMake's expressions know no more than ten groups.
set(clocks_c "clock|clock_gettime|clock_getres|clock_nanosleep|time|times|ftime|gettimeofday|localtime|localtime_r|gmtime|gmtime_r|mktime|strftime|timespec_get|tzset|nanosleep|usleep|sleep|alarm|setitimer|timer_[a-z]*|timerfd_[a-z]*")
set(clocks_cpp "std::chrono::[^ ]*clock::now|google::protobuf::util::TimeUtil::GetCurrentTime")
set(threads_c "pthread_create|pthread_join|pthread_detach|pthread_self|pthread_kill|pthread_yield|pthread_key_[a-z]*|pthread_[gs]etspecific|pthread_mutex_[a-z]*|pthread_cond_[a-z]*|pthread_rwlock_[a-z]*|pthread_spin_[a-z]*|pthread_barrier_[a-z]*|thrd_[a-z]*|mtx_[a-z]*|cnd_[a-z]*|sem_[a-z]*|sched_yield|fork|vfork|clone|posix_spawnp?|wait|waitpid")
set(threads_cpp "std::thread|std::jthread|std::this_thread|std::mutex|std::recursive_mutex|std::timed_mutex|std::shared_mutex|std::condition_variable|std::_V2::condition_variable|std::__condvar|std::__future_base|std::future|std::promise|std::__atomic_futex|std::__throw_future_error")
set(sockets_c "socket|socketpair|bind|listen|accept4?|connect|shutdown|send|sendto|sendmsg|sendfile|recv|recvfrom|recvmsg|getaddrinfo|gethostby[a-z]*|gethostname|p?poll|p?select|epoll_[a-z0-9_]*|eventfd|pipe2?|uv_[a-z_]*|redis[A-Z][A-Za-z]*|nats[A-Z][A-Za-z_]*|js_[A-Z][A-Za-z]*|grpc_[a-z_]*")
set(files_c "open|openat|creat|close|p?readv?|p?writev?|lseek|[fl]?stat|f?open|fdopen|freopen|fclose|fread|fwrite|fflush|f?put[cs]|putchar|f?get[cs]|getchar|getline|v?[fd]?printf|v?f?scanf|perror|unlink|remove|rename|mkdir|opendir|readdir|mkstemp|tmpfile|stdin|stdout|stderr|mmap|munmap")
set(files_cpp "std::cin|std::cout|std::cerr|std::clog|std::wcout|std::wcerr|std::basic_[io]?fstream|std::basic_filebuf|std::filesystem::|fmt::v[0-9]*::v?print|google::protobuf::io::File|google::protobuf::io::Ostream|google::protobuf::io::Istream")
set(environment_c "secure_getenv|getenv|setenv|unsetenv|putenv|clearenv|_?environ|setlocale|newlocale|uselocale|getp?pid|gettid|getuid|getcwd|uname|sysconf|getrusage|getauxval|syscall|system|popen|exec[lv][a-z]*|kill|raise|signal|sigaction|dlopen|dlsym")
set(environment_cpp "std::locale::")
set(randomness_c "rand|random|srand|srandom|rand_r|[a-z]rand48|getrandom|getentropy|arc4random[a-z_]*|RAND_[a-z_]*|uuid_[a-z_]*")
set(randomness_cpp "std::random_device")
# Header-only, so they are looked for among the symbols that an archive defines. Their sequences differ between libraries.
set(defined_randomness "std::(mersenne_twister_engine|linear_congruential_engine|subtract_with_carry_engine|[a-z]*_distribution|random_device)")

set(kinds clocks threads sockets files environment randomness)

# Sets `result` to the lines of the symbol tables of `files` that nobody may have, each as "kind: symbol".
function(outside_references result files)
  set(found "")
  foreach(file IN LISTS files)
    cmake_path(GET file FILENAME name)
    set(symbols_of ${SCRATCH}/${name})
    execute_process(COMMAND ${NM} --undefined-only --demangle ${file}
      OUTPUT_FILE ${symbols_of}.undefined COMMAND_ERROR_IS_FATAL ANY ERROR_QUIET)
    execute_process(COMMAND ${NM} --defined-only --demangle --format=sysv ${file}
      OUTPUT_FILE ${symbols_of}.defined COMMAND_ERROR_IS_FATAL ANY ERROR_QUIET)
    # Whole C names, and C++ names of the libraries: only they are looked at one by one.
    file(STRINGS ${symbols_of}.undefined symbols REGEX "^ *[UVWvw] ([A-Za-z0-9_@.]+$|std::|fmt::|google::)")
    list(TRANSFORM symbols REPLACE "^ *[A-Za-z] " "")
    list(REMOVE_DUPLICATES symbols)
    foreach(symbol IN LISTS symbols)
      string(REGEX REPLACE "@.*$" "" plain "${symbol}")
      string(REGEX REPLACE "^__|_chk$|64$" "" plain "${plain}")
      foreach(kind IN LISTS kinds)
        if(plain MATCHES "^(${${kind}_c})$" OR (${kind}_cpp AND symbol MATCHES "^(${${kind}_cpp})"))
          list(APPEND found "${kind}: ${symbol}")
        endif()
      endforeach()
    endforeach()
    # Constructors of a distribution appear as functions of it, or as an argument of a function that uses one.
    file(STRINGS ${symbols_of}.defined lines REGEX "${defined_randomness}")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE " *\\|.*" "" symbol "${line}")
      list(APPEND found "randomness: ${symbol}")
    endforeach()
    # What can be written and is not a constant of ours (kName) that is made on first use, its guard, the initialiser
    # of the streams that some header of a library brings along, a list of free memory (engine/runtime/frame_pool.h), or what is the
    # same about a script whoever asks (fakes/redis/script_cache.h).
    file(STRINGS ${symbols_of}.defined lines REGEX "\\|(\\*COM\\*|\\.t?(bss|data)(\\.[^|]*)?) *$")
    list(FILTER lines EXCLUDE REGEX "\\|\\.data\\.rel\\.ro")
    list(FILTER lines EXCLUDE REGEX "^lockstep::engine::detail::[^|]*::free_frames(_are_gone)? *\\|")
    list(FILTER lines EXCLUDE REGEX "^lockstep::fakes::redis::ScriptCache::here\\(\\)::cache *\\|")
    list(FILTER lines EXCLUDE REGEX "^(guard variable for |std::__ioinit|DW\\.ref\\.|\\.|[^|]*[: ]k[A-Z][A-Za-z0-9]*(\\[abi:cxx11\\])? *\\|)")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE " *\\|.*" "" symbol "${line}")
      list(APPEND found "survivor: ${symbol}")
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${SCRATCH})
if(ARCHIVES)
  outside_references(found "${ARCHIVES}")
  if(found)
    list(JOIN found "\n  " listing)
    message(FATAL_ERROR "These archives reach around their ports:\n  ${listing}")
  endif()
  list(LENGTH ARCHIVES count)
  message("No reference to the outside in ${count} archives.")
  return()
endif()

# Each plant: the kind that must be reported, a part of the symbol, and code as it might slip in.
set(plants "")
function(plant kind symbol code)
  set_property(GLOBAL APPEND PROPERTY plants "${kind}: ${symbol}")
  file(APPEND ${SCRATCH}/plants.cpp "${code}\n")
endfunction()
file(WRITE ${SCRATCH}/plants.cpp "#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <locale>
#include <mutex>
#include <random>
#include <sys/random.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
namespace lockstep::engine {
")
plant(clocks "clock_gettime" "long p1() { timespec now{}; clock_gettime(CLOCK_MONOTONIC, &now); return now.tv_nsec; }")
plant(clocks "time" "long p2() { return time(nullptr); }")
plant(clocks "std::chrono::_V2::system_clock::now" "auto p3() { return std::chrono::system_clock::now(); }")
plant(clocks "std::chrono::_V2::steady_clock::now" "auto p4() { return std::chrono::steady_clock::now(); }")
plant(clocks "nanosleep" "void p5() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }")
plant(threads "pthread_create" "pthread_t p6() { pthread_t t; pthread_create(&t, nullptr, [](void* p) { return p; }, nullptr); return t; }")
plant(threads "std::thread::_M_start_thread" "void p7() { std::thread([] {}).detach(); }")
plant(threads "pthread_mutex_lock" "void p8(std::mutex& m) { m.lock(); }")
plant(threads "std::condition_variable::notify_all" "void p9(std::condition_variable& c) { c.notify_all(); }")
plant(sockets "socket" "int p10() { return socket(AF_INET, SOCK_STREAM, 0); }")
plant(sockets "connect" "int p11(const sockaddr& to) { return connect(3, &to, sizeof to); }")
plant(sockets "send" "long p12(const char* what) { return send(3, what, 1, 0); }")
plant(sockets "recv" "long p13(char* what) { return recv(3, what, 1, 0); }")
plant(files "open" "int p14() { return open(\"/etc/hostname\", O_RDONLY); }")
plant(files "fopen" "void* p15() { return fopen(\"/etc/hostname\", \"r\"); }")
plant(files "std::basic_ifstream" "bool p16() { return std::ifstream(\"/etc/hostname\").good(); }")
plant(files "std::cout" "void p17() { std::cout << 'x'; }")
plant(files "stderr" "void p18() { setbuf(stderr, nullptr); }")
plant(environment "getenv" "const char* p19() { return std::getenv(\"HOME\"); }")
plant(environment "std::locale::" "bool p20() { return std::locale() == std::locale::classic(); }")
plant(environment "getpid" "int p21() { return getpid(); }")
plant(randomness "rand" "int p22() { return std::rand(); }")
plant(randomness "getrandom" "long p23(char* to) { return getrandom(to, 8, 0); }")
plant(randomness "std::random_device" "unsigned p24() { return std::random_device{}(); }")
plant(randomness "std::mersenne_twister_engine" "unsigned long p25(std::mt19937_64& r) { return r(); }")
plant(survivor "lockstep::engine::count_of_calls()::calls" "int count_of_calls() { static int calls = 0; return ++calls; }")
plant(survivor "lockstep::engine::last_seen" "long last_seen = 7;")
plant(survivor "lockstep::engine::per_thread" "thread_local int per_thread = 7; int* p26() { return &per_thread; }")
file(APPEND ${SCRATCH}/plants.cpp "const int kHarmless = std::atoi(\"7\");
}
")
# As the archives are compiled, except that nothing may be folded away.
execute_process(COMMAND ${COMPILER} -std=c++20 -O0 -w -c ${SCRATCH}/plants.cpp -o ${SCRATCH}/plants.o
  COMMAND_ERROR_IS_FATAL ANY)
outside_references(found ${SCRATCH}/plants.o)
get_property(plants GLOBAL PROPERTY plants)
set(missed "")
foreach(plant IN LISTS plants)
  set(caught FALSE)
  foreach(one IN LISTS found)
    # A whole name, or the beginning of a longer C++ one.
    if(one STREQUAL plant OR (plant MATCHES "::" AND one MATCHES "^[a-z]*: .*::"))
      string(FIND "${one}" "${plant}" at)
      if(at EQUAL 0)
        set(caught TRUE)
      endif()
    endif()
  endforeach()
  if(NOT caught)
    list(APPEND missed "${plant}")
  endif()
endforeach()
if(missed)
  list(JOIN missed "\n  " listing)
  list(JOIN found "\n  " caught)
  message(FATAL_ERROR "Planted, and not caught:\n  ${listing}\nCaught:\n  ${caught}")
endif()
if("${found}" MATCHES "kHarmless")
  message(FATAL_ERROR "A constant was taken for a variable.")
endif()
list(LENGTH plants count)
message("Each of ${count} planted references is caught.")
