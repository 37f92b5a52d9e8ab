#include "calibrate/revision/revision_diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/message_differencer.h"

namespace mansard::calibrate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Numbers = std::map<std::string, RevisionNumber>;

std::string KindOf(const v1::Provenance& provenance) {
  if (provenance.kind() == v1::Provenance::KIND_UNSPECIFIED) return "";
  return absl::AsciiStrToLower(
      absl::StripPrefix(v1::Provenance::Kind_Name(provenance.kind()), "KIND_"));
}

std::string TierOf(v1::Tier tier) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::Tier_Name(tier), "TIER_"));
}

// What an entry of a list goes by: its short texts, else its place.
std::string NameOf(const Message& entry, int place) {
  std::string name;
  for (const char* field :
       {"fabric", "tier", "level", "precision", "unit", "family"}) {
    const FieldDescriptor* known =
        entry.GetDescriptor()->FindFieldByName(field);
    if (known == nullptr ||
        known->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
      continue;
    }
    const std::string text = entry.GetReflection()->GetString(entry, known);
    if (!text.empty()) absl::StrAppend(&name, name.empty() ? "" : " ", text);
  }
  return name.empty() ? absl::StrCat(place) : name;
}

// Every number with provenance below the message, by its place.
void CollectSourced(const Message& message, const std::string& path,
                    Numbers& numbers) {
  if (message.GetDescriptor() == v1::SourcedNumber::descriptor()) {
    const auto& number = static_cast<const v1::SourcedNumber&>(message);
    numbers[path] = {number.value(), KindOf(number.provenance())};
    return;
  }
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string below =
        absl::StrCat(path, path.empty() ? "" : ".", field->name());
    if (!field->is_repeated()) {
      CollectSourced(reflection->GetMessage(message, field), below, numbers);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      const Message& entry = reflection->GetRepeatedMessage(message, field, i);
      CollectSourced(entry, absl::StrCat(below, "[", NameOf(entry, i), "]"),
                     numbers);
    }
  }
}

Numbers SourcedOf(const v1::HardwareProfile& profile) {
  Numbers numbers;
  CollectSourced(profile.device(), "", numbers);
  for (int i = 0; i < profile.fabrics_size(); ++i) {
    const v1::Fabric& fabric = profile.fabrics(i);
    CollectSourced(fabric, NameOf(fabric, i), numbers);
  }
  for (const v1::AchievedFraction& one : profile.achieved_fractions()) {
    numbers[absl::StrCat("achieved_fractions[", one.family(), "]")] = {
        one.ratio().value(), KindOf(one.ratio().provenance())};
  }
  return numbers;
}

Numbers ParametersOf(const v1::KernelFamily& family) {
  Numbers numbers;
  for (const v1::KernelFamily::Parameter& one : family.parameters()) {
    RevisionNumber number{
        one.value(),
        KindOf(one.has_provenance() ? one.provenance() : family.provenance())};
    if (one.has_p10_value() && one.has_p90_value()) {
      number.low = one.p10_value();
      number.high = one.p90_value();
    }
    numbers[one.parameter()] = number;
  }
  return numbers;
}

Numbers HostOf(const v1::HostCost& host) {
  const std::string kind = KindOf(host.provenance());
  return {{"step_seconds", {host.step_seconds(), kind}},
          {"request_seconds", {host.request_seconds(), kind}},
          {"prefill_token_seconds", {host.prefill_token_seconds(), kind}},
          {"eager_launch_seconds", {host.eager_launch_seconds(), kind}}};
}

std::vector<NumberChange> Changes(const Numbers& a, const Numbers& b) {
  std::vector<NumberChange> changes;
  for (const auto& [name, number] : a) {
    const auto other = b.find(name);
    if (other == b.end()) {
      changes.push_back({name, number, std::nullopt});
    } else if (!(number == other->second)) {
      changes.push_back({name, number, other->second});
    }
  }
  for (const auto& [name, number] : b) {
    if (a.count(name) == 0) changes.push_back({name, std::nullopt, number});
  }
  return changes;
}

