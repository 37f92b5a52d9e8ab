# mansard_library / mansard_executable / mansard_test: our own targets, with
# our warnings. Generated code never goes through here.

add_library(mansard_options INTERFACE)
target_compile_features(mansard_options INTERFACE cxx_std_20)
target_compile_options(mansard_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  # g++ 12 sees overlaps in std::string that are not there, once it optimises.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict>
  -ffp-contract=off)   # goldens must not depend on fused multiply-adds
target_include_directories(mansard_options INTERFACE ${PROJECT_SOURCE_DIR})

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(MANSARD_CCACHE ccache)
if(MANSARD_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MANSARD_CCACHE})
endif()
find_program(MANSARD_MOLD mold)
if(MANSARD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# mansard_library(<target> SOURCES ... HEADERS ... LINK ...)
# HEADERS are the public ones: each is also compiled alone (MansardHeaderTest).
function(mansard_library target)
  cmake_parse_arguments(A "" "" "SOURCES;HEADERS;LINK" ${ARGN})
  add_library(${target} STATIC ${A_SOURCES} ${A_HEADERS})
  target_link_libraries(${target} PUBLIC mansard_options ${A_LINK})
  mansard_header_test(${target} ${A_HEADERS})
endfunction()

function(mansard_executable target)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${A_SOURCES})
  target_link_libraries(${target} PRIVATE mansard_options ${A_LINK})
endfunction()

# An executable that people run: at the top of the build folder, and installed.
function(mansard_program target)
  mansard_executable(${target} ${ARGN})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS ${target} RUNTIME)
endfunction()

# mansard_test(<target> SOURCES ... LINK ... [LABELS ...] [ALONE]): one
# GoogleTest binary a folder; every TEST is its own ctest entry. ALONE: no other
# test runs beside its tests.
function(mansard_test target)
  if(NOT MANSARD_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "ALONE" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${target} ${A_SOURCES})
  target_link_libraries(${target} PRIVATE mansard_options ${A_LINK}
                        GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE
    MANSARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    MANSARD_BINARY_DIR="${PROJECT_BINARY_DIR}")
  include(GoogleTest)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 120 RUN_SERIAL ${A_ALONE}
                                  LABELS "${A_LABELS}")
endfunction()
