#include "calibrate/import/links.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "mansard/v1/catalog.pb.h"
#include "model/io/profile_io.h"

namespace mansard::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Refusal(const absl::StatusOr<Imported>& imported) {
  return std::string(imported.status().message());
}

v1::Fabric FabricOf(const absl::StatusOr<Imported>& imported) {
  v1::Fabric fabric;
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return fabric;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(imported->text, &fabric))
      << imported->text;
  model::Violations violations;
  EXPECT_TRUE(model::FabricFromProto(fabric, violations).has_value())
      << violations.ToStatus();
  return fabric;
}

std::string Testcase(const std::string& name, const std::string& matrix,
                     const std::string& status = "Passed",
                     const std::string& unit = "(GB/s)") {
  return absl::StrCat(R"({"name":")", name, R"(","status":")", status,
                      R"(","bandwidth_description":"memcpy )", unit,
                      R"(","bandwidth_matrix":)", matrix, R"(,"sum":1})");
}
std::string Report(const std::string& tests) {
  return absl::StrCat(R"({"nvbandwidth":{"version":"0.8","Driver Version":)",
                      R"("575.57","testcases":[)", tests, "]}}");
}

constexpr char kDate[] = "2026-11-30";

TEST(NvbandwidthTest, LinksOfANode) {
  const auto imported = ImportNvbandwidth(
      Report(absl::StrCat(
          Testcase("host_to_device_memcpy_ce", R"([["55.3","55.1"]])"), ",",
          Testcase("device_to_host_memcpy_ce", R"([["54.9","55.0"]])"), ",",
          Testcase("host_to_device_memcpy_sm", R"([["30","30"]])"), ",",
          Testcase("device_to_device_memcpy_read_ce",
                   R"([["N/A","385.2"],["386.0","N/A"]])"),
          ",", Testcase("device_to_device_memcpy_write_ce", "[]", "Waived"),
          ",",
          Testcase("device_to_device_bidirectional_memcpy_read_ce",
                   R"([["N/A","700"]])"),
          ",",
          Testcase("host_device_latency_sm", R"([["800"]])", "Passed", "(ns)"),
          ",", Testcase("one_to_all_write_ce", R"([["391.0","390.0"]])"))),
      kDate);
  const v1::Fabric fabric = FabricOf(imported);
  ASSERT_EQ(fabric.links_size(), 2);
  const v1::Link& peers = fabric.links(0);
  EXPECT_EQ(peers.tier(), "nvlink");
  EXPECT_DOUBLE_EQ(peers.bandwidth_bytes_per_second().value(), 390.5e9);
  EXPECT_EQ(peers.domain_device_count(), 2);
  // A pair has nearly all of it: a switch.
  EXPECT_FALSE(peers.has_pair_bandwidth_bytes_per_second());
  const v1::Provenance& provenance =
      peers.bandwidth_bytes_per_second().provenance();
  EXPECT_EQ(provenance.kind(), v1::Provenance::KIND_MEASURED);
  EXPECT_EQ(provenance.source(),
            "nvbandwidth 0.8: one_to_all_write_ce: median of 2 390.5 GB/s, 390 "
            "to 391");
  EXPECT_EQ(provenance.observe_date(), kDate);
  // The slower direction, by copy engines.
  EXPECT_EQ(fabric.links(1).tier(), "pcie");
  EXPECT_DOUBLE_EQ(fabric.links(1).bandwidth_bytes_per_second().value(),
                   54.95e9);
  EXPECT_THAT(
      imported->notes,
      ElementsAre("device_to_device_memcpy_write_ce: left out, status Waived",
                  "device_to_device_bidirectional_memcpy_read_ce: left out, "
                  "both directions",
                  "host_device_latency_sm: left out, no bandwidth in GB/s"));
}

TEST(NvbandwidthTest, AMeshGivesAPairLess) {
  const v1::Fabric fabric = FabricOf(ImportNvbandwidth(
      Report(absl::StrCat(Testcase("device_to_device_memcpy_write_sm",
                                   R"([["N/A",48.5],[48.5,"N/A"]])"),
                          ",",
                          Testcase("one_to_all_write_sm", R"([["150"]])"))),
      kDate));
  ASSERT_EQ(fabric.links_size(), 1);
  EXPECT_DOUBLE_EQ(fabric.links(0).pair_bandwidth_bytes_per_second().value(),
                   48.5e9);
  EXPECT_DOUBLE_EQ(fabric.links(0).bandwidth_bytes_per_second().value(), 150e9);
}

TEST(NvbandwidthTest, PeersOverTheHostsLinks) {
  const v1::Fabric fabric = FabricOf(ImportNvbandwidth(
      Report(absl::StrCat(
          Testcase("host_to_device_memcpy_ce", R"([["25","25"]])"), ",",
          Testcase("device_to_device_memcpy_read_ce",
                   R"([["N/A","24"],["24","N/A"]])"))),
      kDate));
  ASSERT_EQ(fabric.links_size(), 1);
  EXPECT_EQ(fabric.links(0).tier(), "pcie");
}

