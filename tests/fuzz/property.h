// How a fuzz target says that what it checks does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace mansard::fuzz {

// Each ends the process, with `what` and the last argument on stderr, unless
// `holds`: libFuzzer keeps the input then.
inline void Require(bool holds, const char* what,
                    const std::string& detail = "") {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n%s\n", what, detail.c_str());
  std::abort();
}
inline void Require(bool holds, const char* what, const absl::Status& status) {
  if (!holds) Require(false, what, status.ToString());
}
inline void Require(bool holds, const char* what,
                    const google::protobuf::Message& message) {
  if (!holds) Require(false, what, message.DebugString());
}

}  // namespace mansard::fuzz
