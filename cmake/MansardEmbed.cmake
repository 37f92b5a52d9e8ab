# mansard_embed(<target> HEADER <h> FUNCTION <name> FILES <file>...)
# Compiles data files into the binary, so that it runs from anywhere.
set(MANSARD_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake)
function(mansard_embed output)
  cmake_parse_arguments(A "" "FUNCTION;INCLUDE" "FILES" ${ARGN})
  list(TRANSFORM A_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(JOIN A_FILES "|" joined)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${A_FUNCTION}
            -DINCLUDE=${A_INCLUDE} -DFILES=${joined} -P ${MANSARD_EMBED_SCRIPT}
    DEPENDS ${A_FILES} ${MANSARD_EMBED_SCRIPT} VERBATIM)
endfunction()
