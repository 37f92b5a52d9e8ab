// What plans of several families need.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/hardware/device.h"

namespace mansard::calibrate {

// The first row of a table of priors whose `architecture` begins the device's;
// where none does, row `otherwise`.
template <class Generation, size_t kCount>
const Generation& GenerationOf(const model::Device& device,
                               const Generation (&generations)[kCount],
                               size_t otherwise) {
  for (const Generation& generation : generations) {
    if (absl::StartsWith(device.spec().architecture, generation.architecture)) {
      return generation;
    }
  }
  return generations[otherwise];
}

// 1 where the device does not say.
double Multiprocessors(const model::Device& device);
// In hertz; a typical one where the device does not say.
double Clock(const model::Device& device);

// The format of the cache in "bf16" and "bf16 kv fp8"; empty: of another slice.
std::optional<model::Format> CacheOf(absl::string_view slice);

}  // namespace mansard::calibrate
