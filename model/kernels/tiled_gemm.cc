#include "model/kernels/tiled_gemm.h"

#include <algorithm>
#include <cmath>

#include "model/base/p_norm.h"
#include "model/kernels/pipeline_stages.h"

namespace mansard::model {
namespace {

constexpr double kPartialSumBytes = 8;  // fp32, written and read.

// Seconds and rates of the family and the machine as plain numbers, for the
// search; everything that no configuration changes is computed once.
class Search {
 public:
  Search(const TiledGemmFamily& family, const GemmMachine& machine,
         const GemmProblem& problem)
      : family_(family),
        p_(problem),
        multiprocessors_(machine.multiprocessors),
        smem_(machine.smem.value()),
        seconds_per_flop_(machine.multiprocessors /
                          (family.peak_fraction * machine.tensor.value())),
        seconds_per_smem_byte_(1 / family.sm_smem_feed.value()),
        seconds_per_l2_byte_(1 / family.l2_feed.value()),
        hbm_(family.hbm_fraction * machine.hbm.value()),
        block_elements_(family.k_block_bytes / problem.input_bytes),
        blocks_(std::ceil(problem.k / block_elements_)),
        input_(problem.batch * problem.m * problem.k * problem.input_bytes),
        weights_(problem.batch * problem.n * problem.k * problem.weight_bytes),
        output_(problem.batch * problem.m * problem.n * problem.output_bytes),
        refetch_(2 * problem.batch * problem.m * problem.n * problem.k *
                 std::sqrt(problem.input_bytes * problem.weight_bytes)),
        partial_sums_(problem.batch * problem.m * problem.n *
                      kPartialSumBytes) {}

  TiledGemmTimes Run() {
    for (const GemmTile& tile : family_.tiles) TryTile(tile);
    return Result();
  }

 private:
  // What all splits of a tile share.
  struct TileFacts {
    GemmTile tile = {};
    double tiles = 0;
    double resident = 0;
    double tensor_per_block = 0;  // Seconds of one job.
    double smem_per_block = 0;
    double operand_bytes = 0;  // Of one job and block.
    double hbm_bytes = 0;
  };
  struct Choice {
    TileFacts facts;
    double split = 1;
    double waves = 0;
    double tensor = 0;
    double smem = 0;
    double l2 = 0;
    double hbm = 0;
    double chain = 0;
    double time = 0;
  };

  TileFacts FactsOf(const GemmTile& tile) const {
    const double rows = tile.rows;
    const double columns = tile.columns;
    TileFacts facts;
    facts.tile = tile;
    const double down = std::ceil(p_.m / rows);
    const double across = std::ceil(p_.n / columns);
    facts.tiles = p_.batch * down * across;
    facts.operand_bytes =
        (rows * p_.input_bytes + columns * p_.weight_bytes) * block_elements_;
    facts.resident = ResidentJobs(smem_, facts.operand_bytes);
    facts.tensor_per_block =
        2 * rows * columns * block_elements_ * seconds_per_flop_;
    facts.smem_per_block = std::max(rows, columns) / 64 *
                           (64 + std::min(rows, columns)) * block_elements_ *
                           p_.input_bytes * seconds_per_smem_byte_;
    const double at_once = std::min(facts.tiles, multiprocessors_);
    const double refetched = refetch_ / std::sqrt(at_once * rows * columns);
    const double all_passes = across * input_ + down * weights_ + output_;
    facts.hbm_bytes =
        std::max(input_ + weights_ + output_, std::min(refetched, all_passes));
    return facts;
  }

  void TryTile(const GemmTile& tile) {
    const TileFacts facts = FactsOf(tile);
    // No split does less work than this; a loser is not looked at.
    const double least = std::max(
        {facts.tiles * blocks_ *
             std::max(facts.tensor_per_block, facts.smem_per_block) /
             multiprocessors_,
         facts.tiles * blocks_ * facts.operand_bytes * seconds_per_l2_byte_,
         facts.hbm_bytes / hbm_});
    const double launch = family_.launch.value() + family_.wave.value();
    if (found_ && launch + least >= best_.time) return;
    for (const int split : family_.splits) {
      if (split > 1 && std::ceil(blocks_ / split) < kMinBlocks) continue;
      TrySplit(facts, split);
    }
  }

