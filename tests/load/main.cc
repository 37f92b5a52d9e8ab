// mansard-load: sends a mix of good and bad calls from many clients at once,
// checks the answers and prints throughput and latencies. Exit code 1 when an
// answer under load differs from the answer alone, or a call was lost.
#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "tests/load/load.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7447", "Where mansardd listens.");
ABSL_FLAG(int, clients, 64, "Clients: a thread and a connection each.");
ABSL_FLAG(int, requests, 1000, "Requests of each client.");
ABSL_FLAG(std::string, mix, mansard::load::kDefaultMix,
          "Kinds of calls and how often each is sent.");
ABSL_FLAG(bool, verify, false,
          "Compare every answer with the one taken alone beforehand.");

namespace {

constexpr int kUsageError = 2;

int Fail(const std::string& message) {
  std::cerr << "mansard-load: " << message << "\n";
  return kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Load on a Mansard server.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    return Fail("takes flags only");
  }
  mansard::load::LoadOptions options;
  options.clients = absl::GetFlag(FLAGS_clients);
  options.requests = absl::GetFlag(FLAGS_requests);
  options.verify = absl::GetFlag(FLAGS_verify);
  if (options.clients < 1 || options.clients > 10'000 || options.requests < 1) {
    return Fail("--clients is 1 to 10000 and --requests at least 1");
  }
  const auto mix = mansard::load::ParseMix(absl::GetFlag(FLAGS_mix));
  if (!mix.ok()) return Fail(std::string(mix.status().message()));
  options.mix = *mix;
  const std::string server = absl::GetFlag(FLAGS_server);
  const mansard::load::LoadResult result = mansard::load::RunLoad(
      options, [&server] { return mansard::load::OwnConnection(server); });
  mansard::load::Print(result, std::cout);
  return result.mismatches == 0 && result.lost == 0 ? 0 : 1;
}
