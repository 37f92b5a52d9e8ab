// The chip: peak rates, memory levels, size.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/format.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

struct MemoryLevel {
  Sourced<Bytes> capacity;  // Whole device.
  // Whole device, reads; empty where no source supports a number.
  std::optional<Sourced<BytesPerSecond>> bandwidth;
};

struct DeviceSpec {
  std::string vendor;
  std::string architecture;
  // Empty where no source counts units that a rate could be held against.
  std::optional<Sourced<double>> multiprocessor_count;
  std::optional<Sourced<double>> clock_hertz;  // Where the peak rates hold.
  // Dense rates of the tensor units by the format they compute in, and of the
  // vector units. Empty where the device has no unit for the format.
  std::array<std::optional<Sourced<FlopsPerSecond>>, kFormatCount> tensor_rates;
  std::array<std::optional<Sourced<FlopsPerSecond>>, kFormatCount> vector_rates;
  std::optional<Sourced<FlopsPerSecond>> special_function_rate;
  std::optional<MemoryLevel> smem;
  std::optional<MemoryLevel> l2;
  MemoryLevel hbm;  // Any device memory; capacity and bandwidth are required.
  std::optional<Sourced<double>> board_power_watts;
  std::string peak_rate_note;
};

// What a GEMM of these operand formats runs on.
struct ComputeFormat {
  Format format = Format::kBf16;  // The tensor rate that applies.
  // The weights are stored narrower than they are computed with.
  bool weight_only = false;
};

class Device {
 public:
  // Rules: hbm capacity and bandwidth and at least one rate, tensor or vector,
  // are there; every number is positive and finite. What a rate is missing for
  // cannot be priced: see ComputeFor and VectorRate.
  static std::optional<Device> Create(DeviceSpec spec, Violations& violations);

  const DeviceSpec& spec() const { return spec_; }

  FlopsPerSecond TensorRate(Format format) const;  // Precondition: HasTensor.
  bool HasTensor(Format format) const {
    return spec_.tensor_rates[static_cast<size_t>(format)].has_value();
  }
  // Of fp32. Empty where no source gives it: vector work is then not priced.
  std::optional<FlopsPerSecond> VectorRate() const;
  BytesPerSecond HbmBandwidth() const { return spec_.hbm.bandwidth->value; }
  Bytes HbmCapacity() const { return spec_.hbm.capacity.value; }
  // Zero where unknown: nothing is then taken to stay in L2.
  Bytes L2Capacity() const;

  // The unit for a GEMM. 16- and 32-bit activations compute in their own
  // format, whatever the weights are stored in; low-precision activations need
  // a tensor rate for the format. Empty: the device has no such unit
  // (PRECISION_UNSUPPORTED).
  std::optional<ComputeFormat> ComputeFor(Format weights,
                                          Format activations) const;
  // Names of the formats with a tensor rate; "none" where there is none.
  std::string TensorFormatNames() const;

  // Lines for people where a dense bf16 (else fp16) rate is not a power of two
  // operations per multiprocessor and clock (within 2 %); empty when it is,
  // when a note explains it, and where the rate, the count or the clock is not
  // known.
  std::vector<std::string> Lint() const;

 private:
  explicit Device(DeviceSpec spec) : spec_(std::move(spec)) {}
  DeviceSpec spec_;
};

}  // namespace mansard::model
