// Bytes as a Hugging Face config.json: an error says what is wrong, a graph is
// complete.
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/graph/hf_config.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/round_trip.h"

namespace fuzz = ::mansard::fuzz;
namespace model = ::mansard::model;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  model::Violations violations;
  const absl::StatusOr<model::ImportedConfig> imported =
      model::ImportHuggingFaceConfig(text, violations);
  for (const model::Violation& violation : violations.all()) {
    fuzz::Require(!violation.description.empty(), "a violation is described",
                  violation.field);
  }
  if (!imported.ok()) {
    fuzz::Require(
        imported.status().code() == absl::StatusCode::kInvalidArgument,
        "an error is INVALID_ARGUMENT", imported.status());
    fuzz::Require(!imported.status().message().empty(),
                  "an error has a message");
    return 0;
  }
  fuzz::Require(violations.empty(), "an accepted file breaks no rule",
                violations.ToStatus());
  fuzz::RequireRoundTrip(imported->graph, "");
  return 0;
}