TEST(NvbandwidthTest, OneDeviceLeavesItsDomainOpen) {
  const auto imported = ImportNvbandwidth(
      Report(Testcase("host_to_device_memcpy_ce", R"([["55.3"]])")), kDate);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->text, HasSubstr("# One device: say in "));
}

TEST(NvbandwidthTest, Refusals) {
  const std::string good =
      Report(Testcase("host_to_device_memcpy_ce", R"([["55.3"]])"));
  EXPECT_THAT(Refusal(ImportNvbandwidth(good.substr(0, 120), kDate)),
              HasSubstr("The file is cut off."));
  EXPECT_THAT(Refusal(ImportNvbandwidth("{\"a\":1}", kDate)),
              HasSubstr("has no list nvbandwidth.testcases"));
  EXPECT_THAT(Refusal(ImportNvbandwidth(
                  R"({"nvbandwidth":{"error":"no CUDA device"}})", kDate)),
              HasSubstr("the tool says: no CUDA device"));
  EXPECT_THAT(
      Refusal(ImportNvbandwidth(
          Report(Testcase("host_to_device_memcpy_ce", "[]", "Error")), kDate)),
      HasSubstr("no test that passed"));
  // Cells of other types are no rates.
  EXPECT_THAT(
      Refusal(ImportNvbandwidth(Report(Testcase("host_to_device_memcpy_ce",
                                                R"([[null,{},"x",-5,0],7])")),
                                kDate)),
      HasSubstr("without a rate"));
}

std::string Perftest(const std::string& header, const std::string& rows) {
  return absl::StrCat(
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF\t\tDevice         : mlx5_0\n ",
      header, "\n", rows, "----------\n");
}
std::string Header(const std::string& unit) {
  return absl::StrCat("#bytes     #iterations    BW peak[", unit,
                      "]    BW average[", unit, "]   MsgRate[Mpps]");
}

TEST(PerftestTest, EveryUnit) {
  const struct {
    std::string text;
    double rate;
  } kFacts[] = {
      {Perftest(Header("Gb/sec"),
                " 65536  5000  391.2  389.4  \t 0.7427\n"
                " 131072 5000  393.1  392.0  \t 0.3700\n"),
       49e9},
      {Perftest(Header("MB/sec"), " 65536  1000  2757.96  2757.93\t 0.044\n"),
       2757.93 * 1048576},
      {Perftest(Header("MiB/sec"), " 65536  1000  2757.96  2757.93\t 0.044\n"),
       2757.93 * 1048576},
      // Old releases, service levels, and builds without a peak.
      {Perftest("#bytes #iterations BW peak[MB/sec] BW average[MB/sec]",
                " 65536 1000 2 1.5\n"),
       1.5 * 1048576},
      {Perftest("#bytes #sl #iterations BW peak[Gb/sec] BW average[Gb/sec] "
                "MsgRate[Mpps]",
                " 65536 3 1000 9 8 0.1\n"),
       1e9},
      {Perftest("#bytes #iterations BW average[Gb/sec] MsgRate[Mpps]",
                " 65536 1000 16 0.1\n"),
       2e9},
  };
  for (const auto& fact : kFacts) {
    const v1::Fabric fabric = FabricOf(ImportPerftest(fact.text, kDate));
    ASSERT_EQ(fabric.links_size(), 1) << fact.text;
    EXPECT_EQ(fabric.links(0).tier(), "rdma");
    EXPECT_NEAR(fabric.links(0).bandwidth_bytes_per_second().value(), fact.rate,
                fact.rate * 1e-4)
        << fact.text;
  }
}

TEST(PerftestTest, Refusals) {
  const struct {
    std::string text;
    const char* refusal;
  } kFacts[] = {
      {"      RDMA_Write Bidirectional BW Test\n", "both directions together"},
      {Perftest("#bytes #iterations t_min[usec] t_avg[usec]", " 2 1000 1 2\n"),
       "latencies are no bandwidths"},
      {Perftest(Header("Gb/sec"), " 65536  5000  391.2\n"),
       "line 4: a row that is cut off"},
      {Perftest(Header("Gb/sec"), " 65536  5000  391.2  xyz  0.1\n"),
       "a row that is cut off"},
      {Perftest(Header("Gb/sec"), ""), "no row of results"},
      {"", "no row of results"},
  };
  for (const auto& fact : kFacts) {
    EXPECT_THAT(Refusal(ImportPerftest(fact.text, kDate)),
                HasSubstr(fact.refusal));
  }
}

}  // namespace
}  // namespace mansard::calibrate
