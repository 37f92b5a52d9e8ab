# Run by mansard_embed: writes OUTPUT, a C++ source that defines FUNCTION as a
# list of {file name without extension, bytes of MESSAGE}.
string(REPLACE "|" ";" FILES "${FILES}")
set(wire ${OUTPUT}.wire)
set(body "")
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WLE)
  execute_process(
    COMMAND ${PROTOC} --proto_path=${PROTOS} --encode=${MESSAGE}
            --deterministic_output mansard/v1/catalog.proto
    INPUT_FILE ${file} OUTPUT_FILE ${wire}
    RESULT_VARIABLE result ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${file}: ${error}")
  endif()
  file(SIZE ${wire} size)
  file(READ ${wire} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND body "      {\"${stem}\", {\"${bytes}\", ${size}}},\n")
endforeach()
file(REMOVE ${wire})
file(WRITE ${OUTPUT} "// Generated from the data files; do not edit.
#include \"${INCLUDE}\"

namespace mansard::model {

const std::vector<EmbeddedFile>& ${FUNCTION}() {
  static const std::vector<EmbeddedFile>* const kFiles =
      new std::vector<EmbeddedFile>{
${body}      };
  return *kFiles;
}

}  // namespace mansard::model
")
