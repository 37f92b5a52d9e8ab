#include "server/catalog/update_mask.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "model/base/suggest.h"
#include "server/error.h"

namespace mansard::server {
namespace {

// Of all resources.
const std::set<std::string>& OutputOnly() {
  static const auto* const kFields =
      new std::set<std::string>{"name",        "size",
                                "revision_id", "create_time",
                                "update_time", "calibrate_time",
                                "etag",        "kv_token_capacity_count",
                                "resolution",  "request_capacity_count",
                                "observations"};
  return *kFields;
}

std::vector<std::string> InputFields(
    const google::protobuf::Descriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const std::string& name = descriptor.field(i)->name();
    if (OutputOnly().count(name) == 0) names.push_back(name);
  }
  return names;
}

std::string Hint(const std::string& path,
                 const google::protobuf::Descriptor& descriptor) {
  const std::vector<std::string> known = InputFields(descriptor);
  const std::vector<std::string> closest = model::ClosestNames(path, known);
  return closest.empty()
             ? absl::StrCat("; allowed: *, ", absl::StrJoin(known, ", "))
             : absl::StrCat(" (did you mean \"", closest.front(), "\"?)");
}

}  // namespace

UpdateFields FieldsOf(const google::protobuf::FieldMask& mask,
                      const google::protobuf::Message& resource,
                      model::Violations& violations) {
  const google::protobuf::Descriptor& descriptor = *resource.GetDescriptor();
  UpdateFields fields;
  bool all = false;
  for (int i = 0; i < mask.paths_size(); ++i) {
    const std::string& path = mask.paths(i);
    const std::string field =
        model::Indexed("update_mask.paths", static_cast<size_t>(i));
    if (path == "*") {
      all = true;
    } else if (descriptor.FindFieldByName(path) == nullptr) {
      violations.Add(field,
                     absl::StrCat("is ", Quoted(path), ", no field of ",
                                  descriptor.name(), Hint(path, descriptor)));
    } else if (OutputOnly().count(path) > 0) {
      violations.Add(field, absl::StrCat("is ", Quoted(path),
                                         ", which callers cannot set"));
    } else {
      fields.insert(path);
    }
  }
  if (all) fields.clear();
  return fields;
}

void TakeFields(const UpdateFields& fields,
                const google::protobuf::Message& said,
                google::protobuf::Message& target) {
  UpdateFields taken = fields;
  for (const auto& [one, other] :
       {std::pair("fabrics", "fabric_ids"),
        std::pair("kernel_stacks", "achieved_fractions")}) {
    if (fields.count(one) + fields.count(other) > 0) taken.insert({one, other});
  }
  const std::unique_ptr<google::protobuf::Message> patch(said.New());
  patch->CopyFrom(said);
  const google::protobuf::Descriptor& descriptor = *said.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = descriptor.field(i);
    google::protobuf::Message& loser =
        taken.count(field->name()) > 0 ? target : *patch;
    loser.GetReflection()->ClearField(&loser, field);
  }
  target.MergeFrom(*patch);
}

}  // namespace mansard::server
