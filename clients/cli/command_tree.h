// The commands and flags as CLI11 knows them. Includes CLI11, which is slow to
// compile: for command_tree.cc and arguments.cc only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "clients/cli/arguments.h"

namespace mansard::cli {

// A count. Taken as text and checked by ParseArguments, because CLI11 wraps a
// number that does not fit.
template <class Flags>
struct CountOf {
  const char* name;
  std::optional<int64_t> Flags::*member;
  int64_t maximum;       // Of the request's field.
  bool zero_is_default;  // On the wire: so a 0 that was typed is refused.
  const char* help;
};
using CountFlag = CountOf<EstimateFlags>;
using KernelCount = CountOf<KernelFlags>;
using KvCount = CountOf<KvFlags>;
using CatalogCount = CountOf<CatalogFlags>;
using ServingCount = CountOf<ServingFlags>;
const std::vector<CountFlag>& WorkFlags();
// Of a model's pass; a kernel has none.
const std::vector<CountFlag>& DraftFlags();
const std::vector<CountFlag>& LayoutFlags();
// Of an estimate whose prompts' keys and values go to another pool.
const std::vector<CountFlag>& SendFlags();
// Of `mansard kv`.
const std::vector<KvCount>& KvCounts();
const std::vector<CountFlag>& OverlapFlags();
// Of `mansard engine create`.
const std::vector<CatalogCount>& LimitFlags();
const std::vector<CatalogCount>& AdmissionFlags();
// Of `mansard batch` and the questions of `mansard engine`.
const std::vector<ServingCount>& BatchCounts();
const std::vector<ServingCount>& ShapeCounts();
const std::vector<ServingCount>& DraftCounts();
const std::vector<ServingCount>& StateCounts();
const std::vector<ServingCount>& MaxBatchCounts();
const std::vector<ServingCount>& ReportCounts();
// A command of `mansard kernel`.
struct KernelCommand {
  Command command;
  const char* name;
  const char* description;
  const char* footer;
  // Names of what an operand may be; empty: takes none.
  const char* operand;
  std::vector<KernelCount> counts;
};
const std::vector<KernelCommand>& KernelCommands();

// What CLI11 fills in, before checks.
struct RawFlags {
  std::string server;
  std::string timeout = "10s";
  std::string output = "table";
  std::string phase;
  std::string acceptance;
  std::string overlap_efficiency;
  std::string memory_utilization;
  std::string batch_wait_tokens;
  std::string imbalance;
  std::map<std::string, std::string> counts;  // By flag.
  bool version = false;
};

// A flag of text.
inline CLI::Option* AddText(CLI::App* app, const char* name, std::string& value,
                            const char* description, const char* type,
                            const char* group) {
  return app->add_option(name, value, description)
      ->type_name(type)
      ->group(group);
}

// A command that runs, not one that only has others below it.
struct CommandEntry {
  CLI::App* app;
  Command command;
  bool textproto;  // -o textproto makes sense.
};

class CommandTree {
 public:
  CommandTree();

  CLI::App& root() { return root_; }
  // The command that the words led to; the root when none did.
  CLI::App& Deepest();
  const std::vector<CommandEntry>& leaves() const { return leaves_; }
  const RawFlags& raw() const { return raw_; }
  // Strings and switches are filled in by CLI11; the rest is as by default.
  const Arguments& arguments() const { return arguments_; }

 private:
  CLI::App* AddCommand(CLI::App* parent, const std::string& name,
                       const std::string& description, const char* footer);
  void AddLeaf(CLI::App* app, Command command, bool textproto);
  void AddGlobalFlags();
  void AddEstimate();
  void AddRoofline();
  void AddKv();
  void AddKernels();
  void AddKernel(CLI::App* parent, const KernelCommand& kernel);
  void AddHardwareFlags(CLI::App* app);
  void AddFormats(CLI::App* app, const char* group);
  void AddRouting(CLI::App* app, const char* group);
  void AddUnfused(CLI::App* app, const char* group);
  void AddModel(CLI::App* app);
  void AddLayoutAndFormats(CLI::App* app);
  // Of steps: how kernels are launched, and what overlaps.
  void AddStepChoices(CLI::App* app, const char* group);
  // Model, hardware, pass, layout, formats.
  void AddPass(CLI::App* app);
  void AddSending(CLI::App* app);
  template <class Flags>
  void AddCounts(CLI::App* app, const std::vector<CountOf<Flags>>& flags,
                 const char* group) {
    for (const CountOf<Flags>& flag : flags) {
      app->add_option(flag.name, raw_.counts[flag.name], flag.help)
          ->type_name("N")
          ->group(group);
    }
  }
  void AddModelAndHardware();
  void AddEngine();
  // Of a deployment: target, limits, scheduling, role.
  void AddDeployment(CLI::App* app);
  void AddBatch();
  // Below `engine`.
  void AddEngineImport(CLI::App* engine);
  void AddPredict(CLI::App* engine);
  void AddCapacity(CLI::App* engine);
  void AddLatencyModel(CLI::App* engine);
  void AddLoad(CLI::App* engine);
  void AddObserve(CLI::App* engine);
  void AddShape(CLI::App* app, const char* group);
  void AddTargets(CLI::App* app);
  void AddCalibration();
  // Of a resource in the catalog, as `noun` says.
  void AddGet(CLI::App* parent, const std::string& noun, Command command,
              const char* footer);
  void AddApply(CLI::App* parent, Command command, const char* footer);
  void AddDelete(CLI::App* parent, const std::string& noun, Command command);
  void AddDiff(CLI::App* parent, const std::string& noun, Command command,
               const char* footer);
  void AddValidate();

  CLI::App root_;
  RawFlags raw_;
  Arguments arguments_;
  std::vector<CommandEntry> leaves_;
};

}  // namespace mansard::cli
