// `mansard kernel`.
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/answer.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/kernel_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/kernel_text.h"

namespace mansard::cli {
namespace {

std::string NameOf(const v1::EstimateKernelRequest& request) {
  switch (request.kernel_case()) {
    case v1::EstimateKernelRequest::kGemm:
      return "gemm";
    case v1::EstimateKernelRequest::kAttention:
      return "attention";
    case v1::EstimateKernelRequest::kMoe:
      return "moe";
    case v1::EstimateKernelRequest::kCollective:
      return request.collective().collective();
    case v1::EstimateKernelRequest::kElementwise:
      return request.elementwise().operation();
    case v1::EstimateKernelRequest::KERNEL_NOT_SET:
      break;
  }
  return "kernel";
}

std::string HintOf(const absl::Status& status, const Arguments& arguments) {
  if (absl::IsFailedPrecondition(status) &&
      arguments.command != Command::kKernelCollective) {
    return "--weights, --activations and --kv choose formats; bf16 is the "
           "default";
  }
  return CatalogHint(status);
}

std::string TableAnswer(const v1::EstimateKernelRequest& request,
                        const v1::EstimateKernelResponse& response, bool quiet,
                        const Style& style) {
  const double seconds = response.time_seconds();
  const v1::Tier tier = TierOf(response);
  std::string out = KernelHeadline(response, NameOf(request), style);
  absl::StrAppend(
      &out, "\n", TableText(OpsReport(response.ops(), seconds, tier), style),
      OpsLegend(response.ops()), "\n", AdviceText(response.ops(), seconds),
      FooterText(response.resolution(), tier, quiet, style));
  return out;
}

}  // namespace

absl::StatusOr<Answer> RunKernel(const Session& session,
                                 const Arguments& arguments,
                                 const Style& style) {
  absl::StatusOr<v1::EstimateKernelRequest> request =
      KernelRequestOf(arguments);
  if (!request.ok()) return request.status();
  const absl::Status filled =
      FillHardware(arguments.estimate, request->mutable_target());
  if (!filled.ok()) return filled;
  v1::EstimateKernelResponse response;
  const absl::Status called =
      session.Call(session.client().estimation(),
                   &v1::EstimationService::Stub::EstimateKernel, *request,
                   &response, [&arguments](const std::string& field) {
                     return FlagOfKernelField(arguments, field);
                   });
  if (!called.ok()) return WithHint(called, HintOf(called, arguments));
  return AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] {
        return OpsReport(response.ops(), response.time_seconds(),
                         TierOf(response));
      },
      [&] { return TableAnswer(*request, response, arguments.quiet, style); });
}

}  // namespace mansard::cli
