#include "clients/cli/output/hardware_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/output/model_text.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

const v1::MemoryLevel* LevelOf(const v1::Device& device,
                               absl::string_view name) {
  for (const v1::MemoryLevel& level : device.memory_levels()) {
    if (level.level() == name) return &level;
  }
  return nullptr;
}

// Dense tensor rate; nothing where the device has none for the format.
Cell TensorRateCell(const v1::Device& device, absl::string_view precision) {
  for (const v1::PeakRate& rate : device.peak_rates()) {
    if (rate.unit() == "tensor" && rate.precision() == precision) {
      return Number(rate.flops_per_second().value());
    }
  }
  return {};
}

std::string SourceText(const v1::Provenance& provenance) {
  return provenance.observe_date().empty()
             ? provenance.source()
             : absl::StrCat(provenance.source(), " (",
                            provenance.observe_date(), ")");
}

// Sources, numbered in the order in which they are named: most stand behind
// several numbers.
class Sources {
 public:
  // Shown as "[2]".
  Cell Reference(const v1::Provenance& provenance) {
    const std::string source = SourceText(provenance);
    const auto known = std::find(sources_.begin(), sources_.end(), source);
    const auto index = known - sources_.begin();
    if (known == sources_.end()) sources_.push_back(source);
    return ShownAs(Text(source), absl::StrCat("[", index + 1, "]"));
  }
  std::string ListText() const {
    std::string out;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const std::string label =
          absl::StrFormat("  %-5s", absl::StrCat("[", i + 1, "]"));
      absl::StrAppend(&out, label, Wrapped(sources_[i], 7));
    }
    return out;
  }

 private:
  std::vector<std::string> sources_;
};

// Every row of a datasheet has its own unit.
void AddSourced(absl::string_view name, const v1::SourcedNumber& number,
                Unit unit, Sources& sources, Report* report) {
  report->rows.push_back({Text(name), Quantity(number.value(), unit),
                          Text(ProvenanceWord(number.provenance().kind())),
                          sources.Reference(number.provenance())});
}

Report DeviceReport(const v1::Device& device, Sources& sources) {
  Report report{{{"device", Unit::kNone, Align::kLeft},
                 {"value"},
                 {"kind", Unit::kNone, Align::kLeft},
                 {"source", Unit::kNone, Align::kLeft}},
                {}};
  if (device.has_multiprocessor_count()) {
    AddSourced("multiprocessors", device.multiprocessor_count(), Unit::kNone,
               sources, &report);
  }
  if (device.has_clock_hertz()) {
    AddSourced("clock", device.clock_hertz(), Unit::kHertz, sources, &report);
  }
  for (const v1::PeakRate& rate : device.peak_rates()) {
    AddSourced(absl::StrCat(rate.precision(), " ", rate.unit()),
               rate.flops_per_second(), Unit::kFlopsPerSecond, sources,
               &report);
  }
  if (device.has_special_functions_per_second()) {
    AddSourced("special functions", device.special_functions_per_second(),
               Unit::kPerSecond, sources, &report);
  }
  for (const v1::MemoryLevel& level : device.memory_levels()) {
    if (level.has_capacity_bytes()) {
      AddSourced(absl::StrCat(level.level(), " capacity"),
                 level.capacity_bytes(), Unit::kBytes, sources, &report);
    }
    if (level.has_bandwidth_bytes_per_second()) {
      AddSourced(absl::StrCat(level.level(), " bandwidth"),
                 level.bandwidth_bytes_per_second(), Unit::kBytesPerSecond,
                 sources, &report);
    }
  }
  if (device.has_board_power_watts()) {
    AddSourced("board power", device.board_power_watts(), Unit::kWatts, sources,
               &report);
  }
  return report;
}

Report FabricsReport(const v1::HardwareProfile& profile, Sources& sources) {
  Report report{{{"fabric", Unit::kNone, Align::kLeft},
                 {"tier", Unit::kNone, Align::kLeft},
                 {"one way"},
                 {"devices"},
                 {"kind", Unit::kNone, Align::kLeft},
                 {"source", Unit::kNone, Align::kLeft}},
                {}};
  for (const v1::Fabric& fabric : profile.fabrics()) {
    bool first = true;
    for (const v1::Link& link : fabric.links()) {
      const v1::SourcedNumber& rate = link.bandwidth_bytes_per_second();
      report.rows.push_back(
          {Text(first ? fabric.fabric() : " "), Text(link.tier()),
           Text(WithUnit(rate.value(), Unit::kBytesPerSecond)),
           NumberOrNothing(link.domain_device_count()),
           Text(ProvenanceWord(rate.provenance().kind())),
           sources.Reference(rate.provenance())});
      first = false;
      // Unset behind a switch: any two devices can use all of the bandwidth.
      if (!link.has_pair_bandwidth_bytes_per_second()) continue;
      const v1::SourcedNumber& pair = link.pair_bandwidth_bytes_per_second();
      report.rows.push_back(
          {Text(" "), Text(absl::StrCat(link.tier(), ", a pair alone")),
           Text(WithUnit(pair.value(), Unit::kBytesPerSecond)), Number(2),
           Text(ProvenanceWord(pair.provenance().kind())),
           sources.Reference(pair.provenance())});
    }
  }
  return report;
}

