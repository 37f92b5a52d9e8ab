// Every metric family that a server exports: this table is their
// documentation. Labels stand in brackets; process_* are in process_metrics.h.
// grpc_* are the names that stock gRPC dashboards know.
#pragma once

namespace mansard::server {

struct FamilyInfo {
  const char* name;
  const char* help;
};

namespace family {

// Calls.
inline constexpr FamilyInfo kStarted = {
    "grpc_server_started_total",
    "RPCs started [grpc_type, grpc_service, grpc_method]."};
inline constexpr FamilyInfo kHandled = {
    "grpc_server_handled_total",
    "RPCs finished [grpc_type, grpc_service, grpc_method, grpc_code]."};
inline constexpr FamilyInfo kHandlingSeconds = {
    "grpc_server_handling_seconds",
    "Time from the request to its answer, with the wait of a heavy call and "
    "without the network [grpc_type, grpc_service, grpc_method]."};
inline constexpr FamilyInfo kMessagesReceived = {
    "grpc_server_msg_received_total",
    "Messages of streams that came [grpc_type, grpc_service, grpc_method]."};
inline constexpr FamilyInfo kMessagesSent = {
    "grpc_server_msg_sent_total",
    "Messages of streams that were answered [grpc_type, grpc_service, "
    "grpc_method]."};
inline constexpr FamilyInfo kInFlight = {
    "mansard_rpcs_in_flight",
    "RPCs started whose answer has not left; hot ones run at once, heavy ones "
    "on the pool [class]."};
inline constexpr FamilyInfo kHeavyQueued = {
    "mansard_heavy_rpcs_queued",
    "Heavy RPCs that wait for a thread of the pool."};
inline constexpr FamilyInfo kHeavyWaitSeconds = {
    "mansard_heavy_rpc_wait_seconds",
    "Waits of heavy RPCs for a thread of the pool."};
inline constexpr FamilyInfo kHeavyRejected = {
    "mansard_heavy_rpcs_rejected_total",
    "Heavy RPCs answered RESOURCE_EXHAUSTED because the queue was full."};

// Predictions. Work is named as vLLM and SGLang name what they estimate of
// themselves, and means the same: their rate over a device's busy time lies
// beside ours over the predicted time.
inline constexpr FamilyInfo kPredictedStep = {
    "mansard_predicted_step_seconds",
    "Step times that estimates answered [model, hardware, phase]."};
inline constexpr FamilyInfo kPredictedBound = {
    "mansard_predicted_bound_seconds_total",
    "Parts of the answered step times by what bounds them; over all bounds the "
    "sum of the step times [model, hardware, phase, bound]."};
inline constexpr FamilyInfo kEstimatedFlops = {
    "mansard_estimated_flops_per_gpu_total",
    "Tensor operations of the answered steps on one device; of a pipeline, "
    "along the critical path [model, hardware, phase]."};
inline constexpr FamilyInfo kEstimatedReadBytes = {
    "mansard_estimated_read_bytes_per_gpu_total",
    "Bytes that the answered steps read on one device: weights, keys and "
    "values, activations [model, hardware, phase]."};
inline constexpr FamilyInfo kEstimatedWriteBytes = {
    "mansard_estimated_write_bytes_per_gpu_total",
    "Bytes that the answered steps write on one device: keys and values, "
    "activations [model, hardware, phase]."};
inline constexpr FamilyInfo kExtrapolations = {
    "mansard_extrapolations_total",
    "Estimates with an op of this kind outside the sizes that its kernels were "
    "fitted on [hardware, op_kind]."};
inline constexpr FamilyInfo kRecommendedBatch = {
    "mansard_recommended_batch_requests",
    "Batch sizes that RecommendBatchSize answered [engine]."};
inline constexpr FamilyInfo kRecommendations = {
    "mansard_recommendations_total",
    "Answers of RecommendBatchSize by what limits the batch [engine, limit]."};

// What engines were seen to take, and what was expected.
inline constexpr FamilyInfo kObservedSeconds = {
    "mansard_observed_step_seconds_total",
    "Times that engines reported; of a run its time to the first token counts "
    "as prefill, its time per output token as decode [engine, phase]."};
inline constexpr FamilyInfo kExpectedSeconds = {
    "mansard_expected_step_seconds_total",
    "What was predicted for the reported times, without the engine's own "
    "factors; for the first token with the ratio of the same run's output "
    "tokens [engine, phase]."};
inline constexpr FamilyInfo kObservations = {
    "mansard_observations_total",
    "Times that engines reported [engine, phase]."};
inline constexpr FamilyInfo kObservedRatio = {
    "mansard_observed_to_predicted_ratio",
    "Reported times over predicted ones [engine, phase]."};
inline constexpr FamilyInfo kOwnFactor = {
    "mansard_engine_own_factor_ratio",
    "Factor of an engine's own that its observations make, for its steps and "
    "for the way to the first token [engine, part]."};

// Calibration.
inline constexpr FamilyInfo kCalibrations = {
    "mansard_calibrations_total",
    "Calibrations that were kept, and applied or found unfit for that "
    "[hardware, outcome]."};
inline constexpr FamilyInfo kMeasurements = {
    "mansard_calibration_measurements_total",
    "Measurements of the calibrations that were kept [hardware, outcome]."};
inline constexpr FamilyInfo kResidual = {
    "mansard_calibration_residual_ratio",
    "Standard deviation of ln(measured / predicted) of the kernels calibrated "
    "for an op kind as stacks bind it, the largest of the profile's stacks and "
    "precisions [hardware, op_kind]."};
inline constexpr FamilyInfo kCalibrateTime = {
    "mansard_profile_calibrate_timestamp_seconds",
    "When a calibration was last applied to the profile, since the Unix epoch "
    "[hardware]."};
inline constexpr FamilyInfo kProfileInfo = {
    "mansard_profile_info",
    "1, for each readable profile; tier: the strongest of its kernel stacks "
    "[hardware, revision, provenance, tier]."};

// Catalog and process.
inline constexpr FamilyInfo kCatalogResources = {
    "mansard_catalog_resources", "Resources in the catalog [kind]."};
inline constexpr FamilyInfo kCatalogBroken = {
    "mansard_catalog_broken_resources",
    "Stored resources that this version cannot use [kind]."};
inline constexpr FamilyInfo kCatalogChangeTime = {
    "mansard_catalog_change_timestamp_seconds",
    "When the catalog last changed or was loaded, since the Unix epoch."};
inline constexpr FamilyInfo kBuildInfo = {
    "mansard_build_info",
    "1, with what runs; a commit built with changes ends in -dirty [version, "
    "commit]."};
inline constexpr FamilyInfo kLabelOverflow = {
    "mansard_metric_label_overflow_total",
    "Times that a value counted as \"other\", or was left out, because its "
    "family was full [metric]."};

}  // namespace family
}  // namespace mansard::server
