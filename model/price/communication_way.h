// What stands behind the time of a collective or an exchange: which algorithm,
// and which protocol lines.
#pragma once

#include <optional>
#include <string>

#include "model/hardware/collective_algorithm.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

struct CommunicationWay {
  using Protocol = CollectiveFamily::Protocol;

  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;  // Of no way.
  // The line taken where ranks share a tier, or inside the nodes; and between
  // nodes.
  std::optional<Protocol> inside;
  std::optional<Protocol> between;
};

// "one-shot", "ring ll128", "hierarchical: in-switch in the nodes, ring simple
// between"; empty without a way.
std::string WayText(const CommunicationWay& way);

}  // namespace mansard::model
