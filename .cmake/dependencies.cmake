# Every third-party library behind one name, `deps::<library>`.
#
# The platform offers four ways to find a library (CMake modules, CMake configs, pkg-config, bare headers), and
# several of them have traps. They are dealt with here, once; the rest of the build knows only deps::*.
# All of them are imported targets, so their headers are system headers and their warnings are not ours.

set(CMAKE_FIND_PACKAGE_NAME lockstep)  # by which find_dependency knows that what is missing ends the configuration
set(lockstep_FIND_REQUIRED TRUE)
set(LOCKSTEP_DEPENDENCY_SCOPE GLOBAL)
include(dependency)
include(engine_dependencies)
include(sim_dependencies)
lockstep_dependency(ssl OpenSSL::SSL OpenSSL::Crypto)

# One header, without a config of either kind.
find_path(LOCKSTEP_MUSTACHE_INCLUDE kainjow/mustache.hpp)
if(NOT LOCKSTEP_MUSTACHE_INCLUDE)
  message(FATAL_ERROR "kainjow/mustache.hpp is not installed (Debian: apt-get install libkainjow-mustache-dev, or ./dev deps)")
endif()
target_include_directories(lockstep_deps_mustache SYSTEM INTERFACE ${LOCKSTEP_MUSTACHE_INCLUDE})

# Whatever allocates much goes faster by it; nothing of it is called by name.
if(LOCKSTEP_ALLOCATOR STREQUAL mimalloc AND NOT LOCKSTEP_SANITIZE)
  find_package(mimalloc REQUIRED CONFIG)
  lockstep_dependency(allocator mimalloc)
elseif(NOT LOCKSTEP_ALLOCATOR MATCHES "^(mimalloc|system)$")
  message(FATAL_ERROR "LOCKSTEP_ALLOCATOR=${LOCKSTEP_ALLOCATOR}: expected mimalloc or system")
else()
  lockstep_dependency(allocator)
endif()

if(LOCKSTEP_TESTS)
  find_package(GTest REQUIRED CONFIG)
  lockstep_dependency(gtest GTest::gtest GTest::gmock)
  find_package(rapidcheck REQUIRED CONFIG)
  lockstep_dependency(rapidcheck rapidcheck rapidcheck_gtest)
endif()

# What only prod (and the benchmarks of prod) need.
if(LOCKSTEP_PROD)
  find_package(gRPC REQUIRED CONFIG)
  lockstep_dependency(grpc gRPC::grpc++)

  lockstep_pkgconfig(hiredis hiredis)
  lockstep_pkgconfig(uv libuv)
  lockstep_pkgconfig(nats libnats)

  # The client of the admin listener's test. Its compile definitions change the layout of its classes: without them a program links and then crashes.
  lockstep_pkgconfig(httplib cpp-httplib)

  # The target's definitions (compiled library, external fmt) matter: without them a unit takes three times as long.
  find_package(spdlog REQUIRED CONFIG)
  lockstep_dependency(spdlog spdlog::spdlog)

  find_package(prometheus-cpp REQUIRED CONFIG)
  lockstep_dependency(prometheus prometheus-cpp::core)
endif()

if(LOCKSTEP_BENCH)
  find_package(benchmark REQUIRED CONFIG)
  lockstep_dependency(benchmark benchmark::benchmark)
endif()
