#include "model/io/shipped.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "model/io/graph_io.h"

namespace mansard::model {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    absl::StatusOr<ShippedData> data = LoadShippedData();
    EXPECT_TRUE(data.ok()) << data.status();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

TEST(ShippedTest, LoadsEveryFile) {
  // Models are found by their files; the build must not lose any.
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           MANSARD_SOURCE_DIR "/model/data/models")) {
    files += entry.path().extension() == ".textproto" ? 1 : 0;
  }
  EXPECT_GE(files, 60u);
  EXPECT_EQ(Shipped().graphs.size(), files);
  EXPECT_EQ(Shipped().profiles.size(), 39u);
  EXPECT_EQ(Shipped().fabrics.size(), 27u);
}

TEST(ShippedTest, RoundTripsKeepContentAndRevision) {
  for (const auto& [id, profile] : Shipped().profiles) {
    const v1::HardwareProfile once = ProfileToProto(*profile);
    EXPECT_EQ(once.name(), "hardwareProfiles/" + id);
    Violations violations;
    const std::optional<HardwareProfile> read =
        ProfileFromProto(once, id, {}, violations);
    ASSERT_TRUE(read) << id << ": " << violations.ToStatus();
    EXPECT_TRUE(MessageDifferencer::Equals(once, ProfileToProto(*read))) << id;
  }
  for (const auto& [id, graph] : Shipped().graphs) {
    const v1::ModelGraph once = GraphToProto(*graph);
    EXPECT_EQ(once.name(), "modelGraphs/" + id);
    Violations violations;
    const std::optional<ModelGraph> read = GraphFromProto(once, id, violations);
    ASSERT_TRUE(read) << id << ": " << violations.ToStatus();
    EXPECT_TRUE(MessageDifferencer::Equals(once, GraphToProto(*read))) << id;
  }
  for (const auto& [id, fabric] : Shipped().fabrics) {
    const v1::Fabric once = FabricToProto(fabric);
    Violations violations;
    const std::optional<Fabric> read = FabricFromProto(once, violations);
    ASSERT_TRUE(read) << id << ": " << violations.ToStatus();
    EXPECT_TRUE(MessageDifferencer::Equals(once, FabricToProto(*read))) << id;
  }
}

// Dense, decimal units; 0: the source gives none.
struct DeviceFacts {
  const char* id;
  int multiprocessors;
  double bf16, fp8, int8, fp4, fp32_vector;  // TFLOP/s.
  double hbm_gigabytes_per_second;
  double hbm_bytes;
  double l2_mebibytes;
  double l2_gigabytes_per_second;
  double exp_per_second;
  double watts;
  const char* fabric;
  const char* other_fabric;
};
constexpr DeviceFacts kDevices[] = {
    {"a100-sxm-80gb", 108, 312, 0, 624, 0, 19.5, 2039, 80e9, 40, 7219, 0, 400,
     "hgx-nvlink3-200g", "hgx-nvlink3-400g"},
    {"h100-sxm", 132, 989, 1979, 1979, 0, 67, 3350, 85018877624, 50, 0,
     3.86496e12, 700, "hgx-nvlink4-400g", "hgx-nvlink4-200g"},
    {"h200-sxm", 132, 989, 1979, 1979, 0, 67, 4800, 150.7e9, 50, 9950,
     3.86496e12, 700, "hgx-nvlink4-400g", "hgx-nvlink4-200g"},
    {"b200-sxm", 148, 2250, 4500, 4500, 9000, 80, 8000, 192.3e9, 126, 0,
     4.40448e12, 1000, "hgx-nvlink5-400g", "hgx-nvlink5-200g"},
    {"l40s", 142, 362, 733, 733, 0, 91.6, 864, 48305799168, 96, 0, 0, 350,
     "pcie4-400g", "pcie4-200g"},
};

double TensorTeraflops(const Device& device, Format format) {
  return device.HasTensor(format) ? device.TensorRate(format).value() / 1e12
                                  : 0;
}

