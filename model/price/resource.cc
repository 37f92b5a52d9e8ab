#include "model/price/resource.h"

namespace mansard::model {

absl::string_view ResourceName(Resource resource) {
  switch (resource) {
    case Resource::kTensor:
      return "tensor";
    case Resource::kVector:
      return "vector";
    case Resource::kSfu:
      return "sfu";
    case Resource::kSmem:
      return "smem";
    case Resource::kL2:
      return "l2";
    case Resource::kHbm:
      return "hbm";
    case Resource::kNvlink:
      return "nvlink";
    case Resource::kPcie:
      return "pcie";
    case Resource::kRdma:
      return "rdma";
    case Resource::kLaunch:
      return "launch";
    case Resource::kSync:
      return "sync";
    case Resource::kHost:
      return "host";
  }
  return "";
}

absl::string_view BoundName(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kCommunication:
      return "communication";
    case Bound::kOverhead:
      return "overhead";
  }
  return "";
}

Bound BoundOf(Resource resource) {
  switch (resource) {
    case Resource::kTensor:
    case Resource::kVector:
    case Resource::kSfu:
      return Bound::kCompute;
    case Resource::kSmem:
    case Resource::kL2:
    case Resource::kHbm:
      return Bound::kMemory;
    case Resource::kNvlink:
    case Resource::kPcie:
    case Resource::kRdma:
      return Bound::kCommunication;
    case Resource::kLaunch:
    case Resource::kSync:
    case Resource::kHost:
      return Bound::kOverhead;
  }
  return Bound::kOverhead;
}

Resource ResourceOf(LinkTier tier) {
  switch (tier) {
    case LinkTier::kNvlink:
      return Resource::kNvlink;
    case LinkTier::kPcie:
      return Resource::kPcie;
    case LinkTier::kRdma:
      return Resource::kRdma;
  }
  return Resource::kRdma;
}

}  // namespace mansard::model
