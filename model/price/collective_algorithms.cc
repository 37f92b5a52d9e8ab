#include "model/price/collective_algorithms.h"

#include <variant>

#include "model/price/price.h"

namespace mansard::model {
namespace {

void Wish(CollectiveAlgorithm algorithm, CollectiveShape& shape) {
  shape.algorithm = algorithm;
}

void Wish(CollectiveAlgorithm algorithm, ExchangeShape& shape) {
  shape.kernels = algorithm == CollectiveAlgorithm::kLowLatency
                      ? ExchangeKernels::kLowLatency
                  : algorithm == CollectiveAlgorithm::kThroughput
                      ? ExchangeKernels::kThroughput
                      : ExchangeKernels::kDirect;
}

}  // namespace

std::vector<CollectiveAlgorithm> AlgorithmsFor(const Op& op,
                                               const HardwareView& hardware) {
  std::vector<CollectiveAlgorithm> found;
  for (int i = 1; i < kCollectiveAlgorithmCount; ++i) {
    const auto algorithm = static_cast<CollectiveAlgorithm>(i);
    Op wished = op;
    if (auto* shape = std::get_if<CollectiveShape>(&wished.shape)) {
      Wish(algorithm, *shape);
    }
    if (auto* shape = std::get_if<ExchangeShape>(&wished.shape)) {
      Wish(algorithm, *shape);
    }
    if (Price(wished, hardware).way.algorithm == algorithm) {
      found.push_back(algorithm);
    }
  }
  return found;
}

}  // namespace mansard::model
