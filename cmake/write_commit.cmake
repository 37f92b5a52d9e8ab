# Writes OUTPUT with COMMIT, or with the commit of the repository whose top is
# SOURCE. A folder inside of somebody else's repository has none.
if(NOT COMMIT AND GIT)
  execute_process(COMMAND ${GIT} rev-parse --show-toplevel
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE top
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${SOURCE}" source)
  if(top)
    file(REAL_PATH "${top}" top)
  endif()
  if(top STREQUAL source)
    execute_process(
      COMMAND ${GIT} --no-optional-locks describe --always --dirty
              --abbrev=12 --exclude=*
      WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT COMMIT MATCHES "^[0-9A-Za-z._-]+$")
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "server/commit.h"

namespace mansard::server {

const char kCommit[] = "@COMMIT@";

}  // namespace mansard::server
]])
