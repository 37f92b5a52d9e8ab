// The host processor as a backend: one thread, fp32.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "calibrate/cpu/cold_pool.h"
#include "calibrate/cpu/cpu_ops.h"
#include "calibrate/cpu/machine.h"
#include "calibrate/measure/backend.h"

namespace mansard::calibrate {

class CpuBackend : public Backend {
 public:
  // Without OpenBLAS it runs what needs none.
  CpuBackend();

  const DeviceIdentity& identity() const override { return identity_; }
  const Machine& machine() const { return machine_; }
  // UNIMPLEMENTED: see OpenBlas::Load.
  absl::StatusOr<CpuOps*> ops();
  ColdPool& pool();             // Of weights and caches.
  ColdPool& activation_pool();  // Of what kernels hand on.

  absl::StatusOr<std::unique_ptr<PreparedCase>> Prepare(
      const Case& measured) override;
  double RunOperations(const Case& measured) const override;
  double Now() override;
  void Sleep(double seconds) override;

 private:
  const Machine machine_;
  const Loops& loops_;
  absl::StatusOr<CpuOps> ops_;
  DeviceIdentity identity_;
  // Made when first needed.
  std::unique_ptr<ColdPool> pool_;
  std::unique_ptr<ColdPool> activation_pool_;
};

}  // namespace mansard::calibrate
