# Every third-party library behind one name, `deps::<library>`.
#
# The platform offers four ways to find a library (CMake modules, CMake configs, pkg-config, bare headers), and
# several of them have traps. They are dealt with here, once; the rest of the build knows only deps::*.
# All of them are imported targets, so their headers are system headers and their warnings are not ours.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(lockstep_dependency name)
  add_library(deps_${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(deps_${name} INTERFACE ${ARGN})
  add_library(deps::${name} ALIAS deps_${name})
endfunction()

function(lockstep_pkgconfig name module)
  pkg_check_modules(LOCKSTEP_PC_${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
  lockstep_dependency(${name} PkgConfig::LOCKSTEP_PC_${name})
endfunction()

# What engine, fakes, sim and reports need.
find_package(Protobuf REQUIRED MODULE)  # the Debian package has no usable CONFIG mode
lockstep_dependency(protobuf protobuf::libprotobuf Threads::Threads)

find_package(fmt REQUIRED CONFIG)
lockstep_dependency(fmt fmt::fmt)

find_package(nlohmann_json REQUIRED CONFIG)
lockstep_dependency(json nlohmann_json::nlohmann_json)

find_package(tl-expected REQUIRED CONFIG)
lockstep_dependency(expected tl::expected)

find_package(OpenSSL REQUIRED)
lockstep_dependency(crypto OpenSSL::Crypto)
lockstep_dependency(ssl OpenSSL::SSL OpenSSL::Crypto)

lockstep_pkgconfig(re2 re2)
lockstep_pkgconfig(xxhash libxxhash)
lockstep_pkgconfig(zlib zlib)

# The C++ build of Lua 5.1: in the plain one a script error skips C++ destructors, and CMake's FindLua51 finds
# that one.
lockstep_pkgconfig(lua lua5.1-c++)

find_package(yaml-cpp REQUIRED CONFIG)
lockstep_dependency(yaml yaml-cpp)

find_package(CLI11 REQUIRED CONFIG)
lockstep_dependency(cli11 CLI11::CLI11)

find_package(pugixml REQUIRED CONFIG)
lockstep_dependency(pugixml pugixml::pugixml)

# One header, without a config of either kind.
find_path(LOCKSTEP_MUSTACHE_INCLUDE kainjow/mustache.hpp)
if(NOT LOCKSTEP_MUSTACHE_INCLUDE)
  message(FATAL_ERROR "kainjow/mustache.hpp is not installed (Debian: apt-get install libkainjow-mustache-dev, or ./dev deps)")
endif()
lockstep_dependency(mustache)
target_include_directories(deps_mustache SYSTEM INTERFACE ${LOCKSTEP_MUSTACHE_INCLUDE})

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
