#include "model/price/op_parts.h"

namespace mansard::model {
namespace {

// Infinite where no source gives it.
template <class T>
T RateOf(const std::optional<Sourced<T>>& rate) {
  return rate.has_value() ? rate->value : T::Infinity();
}

BytesPerSecond L2Bandwidth(const DeviceSpec& device) {
  return device.l2.has_value() ? RateOf(device.l2->bandwidth)
                               : BytesPerSecond::Infinity();
}

double Multiprocessors(const DeviceSpec& device) {
  return device.multiprocessor_count.has_value()
             ? device.multiprocessor_count->value
             : 1;
}

}  // namespace

ResolvedHardware::ResolvedHardware(const HardwareView& hardware)
    : view(hardware),
      vector(hardware.device.VectorRate().value_or(FlopsPerSecond::Infinity())),
      special(RateOf(hardware.device.spec().special_function_rate)),
      hbm(hardware.device.HbmBandwidth()),
      l2(L2Bandwidth(hardware.device.spec())),
      l2_capacity(hardware.device.L2Capacity()),
      multiprocessors(Multiprocessors(hardware.device.spec())),
      smem(hardware.device.spec().smem.has_value()
               ? hardware.device.spec().smem->capacity.value / multiprocessors
               : Bytes::Infinity()) {}

}  // namespace mansard::model
