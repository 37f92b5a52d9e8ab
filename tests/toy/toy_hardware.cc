#include "tests/toy/toy_hardware.h"

#include <cstdlib>
#include <iostream>

namespace mansard::testing {
namespace {

using model::BytesPerSecond;
using model::Format;
using model::Microseconds;
using model::Provenance;
using model::ProvenanceKind;

const Provenance kToy{ProvenanceKind::kAssumed, "toy", ""};

model::FamilyFacts Facts(const char* id) {
  return {id, model::Tier::kSpec, 0.25, kToy};
}

template <class T>
model::Sourced<T> Toy(T value) {
  return {value, kToy};
}

}  // namespace

ToyHardware::ToyHardware() {
  device.vendor = "Toy";
  device.architecture = "round";
  device.multiprocessor_count = Toy(100.0);
  const auto rate = [this](Format format, double teraflops) {
    device.tensor_rates[static_cast<size_t>(format)] =
        Toy(model::TeraflopsPerSecond(teraflops));
  };
  rate(Format::kBf16, 1000);
  rate(Format::kFp16, 1000);
  rate(Format::kFp8E4m3, 2000);
  device.vector_rates[static_cast<size_t>(Format::kFp32)] =
      Toy(model::TeraflopsPerSecond(100));
  device.special_function_rate = Toy(model::TeraflopsPerSecond(10));
  device.hbm.capacity = Toy(model::Gigabytes(80));
  device.hbm.bandwidth = Toy(model::GigabytesPerSecond(1000));
  device.l2 = model::MemoryLevel{Toy(model::Bytes::Of(50e6)), std::nullopt};

  fabric.id = "toy-fabric";
  model::Link link;
  link.tier = model::LinkTier::kNvlink;
  link.bandwidth = Toy(model::GigabytesPerSecond(100));
  link.domain_devices = 8;
  fabric.links = {link};

  const BytesPerSecond feed = model::GigabytesPerSecond(10000);
  stack.id = "toy";
  stack.gemm = {
      {Facts("gemm"), Microseconds(1), Microseconds(2), 1, 1, feed, 128, 128}};
  stack.gemm_by_format.fill(0);
  stack.attention_decode = {
      Facts("decode"), Microseconds(1), Microseconds(3), 1, 1, feed};
  stack.attention_prefill = {
      Facts("prefill"), Microseconds(1), {{64, 0.5}, {128, 1}}, 1};
  stack.elementwise = {Facts("elementwise"), Microseconds(1), 1, feed};
  stack.collectives[static_cast<size_t>(model::LinkTier::kNvlink)] =
      model::CollectiveFamily{Facts("nvlink"),
                              {{Microseconds(10), Microseconds(1),
                                model::GigabytesPerSecond(100)}}};
  stack.host.provenance = kToy;
}

std::shared_ptr<const model::HardwareProfile> ToyHardware::Build() const {
  model::Violations violations;
  std::optional<model::Device> built =
      model::Device::Create(device, violations);
  std::optional<model::Fabric> net = model::Fabric::Create(fabric, violations);
  std::optional<model::KernelStack> kernels =
      model::KernelStack::Create(stack, violations);
  if (!violations.empty()) {
    std::cerr << violations.ToStatus() << "\n";
    std::abort();
  }
  std::optional<model::HardwareProfile> profile =
      model::HardwareProfile::Create("toy", "Toy", *std::move(built),
                                     {*std::move(net)}, {*std::move(kernels)},
                                     violations);
  if (!profile.has_value()) {
    std::cerr << violations.ToStatus() << "\n";
    std::abort();
  }
  return std::make_shared<const model::HardwareProfile>(*std::move(profile));
}

}  // namespace mansard::testing
