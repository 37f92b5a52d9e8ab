// Runs the cases of data/*.test over a real server. A file is
//
//   # Method: EstimationService.Estimate
//   # Fields: memory, resolution.fabric       (optional: only these are shown)
//   request as textproto
//   --
//   response as textproto, or the error
//   ==
//   the next request
//
// Fields keep numbers out that follow the pricing data. UPDATE_GOLDENS=1
// rewrites the answers.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kSeparator[] = "--\n";
constexpr char kEndOfCase[] = "==\n";

std::string TextOf(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

std::string TextOf(const grpc::Status& status) {
  std::ostringstream out;
  out << "ERROR " << FactsOf(status) << "\n";
  return out.str();
}

using Fields = std::vector<std::string>;
// Clears what no path names. Paths go through repeated fields, as field masks
// do not.
void KeepOnly(const Fields& paths, google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  reflection.ListFields(message, &set);
  for (const google::protobuf::FieldDescriptor* field : set) {
    bool whole = false;
    Fields below;
    for (absl::string_view path : paths) {
      if (!absl::ConsumePrefix(&path, field->name())) continue;
      if (path.empty()) whole = true;
      if (absl::ConsumePrefix(&path, ".")) below.emplace_back(path);
    }
    if (whole) continue;
    if (below.empty()) {
      reflection.ClearField(&message, field);
    } else if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        KeepOnly(below, *reflection.MutableRepeatedMessage(&message, field, i));
      }
    } else {
      KeepOnly(below, *reflection.MutableMessage(&message, field));
    }
  }
}

using Call =
    std::function<std::string(TestServer&, const std::string&, const Fields&)>;

// A unary method as text in, text out.
template <class Stub, class Request, class Response>
Call MethodOf(std::unique_ptr<Stub> (*make_stub)(TestServer&),
              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                           Response*)) {
  return
      [=](TestServer& server, const std::string& text, const Fields& fields) {
        Response response;
        grpc::ClientContext context;
        SetDeadline(context);
        const grpc::Status status = (make_stub(server).get()->*method)(
            &context, Parse<Request>(text), &response);
        if (!status.ok()) return TextOf(status);
        if (!fields.empty()) KeepOnly(fields, response);
        return TextOf(response);
      };
}

std::unique_ptr<v1::EstimationService::Stub> Estimation(TestServer& server) {
  return v1::EstimationService::NewStub(server.channel());
}
std::unique_ptr<v1::CatalogService::Stub> Catalog(TestServer& server) {
  return v1::CatalogService::NewStub(server.channel());
}

std::unique_ptr<v1::PlanningService::Stub> Planning(TestServer& server) {
  return v1::PlanningService::NewStub(server.channel());
}

std::map<std::string, Call> Methods() {
  using EstimationStub = v1::EstimationService::Stub;
  using CatalogStub = v1::CatalogService::Stub;
  return {
      {"EstimationService.Estimate",
       MethodOf(&Estimation, &EstimationStub::Estimate)},
      {"EstimationService.BatchEstimate",
       MethodOf(&Estimation, &EstimationStub::BatchEstimate)},
      {"EstimationService.EstimateKernel",
       MethodOf(&Estimation, &EstimationStub::EstimateKernel)},
      {"EstimationService.ExplainRoofline",
       MethodOf(&Estimation, &EstimationStub::ExplainRoofline)},
      {"CatalogService.GetModelGraph",
       MethodOf(&Catalog, &CatalogStub::GetModelGraph)},
      {"CatalogService.ListModelGraphs",
       MethodOf(&Catalog, &CatalogStub::ListModelGraphs)},
      {"CatalogService.ImportHuggingFaceConfig",
       MethodOf(&Catalog, &CatalogStub::ImportHuggingFaceConfig)},
      {"CatalogService.GetHardwareProfile",
       MethodOf(&Catalog, &CatalogStub::GetHardwareProfile)},
      {"CatalogService.ListHardwareProfiles",
       MethodOf(&Catalog, &CatalogStub::ListHardwareProfiles)},
      {"PlanningService.PlanKvTransfer",
       MethodOf(&Planning, &v1::PlanningService::Stub::PlanKvTransfer)},
  };
}

// The value of a "# Key: value" line; empty where there is none.
std::string Directive(const std::string& text, const std::string& key) {
  const std::string prefix = absl::StrCat("# ", key, ": ");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, prefix)) return std::string(line);
  }
  return "";
}

// The case with the answer that the server gives now.
std::string Answered(TestServer& server, const std::string& one_case) {
  const std::string request = one_case.substr(0, one_case.find(kSeparator));
  const std::string method = Directive(request, "Method");
  const std::map<std::string, Call> methods = Methods();
  const auto call = methods.find(method);
  if (call == methods.end()) {
    ADD_FAILURE() << "no method \"" << method << "\" in:\n" << request;
    return one_case;
  }
  const Fields fields =
      absl::StrSplit(Directive(request, "Fields"), ", ", absl::SkipEmpty());
  return absl::StrCat(request, kSeparator,
                      call->second(server, request, fields));
}

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  const fs::path folder =
      fs::path(MANSARD_SOURCE_DIR) / "tests" / "conformance" / "data";
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ConformanceTest : public ::testing::TestWithParam<fs::path> {};

TEST_P(ConformanceTest, TheServerAnswersAsWritten) {
  std::ifstream in(GetParam());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  in.close();
  TestServer server;
  std::vector<std::string> answered;
  for (absl::string_view one_case : absl::StrSplit(text, kEndOfCase)) {
    answered.push_back(Answered(server, std::string(one_case)));
  }
  const std::string now = absl::StrJoin(answered, kEndOfCase);
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    std::ofstream(GetParam()) << now;
    return;
  }
  EXPECT_EQ(now, text) << "UPDATE_GOLDENS=1 rewrites " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(, ConformanceTest, ::testing::ValuesIn(Files()),
                         [](const auto& row) {
                           return row.param.stem().string();
                         });

}  // namespace
}  // namespace mansard::testing