using Families = std::map<std::string, const v1::KernelFamily*>;
Families FamiliesOf(const v1::KernelStack& stack) {
  Families families;
  for (const v1::KernelFamily& one : stack.families()) {
    families[one.family()] = &one;
  }
  return families;
}

// Empty where the two say the same.
std::optional<FamilyChange> ChangeOf(const std::string& stack,
                                     const v1::KernelFamily& a,
                                     const v1::KernelFamily& b) {
  FamilyChange change{
      .stack = stack, .family = a.family(), .in_a = true, .in_b = true};
  if (a.residual_ratio() != b.residual_ratio()) {
    change.residual = {"residual_ratio", RevisionNumber{a.residual_ratio()},
                       RevisionNumber{b.residual_ratio()}};
  }
  if (a.tier() != b.tier()) {
    change.tier_a = TierOf(a.tier());
    change.tier_b = TierOf(b.tier());
  }
  if (a.formula() != b.formula()) {
    change.formula_a = a.formula();
    change.formula_b = b.formula();
  }
  change.parameters = Changes(ParametersOf(a), ParametersOf(b));
  if (!change.residual.has_value() && change.tier_a == change.tier_b &&
      change.formula_a == change.formula_b && change.parameters.empty()) {
    return std::nullopt;
  }
  return change;
}

void DiffStack(const v1::KernelStack& a, const v1::KernelStack& b,
               std::vector<FamilyChange>& changes) {
  const Families in_a = FamiliesOf(a);
  const Families in_b = FamiliesOf(b);
  for (const auto& [name, family] : in_a) {
    const auto other = in_b.find(name);
    if (other == in_b.end()) {
      changes.push_back({.stack = a.stack(), .family = name, .in_a = true});
    } else if (auto change = ChangeOf(a.stack(), *family, *other->second)) {
      changes.push_back(*std::move(change));
    }
  }
  for (const auto& [name, family] : in_b) {
    if (in_a.count(name) > 0) continue;
    changes.push_back({.stack = a.stack(), .family = name, .in_b = true});
  }
  std::vector<NumberChange> host =
      Changes(a.has_host() ? HostOf(a.host()) : Numbers(),
              b.has_host() ? HostOf(b.host()) : Numbers());
  if (host.empty()) return;
  changes.push_back({.stack = a.stack(),
                     .family = "host",
                     .in_a = a.has_host(),
                     .in_b = b.has_host(),
                     .parameters = std::move(host)});
}

const FieldDescriptor* Field(const google::protobuf::Descriptor* message,
                             const char* name) {
  return message->FindFieldByName(name);
}

// Numbers with provenance below the message: SourcedOf tells of them.
void ClearSourced(Message& message) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->message_type() == v1::SourcedNumber::descriptor()) {
      reflection->ClearField(&message, field);
    } else if (!field->is_repeated()) {
      ClearSourced(*reflection->MutableMessage(&message, field));
    } else {
      for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
        ClearSourced(*reflection->MutableRepeatedMessage(&message, field, i));
      }
    }
  }
}

// Without what the catalog writes, without numbers, and without the families
// and stacks that the other does not have: those are told by their names.
v1::HardwareProfile Comparable(const v1::HardwareProfile& profile,
                               const v1::HardwareProfile& other) {
  v1::HardwareProfile said = profile;
  ClearSourced(said);
  said.clear_name();
  said.clear_revision_id();
  said.clear_create_time();
  said.clear_update_time();
  said.clear_calibrate_time();
  said.clear_etag();
  said.clear_kernel_stacks();
  for (const v1::KernelStack& stack : profile.kernel_stacks()) {
    const auto& stacks = other.kernel_stacks();
    const auto same = std::find_if(stacks.begin(), stacks.end(),
                                   [&stack](const v1::KernelStack& one) {
                                     return one.stack() == stack.stack();
                                   });
    if (same == stacks.end()) continue;
    v1::KernelStack& kept = *said.add_kernel_stacks();
    kept = stack;
    const Families families = FamiliesOf(*same);
    kept.clear_families();
    for (const v1::KernelFamily& family : stack.families()) {
      if (families.count(family.family()) > 0) *kept.add_families() = family;
    }
  }
  return said;
}

