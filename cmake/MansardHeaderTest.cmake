# Every public header compiles alone: one generated source a header, built by
# the object library `header_tests` (part of `all`).
add_library(header_tests OBJECT)
target_link_libraries(header_tests PRIVATE mansard_options)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/header_tests/empty.cc "")
target_sources(header_tests PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/header_tests/empty.cc)

function(mansard_header_test target)
  foreach(header IN LISTS ARGN)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR}
         ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    string(REPLACE "/" "_" flat "${relative}")
    set(source ${PROJECT_BINARY_DIR}/header_tests/${flat}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@relative@\"\n#include \"@relative@\"\n" @ONLY)
    target_sources(header_tests PRIVATE ${source})
  endforeach()
  target_link_libraries(header_tests PRIVATE ${target})
endfunction()
