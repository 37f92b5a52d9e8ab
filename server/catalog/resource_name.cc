#include "server/catalog/resource_name.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "model/base/id.h"
#include "server/error.h"

namespace mansard::server {

std::string ResourceName(absl::string_view collection, absl::string_view id) {
  return absl::StrCat(collection, "/", id);
}

std::optional<std::string> ParseResourceName(absl::string_view name,
                                             absl::string_view collection,
                                             absl::string_view field,
                                             model::Violations& violations) {
  absl::string_view id = name;
  if (absl::ConsumePrefix(&id, collection) && absl::ConsumePrefix(&id, "/") &&
      model::IsValidId(id)) {
    return std::string(id);
  }
  violations.Add(field,
                 absl::StrCat("is ", Quoted(name), "; allowed: ", collection,
                              "/{id}, the id of 1 to 63 lower-case letters, "
                              "digits, \"-\" and \".\""));
  return std::nullopt;
}

}  // namespace mansard::server
