// A device, the fabrics it is sold with, and the kernel stacks known for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"
#include "model/hardware/device.h"
#include "model/hardware/fabric.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

class HardwareProfile {
 public:
  // Rules: at least one stack and one fabric, ids unique.
  static std::optional<HardwareProfile> Create(std::string id,
                                               std::string display_name,
                                               Device device,
                                               std::vector<Fabric> fabrics,
                                               std::vector<KernelStack> stacks,
                                               Violations& violations);

  const std::string& id() const { return id_; }  // Empty for inline profiles.
  const std::string& display_name() const { return display_name_; }
  const Device& device() const { return device_; }
  const std::vector<Fabric>& fabrics() const { return fabrics_; }
  const std::vector<KernelStack>& stacks() const { return stacks_; }
  // Null where unknown; an empty id is the first.
  const Fabric* FindFabric(absl::string_view id) const;
  const KernelStack* FindStack(absl::string_view id) const;

 private:
  HardwareProfile(std::string id, std::string display_name, Device device,
                  std::vector<Fabric> fabrics, std::vector<KernelStack> stacks)
      : id_(std::move(id)),
        display_name_(std::move(display_name)),
        device_(std::move(device)),
        fabrics_(std::move(fabrics)),
        stacks_(std::move(stacks)) {}

  std::string id_;
  std::string display_name_;
  Device device_;
  std::vector<Fabric> fabrics_;
  std::vector<KernelStack> stacks_;
};

}  // namespace mansard::model
