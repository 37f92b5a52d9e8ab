#include "tests/support/error_facts.h"

#include <set>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mansard::testing {

std::vector<std::string> ErrorFacts::Fields() const {
  std::set<std::string> fields;
  for (const auto& [field, description] : violations) fields.insert(field);
  return {fields.begin(), fields.end()};
}

std::ostream& operator<<(std::ostream& out, const ErrorFacts& facts) {
  out << "code " << facts.code << " " << facts.reason << ": " << facts.message;
  for (const auto& [key, value] : facts.metadata) {
    out << "\n  " << key << " = " << value;
  }
  for (const auto& [field, description] : facts.violations) {
    out << "\n  " << field << ": " << description;
  }
  return out;
}

ErrorFacts FactsOf(const grpc::Status& status) {
  ErrorFacts facts;
  facts.code = status.error_code();
  facts.message = status.error_message();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return facts;
  int infos = 0;
  for (const google::protobuf::Any& any : details.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad_request;
    google::rpc::ResourceInfo resource;
    if (any.UnpackTo(&info)) {
      ++infos;
      facts.reason = info.reason();
      facts.domain = info.domain();
      facts.metadata = {info.metadata().begin(), info.metadata().end()};
    } else if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        facts.violations.emplace_back(violation.field(),
                                      violation.description());
      }
    } else if (any.UnpackTo(&resource)) {
      facts.resource_type = resource.resource_type();
      facts.resource_name = resource.resource_name();
    }
  }
  if (infos != 1) facts.reason.clear();
  return facts;
}

}  // namespace mansard::testing
