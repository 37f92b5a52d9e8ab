// Which commit a program was built from.
#pragma once

namespace mansard::server {

// 12 digits, "-dirty" behind them where files differ from it; "unknown" where
// it was built without git. Its source is generated (cmake/MansardCommit.cmake)
// and in mansardd alone, so that a commit compiles nothing else anew.
extern const char kCommit[];

}  // namespace mansard::server
