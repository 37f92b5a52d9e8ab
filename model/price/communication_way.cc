#include "model/price/communication_way.h"

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

using Protocol = CollectiveFamily::Protocol;

std::string LineText(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return "ring ll";
    case Protocol::kLl128:
      return "ring ll128";
    case Protocol::kSimple:
      return "ring simple";
    case Protocol::kTree:
      return "tree";
    case Protocol::kInSwitch:
      return "in-switch";
  }
  return "";
}

// Of a message to each peer there is no ring.
std::string DirectText(Protocol protocol) {
  return LineText(protocol).substr(sizeof("ring ") - 1);
}

}  // namespace

std::string WayText(const CommunicationWay& way) {
  if (way.algorithm == CollectiveAlgorithm::kAuto) return "";
  std::string text(AlgorithmName(way.algorithm));
  const bool direct = way.algorithm == CollectiveAlgorithm::kDirect;
  const auto line = [direct](Protocol protocol) {
    return direct ? DirectText(protocol) : LineText(protocol);
  };
  if (!way.between.has_value()) {
    if (!way.inside.has_value()) return text;
    return direct ? absl::StrCat(text, " ", line(*way.inside))
                  : line(*way.inside);
  }
  if (!way.inside.has_value()) {
    return direct ? absl::StrCat(text, " ", line(*way.between))
                  : line(*way.between);
  }
  return absl::StrCat(text, ": ", line(*way.inside), " in the nodes, ",
                      line(*way.between), " between");
}

}  // namespace mansard::model
