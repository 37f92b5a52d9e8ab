#include "calibrate/tables/kernel_slices.h"

#include <map>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

// Device, framework, version, slice.
using Key = std::tuple<std::string, std::string, std::string, std::string>;

Key KeyOf(const MeasuredCase& measured) {
  return {measured.device, measured.framework, measured.version,
          measured.slice};
}

std::string NameOf(const std::string& kernel) {
  return kernel.substr(0, kernel.find('|'));
}

}  // namespace

std::string CacheSlice(absl::string_view type, absl::string_view cache) {
  return type == cache ? std::string(type) : absl::StrCat(type, " kv ", cache);
}

bool IsRepeated(absl::string_view source) {
  return absl::StartsWith(source, "ai-dynamo/aiconfigurator@");
}

void SliceByKernel(const std::vector<std::string>& kernels,
                   std::vector<MeasuredCase>& cases) {
  std::map<Key, std::map<std::string, size_t>> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    ++counts[KeyOf(cases[i])][NameOf(kernels[i])];
  }
  std::map<Key, std::string> own;
  for (const auto& [key, by_kernel] : counts) {
    size_t most = 0;
    for (const auto& [kernel, count] : by_kernel) {
      if (count <= most) continue;
      most = count;
      own[key] = kernel;
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string kernel = NameOf(kernels[i]);
    if (kernel == own[KeyOf(cases[i])]) continue;
    absl::StrAppend(&cases[i].slice, ", ", kernel);
    cases[i].in_target = false;
  }
}

}  // namespace mansard::calibrate
