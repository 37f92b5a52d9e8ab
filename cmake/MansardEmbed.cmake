# mansard_embed(<output> FUNCTION <name> INCLUDE <header> MESSAGE <message>
#               FILES <file>...)
# Compiles data files of catalog.proto into the binary, so that it runs from
# anywhere: in the wire format, so that no start parses text.
set(MANSARD_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake)
function(mansard_embed output)
  cmake_parse_arguments(A "" "FUNCTION;INCLUDE;MESSAGE" "FILES" ${ARGN})
  list(TRANSFORM A_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(JOIN A_FILES "|" joined)
  set(protos ${PROJECT_SOURCE_DIR}/proto)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${A_FUNCTION}
            -DINCLUDE=${A_INCLUDE} -DMESSAGE=${A_MESSAGE}
            -DPROTOC=$<TARGET_FILE:protobuf::protoc> -DPROTOS=${protos}
            -DFILES=${joined} -P ${MANSARD_EMBED_SCRIPT}
    DEPENDS ${A_FILES} ${MANSARD_EMBED_SCRIPT} protobuf::protoc
            ${protos}/mansard/v1/catalog.proto
            ${protos}/mansard/v1/workload.proto VERBATIM)
endfunction()
