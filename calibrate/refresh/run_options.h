// How mansard-calibrate run and prove are asked.
#pragma once

#include <string>

namespace mansard::calibrate {

struct RunOptions {
  std::string backend;    // "cpu", "cuda".
  std::string directory;  // Of the record and the profile.
  double budget_seconds = 600;
};

// In the directory.
inline constexpr char kRecordFile[] = "samples.jsonl";
inline constexpr char kProfileFile[] = "profile.textproto";

}  // namespace mansard::calibrate