TEST(ShippedTest, DevicesHaveTheirDatasheetNumbers) {
  for (const DeviceFacts& facts : kDevices) {
    SCOPED_TRACE(facts.id);
    const HardwareProfile& profile = *Shipped().profiles.at(facts.id);
    const Device& device = profile.device();
    const DeviceSpec& spec = device.spec();
    EXPECT_EQ(spec.multiprocessor_count->value, facts.multiprocessors);
    EXPECT_DOUBLE_EQ(TensorTeraflops(device, Format::kBf16), facts.bf16);
    EXPECT_DOUBLE_EQ(TensorTeraflops(device, Format::kFp16), facts.bf16);
    EXPECT_DOUBLE_EQ(TensorTeraflops(device, Format::kFp8E4m3), facts.fp8);
    EXPECT_DOUBLE_EQ(TensorTeraflops(device, Format::kInt8), facts.int8);
    EXPECT_DOUBLE_EQ(TensorTeraflops(device, Format::kNvfp4), facts.fp4);
    EXPECT_DOUBLE_EQ(TensorTeraflops(device, Format::kMxfp4), facts.fp4);
    EXPECT_DOUBLE_EQ(device.VectorRate()->value() / 1e12, facts.fp32_vector);
    EXPECT_EQ(device.HbmBandwidth(),
              GigabytesPerSecond(facts.hbm_gigabytes_per_second));
    EXPECT_EQ(device.HbmCapacity(), Bytes::Of(facts.hbm_bytes));
    EXPECT_EQ(device.L2Capacity(), Bytes::Of(facts.l2_mebibytes * 1048576));
    EXPECT_EQ(spec.l2->bandwidth ? spec.l2->bandwidth->value.value() / 1e9 : 0,
              facts.l2_gigabytes_per_second);
    EXPECT_DOUBLE_EQ(spec.special_function_rate
                         ? spec.special_function_rate->value.value()
                         : 0,
                     facts.exp_per_second);
    EXPECT_EQ(spec.board_power_watts->value, facts.watts);
    ASSERT_EQ(profile.fabrics().size(), 2u);
    EXPECT_EQ(profile.fabrics()[0].spec().id, facts.fabric);
    EXPECT_EQ(profile.fabrics()[1].spec().id, facts.other_fabric);
  }
  EXPECT_DOUBLE_EQ(
      TensorTeraflops(Shipped().profiles.at("a100-sxm-80gb")->device(),
                      Format::kInt4),
      1248);
}

// 989e12 / 3.35e12.
TEST(ShippedTest, RidgePointOfTheH100) {
  const Device& device = Shipped().profiles.at("h100-sxm")->device();
  const FlopsPerByte ridge =
      device.TensorRate(Format::kBf16) / device.HbmBandwidth();
  EXPECT_NEAR(ridge.value(), 295.2, .05);
}

// {launch + wave, hbm fraction, peak fraction 16 bit and 8 bit} of GEMM,
// {launch, hbm fraction} of decode, fraction of prefill at head size 128.
struct StackFacts {
  const char* id;
  double gemm_fixed_us, gemm_hbm, peak16, peak8;
  double decode_launch_us, decode_hbm, prefill128;
};

TEST(ShippedTest, GenericStacksHaveTheirConstants) {
  const StackFacts kStacks[] = {
      {"a100-sxm-80gb", 3.44, .870, .87, .70, 10.6, .891, .68},
      {"h100-sxm", 2.67, .855, .80, .71, 7.4, .923, .757},
      {"h200-sxm", 2.65, .857, .80, .73, 7.7, .908, .740},
      {"b200-sxm", 2.02, .819, .78, .75, 7.0, .89, .722},
      {"l40s", 1.96, .84, .74, .55, 10.6, .84, .55},
  };
  for (const StackFacts& facts : kStacks) {
    SCOPED_TRACE(facts.id);
    const HardwareProfile& profile = *Shipped().profiles.at(facts.id);
    const KernelStack& stack = *profile.FindStack("generic");
    const GemmFamily& wide = *stack.GemmFor(Format::kBf16);
    EXPECT_NEAR(ToMicroseconds(wide.launch + wide.wave), facts.gemm_fixed_us,
                1e-9);
    EXPECT_EQ(wide.hbm_fraction, facts.gemm_hbm);
    EXPECT_EQ(wide.peak_fraction, facts.peak16);
    EXPECT_EQ(stack.GemmFor(Format::kTf32), &wide);
    EXPECT_EQ(stack.GemmFor(Format::kInt8)->peak_fraction, facts.peak8);
    const KernelStackSpec& spec = stack.spec();
    EXPECT_NEAR(ToMicroseconds(spec.attention_decode.launch),
                facts.decode_launch_us, 1e-9);
    EXPECT_EQ(spec.attention_decode.hbm_fraction, facts.decode_hbm);
    EXPECT_EQ(spec.attention_prefill.PeakFraction(128), facts.prefill128);
    EXPECT_EQ(wide.facts.tier, Tier::kSpec);
    // Collectives on every tier of the default fabric.
    EXPECT_EQ(spec.collectives[0].has_value(),
              profile.fabrics()[0].FindLink(LinkTier::kNvlink) != nullptr);
    EXPECT_TRUE(spec.collectives[1].has_value());
    EXPECT_TRUE(spec.collectives[2].has_value());
  }
  EXPECT_EQ(Shipped()
                .profiles.at("b200-sxm")
                ->FindStack("")
                ->GemmFor(Format::kNvfp4)
                ->peak_fraction,
            .61);
}

// NCCL all-reduce of a small message over 8 devices takes 16 us on the H100
// and 25 us on the B200; large ones reach 343 and 660 GB/s of bus bandwidth.
TEST(ShippedTest, NvlinkLinesGiveTheMeasuredLatencies) {
  struct {
    const char* id;
    double small_us, bus_gigabytes_per_second;
  } const kCases[] = {{"a100-sxm-80gb", 21.3, 212},
                      {"h100-sxm", 16, 343},
                      {"h200-sxm", 16, 343},
                      {"b200-sxm", 25, 660}};
  for (const auto& test : kCases) {
    const auto& lines = Shipped()
                            .profiles.at(test.id)
                            ->FindStack("")
                            ->spec()
                            .collectives[0]
                            ->lines;
    ASSERT_EQ(lines.size(), 3u) << test.id;
    EXPECT_NEAR(ToMicroseconds(lines[0].alpha + 14.0 * lines[0].step),
                test.small_us, 1)
        << test.id;
    EXPECT_EQ(lines[2].bus, GigabytesPerSecond(test.bus_gigabytes_per_second))
        << test.id;
  }
}

