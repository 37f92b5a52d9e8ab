#include "model/estimate/link_factor.h"

#include "absl/strings/str_format.h"

namespace mansard::model {

double LinkFactor(const HardwareProfile& hardware, const Fabric& fabric,
                  LinkTier tier) {
  const Link* const link = fabric.FindLink(tier);
  for (const Fabric& known : hardware.fabrics()) {
    const Link* const first = known.FindLink(tier);
    if (first == nullptr || link == nullptr) continue;
    return link->bandwidth.value / first->bandwidth.value;
  }
  return 1;
}

std::string LinkFactorAssumption(LinkTier tier, double factor) {
  return absl::StrFormat(
      "the kernel stack's rates on %s are of the device's first fabric: %.3g "
      "times those are taken, as its bandwidth is",
      LinkTierName(tier), factor);
}

}  // namespace mansard::model
