// The commands. Each makes its calls through the session and returns what to
// print; none of them prints.
#pragma once

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "clients/cli/command_status.h"
#include "clients/cli/output/style.h"
#include "clients/cli/session.h"

namespace mansard::cli {

absl::StatusOr<Answer> RunEstimate(const Session& session,
                                   const Arguments& arguments,
                                   const Style& style);
absl::StatusOr<Answer> RunKernel(const Session& session,
                                 const Arguments& arguments,
                                 const Style& style);
absl::StatusOr<Answer> RunRoofline(const Session& session,
                                   const Arguments& arguments,
                                   const Style& style);
absl::StatusOr<Answer> RunKv(const Session& session, const Arguments& arguments,
                             const Style& style);
// Of an engine that `asked` has in its catalog.
absl::StatusOr<Answer> RunBatch(const Session& asked,
                                const Arguments& arguments, const Style& style);
// Of a target: model and hardware are `catalog`'s or files, and go to `asked`,
// whose catalog ends with this command.
absl::StatusOr<Answer> RunBatchOfTarget(const Session& catalog,
                                        const Session& asked,
                                        const Arguments& arguments,
                                        const Style& style);
absl::StatusOr<Answer> RunEnginePredict(const Session& session,
                                        const Arguments& arguments,
                                        const Style& style);
absl::StatusOr<Answer> RunEngineLoad(const Session& session,
                                     const Arguments& arguments,
                                     const Style& style);
absl::StatusOr<Answer> RunEngineObserve(const Session& session,
                                        const Arguments& arguments,
                                        const Style& style);
absl::StatusOr<Answer> RunEngineCapacity(const Session& session,
                                         const Arguments& arguments,
                                         const Style& style);
absl::StatusOr<Answer> RunEngineLatencyModel(const Session& session,
                                             const Arguments& arguments,
                                             const Style& style);
absl::StatusOr<Answer> RunEngineImport(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style);
absl::StatusOr<Answer> RunModelImport(const Session& session,
                                      const Arguments& arguments,
                                      const Style& style);
absl::StatusOr<Answer> RunModelList(const Session& session,
                                    const Arguments& arguments,
                                    const Style& style);
absl::StatusOr<Answer> RunModelGet(const Session& session,
                                   const Arguments& arguments,
                                   const Style& style);
absl::StatusOr<Answer> RunModelDiff(const Session& session,
                                    const Arguments& arguments,
                                    const Style& style);
absl::StatusOr<Answer> RunHardwareList(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style);
absl::StatusOr<Answer> RunHardwareGet(const Session& session,
                                      const Arguments& arguments,
                                      const Style& style);
absl::StatusOr<Answer> RunEngineList(const Session& session,
                                     const Arguments& arguments,
                                     const Style& style);
absl::StatusOr<Answer> RunEngineGet(const Session& session,
                                    const Arguments& arguments,
                                    const Style& style);
absl::StatusOr<Answer> RunEngineCreate(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style);
absl::StatusOr<Answer> RunCalibrationList(const Session& session,
                                          const Arguments& arguments,
                                          const Style& style);
absl::StatusOr<Answer> RunCalibrationGet(const Session& session,
                                         const Arguments& arguments,
                                         const Style& style);
absl::StatusOr<Answer> RunCalibrationApply(const Session& session,
                                           const Arguments& arguments);
// Of models, hardware and engines.
absl::StatusOr<Answer> RunApply(const Session& session,
                                const Arguments& arguments);
// Of those and calibrations.
absl::StatusOr<Answer> RunDelete(const Session& session,
                                 const Arguments& arguments);
// Of all but models, whose diff is by kinds of layers.
absl::StatusOr<Answer> RunDiff(const Session& session,
                               const Arguments& arguments);
absl::StatusOr<Answer> RunStatus(const Session& session,
                                 const Arguments& arguments,
                                 const Style& style);
// In this process only: takes no session. Draws its progress where standard
// error is a terminal.
absl::StatusOr<Answer> RunValidate(const Arguments& arguments,
                                   const Style& style);
absl::StatusOr<Answer> RunVersion(const Arguments& arguments);

}  // namespace mansard::cli
