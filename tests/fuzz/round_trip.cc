#include "tests/fuzz/round_trip.h"

#include <optional>
#include <string>

#include "google/protobuf/util/message_differencer.h"
#include "model/io/graph_io.h"
#include "tests/fuzz/property.h"

namespace mansard::fuzz {
namespace {

// `read` maps a message and violations to an optional value, `write` a value to
// its message.
template <class Value, class Read, class Write>
void RequireSame(const Value& value, const Read& read, const Write& write) {
  auto once = write(value);
  // Its texts, say, are UTF-8.
  Require(once.ParseFromString(once.SerializeAsString()),
          "what was written goes over the wire", once);
  model::Violations violations;
  const std::optional<Value> again = read(once, violations);
  Require(violations.empty(), "what was written breaks no rule",
          violations.ToStatus());
  Require(again.has_value(), "what was written is read");
  const auto twice = write(*again);
  Require(google::protobuf::util::MessageDifferencer::Equals(once, twice),
          "a round trip changes nothing", once);
}

}  // namespace

void RequireRoundTrip(const model::ModelGraph& graph, absl::string_view id) {
  RequireSame(
      graph,
      [id](const v1::ModelGraph& proto, model::Violations& violations) {
        return model::GraphFromProto(proto, id, violations);
      },
      [](const model::ModelGraph& value) { return GraphToProto(value); });
}

void RequireRoundTrip(const model::HardwareProfile& profile,
                      absl::string_view id, const model::FabricMap& fabrics) {
  RequireSame(
      profile,
      [&](const v1::HardwareProfile& proto, model::Violations& violations) {
        return model::ProfileFromProto(proto, id, fabrics, violations);
      },
      [](const model::HardwareProfile& value) {
        return ProfileToProto(value);
      });
}

void RequireRoundTrip(const model::Fabric& fabric) {
  RequireSame(
      fabric,
      [](const v1::Fabric& proto, model::Violations& violations) {
        return model::FabricFromProto(proto, violations);
      },
      [](const model::Fabric& value) { return FabricToProto(value); });
}

}  // namespace mansard::fuzz