Report StackReport(const v1::KernelStack& stack, Sources& sources) {
  Report report{
      {{absl::StrCat("stack ", stack.stack()), Unit::kNone, Align::kLeft},
       {"sigma", Unit::kPercent},
       {"tier", Unit::kNone, Align::kLeft},
       {"kind", Unit::kNone, Align::kLeft},
       {"source", Unit::kNone, Align::kLeft}},
      {}};
  for (const v1::KernelFamily& family : stack.families()) {
    report.rows.push_back({Text(family.family()),
                           NumberOrNothing(family.residual_ratio()),
                           Text(TierWord(family.tier())),
                           Text(ProvenanceWord(family.provenance().kind())),
                           sources.Reference(family.provenance())});
  }
  return report;
}

// What the host adds to a step, one line.
std::string HostText(const v1::HostCost& host, Sources& sources) {
  return absl::StrCat(
      "  host: ", WithUnit(host.step_seconds(), Unit::kSeconds), " a step, ",
      WithUnit(host.request_seconds(), Unit::kSeconds), " a request, ",
      host.cuda_graphs()
          ? std::string("CUDA graphs")
          : absl::StrCat(WithUnit(host.eager_launch_seconds(), Unit::kSeconds),
                         " a launch"),
      "  ", ProvenanceWord(host.provenance().kind()), " ",
      sources.Reference(host.provenance()).shown, "\n");
}

// All for programs; the first and how many more there are for people.
Cell FirstOf(const std::vector<std::string>& names) {
  Cell cell = Text(absl::StrJoin(names, ", "));
  if (names.size() > 1) {
    cell.shown = absl::StrCat(names[0], " +", names.size() - 1);
  }
  return cell;
}

}  // namespace

Report HardwareListReport(const v1::ListHardwareProfilesResponse& response) {
  Report report{{{"hardware", Unit::kNone, Align::kLeft},
                 {"memory", Unit::kBytes},
                 {"HBM", Unit::kBytesPerSecond, Align::kRight,
                  "bandwidth_bytes_per_second"},
                 {"bf16", Unit::kFlopsPerSecond},
                 {"fp8", Unit::kFlopsPerSecond},
                 {"fabric", Unit::kNone, Align::kLeft},
                 {"stacks", Unit::kNone, Align::kLeft}},
                {}};
  for (const v1::HardwareProfile& profile : response.hardware_profiles()) {
    const v1::MemoryLevel* hbm = LevelOf(profile.device(), "hbm");
    std::vector<std::string> stacks;
    for (const auto& stack : profile.kernel_stacks()) {
      stacks.push_back(stack.stack());
    }
    std::vector<std::string> fabrics;
    for (const auto& fabric : profile.fabrics()) {
      fabrics.push_back(fabric.fabric());
    }
    report.rows.push_back(
        {Text(IdOf(profile.name())),
         hbm == nullptr ? Cell() : Number(hbm->capacity_bytes().value()),
         hbm == nullptr ? Cell()
                        : Number(hbm->bandwidth_bytes_per_second().value()),
         TensorRateCell(profile.device(), "bf16"),
         TensorRateCell(profile.device(), "fp8-e4m3"), FirstOf(fabrics),
         FirstOf(stacks)});
  }
  return report;
}

Report DatasheetReport(const v1::Device& device) {
  Sources sources;
  return DeviceReport(device, sources);
}

std::string HardwareText(const v1::HardwareProfile& profile,
                         const Style& style) {
  Sources sources;
  const std::string id = IdOf(profile.name());
  std::string title =
      profile.display_name().empty() ? id : profile.display_name();
  if (!id.empty() && id != title) absl::StrAppend(&title, "  (", id, ")");
  std::string out = absl::StrCat(style.Paint(Tone::kStrong, title), "\n  ",
                                 profile.device().vendor(), " ",
                                 profile.device().architecture());
  if (!profile.revision_id().empty()) {
    absl::StrAppend(&out, ", revision ", profile.revision_id());
  }
  absl::StrAppend(&out, ". Rates are dense.\n\n",
                  TableText(DeviceReport(profile.device(), sources), style));
  if (!profile.device().peak_rate_note().empty()) {
    absl::StrAppend(&out,
                    "  note: ", Wrapped(profile.device().peak_rate_note(), 8));
  }
  absl::StrAppend(&out, "\n",
                  TableText(FabricsReport(profile, sources), style));
  for (const v1::KernelStack& stack : profile.kernel_stacks()) {
    absl::StrAppend(&out, "\n", TableText(StackReport(stack, sources), style));
    if (stack.has_host())
      absl::StrAppend(&out, HostText(stack.host(), sources));
  }
  absl::StrAppend(&out, "\n", sources.ListText());
  return out;
}

}  // namespace mansard::cli
