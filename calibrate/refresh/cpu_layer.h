// A transformer layer that runs on the host, op by op: what a prediction is
// held against.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/cpu/cold_pool.h"
#include "calibrate/cpu/cpu_ops.h"
#include "calibrate/measure/case.h"

namespace mansard::calibrate {

// Norm, grouped-query attention, norm and a gated feed-forward, each with its
// residual; fp32.
struct LayerShape {
  int64_t hidden = 0;
  int64_t feed_forward = 0;
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
};

// Tokens of one pass.
struct LayerPass {
  bool prefill = false;
  int64_t requests = 1;
  int64_t context_tokens = 0;  // With the new one; of prefill, all are new.

  int64_t rows() const {
    return prefill ? requests * context_tokens : requests;
  }
};

struct LayerOp {
  std::string name;  // "qkv_proj".
  Case kernel;       // As the engine prices it.
};
// In the order they run.
std::vector<LayerOp> LayerOps(const LayerShape& shape, const LayerPass& pass);

class CpuLayer {
 public:
  // Weights and caches come from `pool`, other ones each time: every run is
  // another layer, whose weights are in memory. Both outlive the layer.
  CpuLayer(const LayerShape& shape, const LayerPass& pass, CpuOps& ops,
           ColdPool& pool);

  // Seconds of each op.
  std::vector<double> Run();
  // Of the last run; finite, whatever was computed.
  double OutputMagnitude() const;

 private:
  void RunOp(size_t index);
  void Gemm(const std::vector<float>& x, int64_t columns, int64_t depth,
            std::vector<float>& y);

  const LayerShape shape_;
  const LayerPass pass_;
  const int64_t rows_;
  const AttentionSizes attention_;
  CpuOps& ops_;
  ColdPool& pool_;
  std::vector<float> norm_weight_;
  std::vector<float> residual_;
  std::vector<float> normed_;
  std::vector<float> qkv_;
  std::vector<float> attended_;
  std::vector<float> projected_;
  std::vector<float> gate_up_;
  std::vector<float> activated_;
};

}  // namespace mansard::calibrate
