# Run by mansard_embed: writes OUTPUT, a C++ source that defines FUNCTION as a
# list of {file name without extension, text}.
string(REPLACE "|" ";" FILES "${FILES}")
set(body "")
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WLE)
  file(READ ${file} text)
  if(text MATCHES "\\)mansard\"")
    message(FATAL_ERROR "${file} holds the raw string delimiter")
  endif()
  string(APPEND body "      {\"${stem}\", R\"mansard(${text})mansard\"},\n")
endforeach()
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