TEST(ShippedTest, ModelsHaveTheirPublishedSizes) {
  struct {
    const char* id;
    int64_t parameters, kv_bytes_per_token;
    int layers;
    int64_t max_context;
  } const kCases[] = {{"llama-3.1-8b", 8030261248, 131072, 32, 131072},
                      {"llama-3.1-70b", 70553706496, 327680, 80, 131072},
                      {"deepseek-v3", 671026404352, 70272, 61, 163840},
                      {"mixtral-8x7b", 46702792704, 131072, 32, 32768},
                      {"llama-3.1-405b", 405853388800, 516096, 126, 131072},
                      {"qwen3-32b", 32762123264, 262144, 64, 40960},
                      {"qwen3-235b-a22b", 235093634560, 192512, 94, 40960},
                      {"qwen3-next-80b-a3b", 79674391296, 24576, 48, 262144},
                      {"gpt-oss-120b", 116829156672, 73728, 36, 131072},
                      {"kimi-k2", 1026408209408, 70272, 61, 131072},
                      {"glm-4.5-air", 106852245504, 188416, 46, 131072},
                      {"deepseek-v4-flash", 284332230231, 5536, 43, 1048576}};
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.id);
    const ModelGraph& graph = *Shipped().graphs.at(test.id);
    EXPECT_EQ(graph.ParameterCount(), test.parameters);
    EXPECT_EQ(graph.layer_count(), test.layers);
    EXPECT_EQ(graph.spec().max_context, test.max_context);
    EXPECT_FALSE(graph.spec().tied_embeddings);
    EXPECT_EQ(GraphToProto(graph).size().kv_bytes_per_token(),
              test.kv_bytes_per_token);
  }
}

// Not hidden size / query heads, 80, which would make them 5120 wide.
TEST(ShippedTest, HeadSizesAreThoseOfTheFile) {
  const ModelGraph& graph = *Shipped().graphs.at("qwen3-32b");
  EXPECT_EQ(graph.spec().hidden_size, 5120);
  const auto& attention = std::get<GroupedQueryAttention>(
      *graph.spec().layer_kinds.front().attention);
  EXPECT_EQ(attention.query_heads * attention.head_size, 8192);
}

TEST(ShippedTest, BrokenFilesAreNamedWithPlaceAndRule) {
  ShippedData data;
  const absl::Status status = AddData(
      {.fabrics = {{"fabrics/torn.textproto",
                    "fabric: \"torn\"\nlinks {\n  speed: 3\n}\n"},
                   {"fabrics/misnamed.textproto", "fabric: \"other\""}},
       .hardware = {{"hardware/hollow.textproto", "display_name: \"Hollow\""}},
       .models = {{"models/empty.textproto", "hidden_size: 0"}}},
      data);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(data.fabrics.empty());
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("fabrics/torn.textproto:3:8: "), HasSubstr("\"speed\""),
            HasSubstr("fabrics/misnamed.textproto: fabric: is \"other\"; the "
                      "file's name says \"misnamed\""),
            HasSubstr("fabrics/misnamed.textproto: links: is empty"),
            HasSubstr("hardware/hollow.textproto: device: is required"),
            HasSubstr("hardware/hollow.textproto: fabrics: is empty"),
            HasSubstr("models/empty.textproto: hidden_size: is 0"),
            HasSubstr("models/empty.textproto: native_precision: is "
                      "required")));
}

// "\351" is Latin-1; the wire takes UTF-8 alone.
TEST(ShippedTest, TextsAreUtf8) {
  const std::string before = "fabric: \"mesh\" display_name: \"";
  const std::string after =
      "\" links { tier: \"pcie\" domain_device_count: 8 "
      "bandwidth_bytes_per_second { value: 1e10 "
      "provenance { kind: KIND_ASSUMED source: \"x\" } } }";
  for (const char* latin1 : {"caf\351", "caf\\351"}) {
    ShippedData data;
    EXPECT_EQ(
        AddData(
            {.fabrics = {{"fabrics/mesh.textproto", before + latin1 + after}},
             .hardware = {},
             .models = {}},
            data)
            .message(),
        "fabrics/mesh.textproto: a text in it is not UTF-8");
    EXPECT_TRUE(data.fabrics.empty());
  }
  ShippedData data;
  EXPECT_TRUE(AddData({.fabrics = {{"fabrics/mesh.textproto",
                                    before + "caf\303\251" + after}},
                       .hardware = {},
                       .models = {}},
                      data)
                  .ok());
}

}  // namespace
}  // namespace mansard::model