// What no number, family or stack tells.
std::vector<std::string> OtherChanges(const v1::HardwareProfile& a,
                                      const v1::HardwareProfile& b) {
  using google::protobuf::util::MessageDifferencer;
  const auto* profile = v1::HardwareProfile::descriptor();
  const auto* stack = v1::KernelStack::descriptor();
  const auto* family = v1::KernelFamily::descriptor();
  const auto* device = v1::Device::descriptor();
  const auto* rate = v1::PeakRate::descriptor();
  const auto* host = v1::HostCost::descriptor();
  MessageDifferencer differencer;
  differencer.TreatAsMap(Field(profile, "kernel_stacks"),
                         Field(stack, "stack"));
  differencer.TreatAsMap(Field(profile, "fabrics"),
                         Field(v1::Fabric::descriptor(), "fabric"));
  differencer.TreatAsMap(Field(v1::Fabric::descriptor(), "links"),
                         Field(v1::Link::descriptor(), "tier"));
  differencer.TreatAsMap(Field(stack, "families"), Field(family, "family"));
  differencer.TreatAsSet(Field(stack, "bindings"));
  differencer.TreatAsMap(
      Field(family, "fitted_ranges"),
      Field(v1::KernelFamily::FittedRange::descriptor(), "size"));
  differencer.TreatAsMap(Field(device, "memory_levels"),
                         Field(v1::MemoryLevel::descriptor(), "level"));
  differencer.TreatAsMapWithMultipleFieldsAsKey(
      Field(device, "peak_rates"),
      {Field(rate, "precision"), Field(rate, "unit")});
  for (const char* name :
       {"parameters", "residual_ratio", "tier", "formula", "provenance"}) {
    differencer.IgnoreField(Field(family, name));
  }
  for (const char* name :
       {"step_seconds", "request_seconds", "prefill_token_seconds",
        "eager_launch_seconds", "provenance"}) {
    differencer.IgnoreField(Field(host, name));
  }
  for (const char* name : {"source", "observe_date"}) {
    differencer.IgnoreField(Field(v1::Provenance::descriptor(), name));
  }
  std::string text;
  differencer.ReportDifferencesToString(&text);
  differencer.Compare(Comparable(a, b), Comparable(b, a));
  std::vector<std::string> changes;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "ignored:") &&
        !absl::StartsWith(line, "moved:")) {
      changes.emplace_back(line);
    }
  }
  return changes;
}

}  // namespace

std::optional<double> NumberChange::percent() const {
  if (!a.has_value() || !b.has_value() || a->value == 0) return std::nullopt;
  return 100 * (b->value / a->value - 1);
}

std::optional<bool> NumberChange::overlap() const {
  if (!a.has_value() || !b.has_value() ||
      (!a->low.has_value() && !b->low.has_value())) {
    return std::nullopt;
  }
  return a->low.value_or(a->value) <= b->high.value_or(b->value) &&
         b->low.value_or(b->value) <= a->high.value_or(a->value);
}

RevisionDiff DiffRevisions(const v1::HardwareProfile& a,
                           const v1::HardwareProfile& b) {
  RevisionDiff diff;
  std::map<std::string, const v1::KernelStack*> others;
  for (const v1::KernelStack& stack : b.kernel_stacks()) {
    others[stack.stack()] = &stack;
  }
  std::set<std::string> known;
  for (const v1::KernelStack& stack : a.kernel_stacks()) {
    known.insert(stack.stack());
    const auto other = others.find(stack.stack());
    if (other == others.end()) {
      diff.removed_stacks.push_back(stack.stack());
    } else {
      DiffStack(stack, *other->second, diff.families);
    }
  }
  for (const v1::KernelStack& stack : b.kernel_stacks()) {
    if (known.count(stack.stack()) == 0) {
      diff.added_stacks.push_back(stack.stack());
    }
  }
  diff.device = Changes(SourcedOf(a), SourcedOf(b));
  diff.other = OtherChanges(a, b);
  return diff;
}

}  // namespace mansard::calibrate
