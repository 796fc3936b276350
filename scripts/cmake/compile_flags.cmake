# One INTERFACE target that every target of the project links: warnings as errors and the chosen sanitizers.
option(TESSERA_TESTS "Build the tests, their programs and the fuzzers' smoke runs" ON)
option(TESSERA_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

add_library(tessera_flags INTERFACE)
target_include_directories(tessera_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tessera_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wimplicit-fallthrough -Werror
  -fno-strict-aliasing)
if(TESSERA_SANITIZE)
  # Not enum: a program may hand a function of the driver any int where an enumeration of cuda.h stands, and gets an error code.
  target_compile_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE} -fno-sanitize=enum -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tessera_flags INTERFACE -Wno-maybe-uninitialized)  # false alarms in <functional> under sanitizers
  endif()
endif()
if(TESSERA_FUZZ)
  target_compile_options(tessera_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TESSERA_CCACHE})
endif()
