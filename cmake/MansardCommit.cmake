# mansard_commit(<output>): a source that says which commit is built, for
# server/commit.h. It is asked at each build, and written only where it has
# changed: then this one source is compiled anew, and what it is in linked.
set(MANSARD_COMMIT "" CACHE STRING
    "The commit that programs name; empty: as git says, \"unknown\" without")
find_package(Git QUIET)
set(MANSARD_COMMIT_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/write_commit.cmake)
function(mansard_commit output)
  add_custom_target(mansard_commit_source BYPRODUCTS ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DCOMMIT=${MANSARD_COMMIT}
            -DGIT=$<$<BOOL:${GIT_FOUND}>:${GIT_EXECUTABLE}>
            -DSOURCE=${PROJECT_SOURCE_DIR} -P ${MANSARD_COMMIT_SCRIPT}
    COMMENT "" VERBATIM)
endfunction()
