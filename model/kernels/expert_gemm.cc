#include "model/kernels/expert_gemm.h"

#include <algorithm>
#include <cmath>

#include "model/base/p_norm.h"
#include "model/kernels/pipeline_stages.h"

namespace mansard::model {
namespace {

// What no tile changes is computed once.
class Search {
 public:
  Search(const ExpertGemmFamily& family, const GemmMachine& machine,
         const ExpertGemmProblem& problem)
      : family_(family),
        p_(problem),
        multiprocessors_(machine.multiprocessors),
        smem_(machine.smem.value()),
        seconds_per_flop_(machine.multiprocessors /
                          (family.peak_fraction * machine.tensor.value())),
        seconds_per_smem_byte_(1 / family.sm_smem_feed.value()),
        seconds_per_l2_byte_(1 / family.l2_feed.value()),
        hbm_(family.hbm_fraction * machine.hbm.value()),
        sm_hbm_(family.sm_hbm_feed.value()),
        block_elements_(family.k_block_bytes / problem.input_bytes),
        blocks_(std::ceil(problem.k / block_elements_)),
        depth_(blocks_ * block_elements_),
        bytes_(Weights() + problem.activations.value()),
        cold_(1 - HotShare()),
        launch_(family.launch.value() + family.sort.value() * problem.rows /
                                            (problem.rows + kSortedRows)) {}

  ExpertGemmTimes Run() {
    for (const GemmTile& tile : family_.tiles) TryTile(tile);
    return Result();
  }

 private:
  struct Choice {
    GemmTile tile = {};
    double waves = 0;
    double tensor = 0;
    double smem = 0;
    double l2 = 0;
    double hbm = 0;
    double chain = 0;
    double time = 0;
  };

  double Weights() const { return p_.experts * p_.n * p_.k * p_.weight_bytes; }

  double HotShare() const {
    if (!p_.warm) return 0;
    const double kept = p_.l2_capacity.value() * family_.warm_share / Weights();
    return std::clamp(2 * kept - 1, 0.0, 1.0);
  }

  double TilesDown(double rows) const {
    if (p_.even) return p_.experts * std::ceil(p_.rows / p_.experts / rows);
    return std::max(p_.experts, p_.rows / rows + p_.experts / 2);
  }

  // `different`: tiles whose weights differ.
  double HbmTime(double different) const {
    const double at_once = std::min(different, multiprocessors_);
    const double cold = bytes_ * cold_ / std::min(hbm_, at_once * sm_hbm_);
    if (cold_ == 1) return cold;
    return cold +
           bytes_ * (1 - cold_) *
               std::max(seconds_per_l2_byte_, 1 / (2 * at_once * sm_hbm_));
  }

  void TryTile(const GemmTile& tile) {
    const double rows = tile.rows;
    const double columns = tile.columns;
    const double across = std::ceil(p_.n / columns);
    const double tiles = TilesDown(rows) * across;
    Choice choice;
    choice.tile = tile;
    choice.waves = std::ceil(tiles / multiprocessors_);
    choice.tensor =
        choice.waves * 2 * rows * columns * depth_ * seconds_per_flop_;
    choice.smem = choice.waves * std::max({rows, columns, 64.0}) / 64 *
                  (64 + std::min(rows, columns)) * depth_ * p_.input_bytes *
                  seconds_per_smem_byte_;
    const double compute = std::max(choice.tensor, choice.smem);
    const double operand_bytes =
        rows * p_.input_bytes + columns * p_.weight_bytes;
    choice.l2 = tiles * operand_bytes * depth_ * seconds_per_l2_byte_;
    choice.hbm = HbmTime(p_.experts * across);
    const double resident =
        ResidentJobs(smem_, (rows + columns) * family_.k_block_bytes);
    choice.chain = blocks_ * family_.block_latency.value() *
                   std::ceil(tiles / (multiprocessors_ * resident));
    const double fixed = launch_ + choice.waves * family_.wave.value();
    const double largest = std::max(std::max(compute, choice.l2),
                                    std::max(choice.hbm, choice.chain));
    if (found_ && fixed + largest >= best_.time) return;
    choice.time =
        fixed + largest * FourthRoot(FourthPower(compute / largest) +
                                     FourthPower(choice.l2 / largest) +
                                     FourthPower(choice.hbm / largest) +
                                     FourthPower(choice.chain / largest));
    if (found_ && choice.time >= best_.time) return;
    best_ = choice;
    found_ = true;
  }

  ExpertGemmTimes Result() const {
    ExpertGemmTimes times;
    times.tensor = Seconds::Of(best_.tensor);
    times.smem = Seconds::Of(best_.smem);
    times.l2 = Seconds::Of(best_.l2);
    times.hbm = Seconds::Of(best_.hbm);
    times.chain = Seconds::Of(best_.chain);
    times.launch = Seconds::Of(launch_);
    times.waves = best_.waves * family_.wave;
    times.time = Seconds::Of(best_.time);
    times.tile = best_.tile;
    times.l2_bytes = Bytes::Of(best_.l2 / seconds_per_l2_byte_);
    times.cold_share = cold_;
    return times;
  }

  const ExpertGemmFamily& family_;
  const ExpertGemmProblem& p_;
  const double multiprocessors_;
  const double smem_;
  const double seconds_per_flop_;  // Of one multiprocessor.
  const double seconds_per_smem_byte_;
  const double seconds_per_l2_byte_;
  const double hbm_;
  const double sm_hbm_;
  const double block_elements_;
  const double blocks_;
  const double depth_;
  const double bytes_;  // Weights and activations.
  const double cold_;   // Share of them.
  const double launch_;
  Choice best_;
  bool found_ = false;
};

}  // namespace

ExpertGemmTimes TimeExpertGemm(const ExpertGemmFamily& family,
                               const GemmMachine& machine,
                               const ExpertGemmProblem& problem) {
  return Search(family, machine, problem).Run();
}

}  // namespace mansard::model