  void TrySplit(const TileFacts& facts, double split) {
    Choice choice;
    const double blocks = split > 1 ? std::ceil(blocks_ / split) : blocks_;
    const double jobs = facts.tiles * split;
    choice.waves = std::ceil(jobs / multiprocessors_);
    choice.tensor = choice.waves * blocks * facts.tensor_per_block;
    choice.smem = choice.waves * blocks * facts.smem_per_block;
    const double compute = std::max(choice.tensor, choice.smem);
    choice.l2 = jobs * blocks * facts.operand_bytes * seconds_per_l2_byte_;
    choice.hbm =
        facts.hbm_bytes / std::min(hbm_, std::min(jobs, multiprocessors_) *
                                             family_.sm_hbm_feed.value());
    choice.chain = blocks * family_.block_latency.value() *
                   std::ceil(jobs / (multiprocessors_ * facts.resident));
    double fixed = family_.launch.value() + choice.waves * family_.wave.value();
    if (split > 1) {
      fixed += family_.split_cost.value() +
               split * partial_sums_ * seconds_per_l2_byte_;
    }
    const double largest = std::max(std::max(compute, choice.l2),
                                    std::max(choice.hbm, choice.chain));
    if (found_ && fixed + largest >= best_.time) return;
    choice.time =
        fixed + largest * FourthRoot(FourthPower(compute / largest) +
                                     FourthPower(choice.l2 / largest) +
                                     FourthPower(choice.hbm / largest) +
                                     FourthPower(choice.chain / largest));
    if (found_ && choice.time >= best_.time) return;
    choice.facts = facts;
    choice.split = split;
    best_ = choice;
    found_ = true;
  }

  TiledGemmTimes Result() const {
    TiledGemmTimes times;
    times.tensor = Seconds::Of(best_.tensor);
    times.smem = Seconds::Of(best_.smem);
    times.l2 = Seconds::Of(best_.l2);
    times.hbm = Seconds::Of(best_.hbm);
    times.chain = Seconds::Of(best_.chain);
    times.launch = family_.launch;
    times.waves = best_.waves * family_.wave;
    if (best_.split > 1) {
      times.split = family_.split_cost;
      times.split_traffic =
          Seconds::Of(best_.split * partial_sums_ * seconds_per_l2_byte_);
    }
    const double x = best_.time / family_.droop_time.value();
    times.droop = family_.droop * x / (1 + x) * Max(times.tensor, times.smem);
    times.time = Seconds::Of(best_.time) + times.droop;
    times.tile = best_.facts.tile;
    times.split_count = static_cast<int>(best_.split);
    times.hbm_bytes = Bytes::Of(best_.facts.hbm_bytes);
    times.l2_bytes = Bytes::Of(best_.l2 / seconds_per_l2_byte_);
    return times;
  }

  const TiledGemmFamily& family_;
  const GemmProblem& p_;
  const double multiprocessors_;
  const double smem_;
  const double seconds_per_flop_;  // Of one multiprocessor.
  const double seconds_per_smem_byte_;
  const double seconds_per_l2_byte_;
  const double hbm_;
  const double block_elements_;
  const double blocks_;  // Unsplit.
  const double input_;
  const double weights_;
  const double output_;
  const double refetch_;  // Times 1 / sqrt of the outputs made at once.
  const double partial_sums_;
  Choice best_;
  bool found_ = false;
};

}  // namespace

TiledGemmTimes TimeTiledGemm(const TiledGemmFamily& family,
                             const GemmMachine& machine,
                             const GemmProblem& problem) {
  return Search(family, machine, problem).Run();
}

}  // namespace mansard::model
