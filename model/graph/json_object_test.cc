#include "model/graph/json_object.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr JsonLimits kLimits = {1000, 4, 6};

JsonObject ParseOrDie(const std::string& text) {
  absl::StatusOr<JsonObject> object = JsonObject::Parse(text, "file", kLimits);
  EXPECT_TRUE(object.ok()) << object.status();
  return *std::move(object);
}

struct Refused {
  std::string text;
  const char* message;
};

TEST(JsonObjectTest, RefusesWithTheReason) {
  const Refused rows[] = {
      {"", "file is not JSON at byte 0"},
      {"   ", "file is not JSON at byte 3"},
      {"{", "file is not JSON at byte 1"},
      {"{\"a\": 1", "file is not JSON at byte 7"},
      {"{\"a\": \"b", "file is not JSON at byte"},
      {"{\"a\": tru}", "file is not JSON at byte"},
      {"{\"a\": 1,}", "file is not JSON at byte 8"},
      {"{'a': 1}", "file is not JSON at byte 1"},
      {"{\"a\": 01}", "file is not JSON at byte"},
      {"{\"a\": 1e400}", "file is not JSON at byte"},
      {"{} {}", "file is not JSON at byte 3"},
      {"{\"a\": \"\\ud800\"}", "file is not JSON at byte"},
      {"[]", "file is a list; it must be an object"},
      {"12", "file is 12; it must be an object"},
      {"null", "file is null; it must be an object"},
      {"Infinity", "file is inf; it must be an object"},
      {"\"text\"", "file is \"text\"; it must be an object"},
      // Latin-1 in a string, in a key, and outside both; UTF-16.
      {"{\"a\": \"\xe9t\xe9\"}", "file is not UTF-8 text at byte"},
      {"{\"\xe9\": 1}", "file is not UTF-8 text at byte"},
      {"{\"a\": \xe9}", "file is not UTF-8 text at byte 6"},
      {"\xff\xfe{", "file is not UTF-8 text at byte 0"},
      {std::string("{\0}\0", 4), "file has a NUL at byte 1"},
      {std::string("{}\0x", 4), "file has a NUL at byte 2"},
      // Cut in the middle of a character.
      {"{\"a\": \"\xe2\x82", "file is not"},
      {std::string(1001, ' '), "file has 1001 bytes; allowed: up to 1000"},
      {"{\"a\": [[[[1]]]]}", "file is nested deeper than 4 levels at byte"},
      {std::string(999, '['), "file is nested deeper than 4 levels at byte"},
      {R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1})",
       "file has 7 keys; allowed: up to 6"},
  };
  for (const Refused& row : rows) {
    SCOPED_TRACE(row.text.substr(0, 60));
    const absl::StatusOr<JsonObject> object =
        JsonObject::Parse(row.text, "file", kLimits);
    ASSERT_FALSE(object.ok());
    EXPECT_EQ(object.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(object.status().message()), HasSubstr(row.message));
  }
}

TEST(JsonObjectTest, EveryPrefixIsRefused) {
  const std::string text =
      R"({"a": [1, -2.5e3, true], "\u00e9": {"b": null}, "c": Infinity})";
  ParseOrDie(text);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(
        JsonObject::Parse(text.substr(0, length), "file", kLimits).ok())
        << length;
  }
}

TEST(JsonObjectTest, AcceptsAtTheLimits) {
  ParseOrDie("{}" + std::string(998, ' '));
  ParseOrDie(R"({"a": [[[1]]]})");
  ParseOrDie(R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1})");
  ParseOrDie("\xef\xbb\xbf{}");
}

TEST(JsonObjectTest, AcceptsBareInfinityAndNan) {
  const JsonObject object = ParseOrDie(
      R"({"a": Infinity, "b": -Infinity, "c": NaN, "d": [Infinity]})");
  EXPECT_EQ(object.Describe("a"), "inf");
  EXPECT_EQ(object.Describe("b"), "-inf");
  EXPECT_EQ(object.Describe("c"), "nan");
  EXPECT_FALSE(object.IsOff("a"));
  EXPECT_FALSE(object.IsOff("c"));
}

TEST(JsonObjectTest, KeysSortedWithRepeats) {
  const JsonObject object =
      ParseOrDie(R"({"b": 1, "a": 2, "\u0062": 3, "": 4, "a\u0000": 5})");
  EXPECT_THAT(object.Keys(),
              ElementsAre("", "a", std::string("a\0", 2), "b", "b"));
  Violations violations;
  EXPECT_EQ(object.Integer("b", 0, 9, violations), 1);
  EXPECT_EQ(object.Integer("a", 0, 9, violations), 2);
  EXPECT_EQ(object.Integer("", 0, 9, violations), 4);
}

TEST(JsonObjectTest, AbsentNullAndOff) {
  const JsonObject object = ParseOrDie(
      R"({"n": null, "f": false, "z": 0.0, "s": "", "l": [], "o": {}})");
  for (const char* key : {"n", "f", "z", "s", "l", "o"}) {
    EXPECT_TRUE(object.Has(key)) << key;
    EXPECT_TRUE(object.IsOff(key)) << key;
    EXPECT_EQ(object.IsNull(key), std::string(key) == "n") << key;
  }
  EXPECT_FALSE(object.Has("absent"));
  EXPECT_TRUE(object.IsNull("absent"));
  EXPECT_TRUE(object.IsOff("absent"));
  EXPECT_EQ(object.Describe("absent"), "absent");
  const JsonObject on =
      ParseOrDie(R"({"t": true, "i": -1, "s": "0", "l": [0], "o": {"a": 0}})");
  for (const char* key : {"t", "i", "s", "l", "o"}) {
    EXPECT_FALSE(on.IsOff(key)) << key;
  }
}

struct Number {
  const char* value;
  const char* description;  // Empty: read as 32.
};

TEST(JsonObjectTest, Integers) {
  const Number rows[] = {
      {"32", ""},
      {"\"32\"", "is \"32\"; must be an integer, 1 to 64"},
      {"32.0", "is 32; must be an integer, 1 to 64"},
      {"32.5", "is 32.5; must be an integer, 1 to 64"},
      {"3.2e1", "is 32; must be an integer, 1 to 64"},
      {"0", "is 0; must be an integer, 1 to 64"},
      {"-32", "is -32; must be an integer, 1 to 64"},
      {"65", "is 65; must be an integer, 1 to 64"},
      {"9223372036854775807",
       "is 9223372036854775807; must be an integer, 1 to 64"},
      {"18446744073709551615", "is 1.84467e+19; must be an integer, 1 to 64"},
      {"99999999999999999999999", "is 1e+23; must be an integer, 1 to 64"},
      {"1e300", "is 1e+300; must be an integer, 1 to 64"},
      {"-Infinity", "is -inf; must be an integer, 1 to 64"},
      {"NaN", "is nan; must be an integer, 1 to 64"},
      {"null", "is null; must be an integer, 1 to 64"},
      {"true", "is true; must be an integer, 1 to 64"},
      {"[32]", "is a list; must be an integer, 1 to 64"},
      {"{\"a\": 32}", "is an object; must be an integer, 1 to 64"},
  };
  for (const Number& row : rows) {
    SCOPED_TRACE(row.value);
    const JsonObject object =
        ParseOrDie("{\"heads\": " + std::string(row.value) + "}");
    Violations violations;
    const std::optional<int64_t> read =
        object.Integer("heads", 1, 64, violations);
    if (row.description[0] == '\0') {
      EXPECT_EQ(read, 32);
      EXPECT_TRUE(violations.empty());
      continue;
    }
    EXPECT_EQ(read, std::nullopt);
    ASSERT_EQ(violations.all().size(), 1u);
    EXPECT_EQ(violations.all()[0].field, "heads");
    EXPECT_EQ(violations.all()[0].description, row.description);
  }
}

TEST(JsonObjectTest, OtherTypes) {
  const JsonObject object = ParseOrDie(
      R"({"yes": true, "name": "qwen\u00e9", "list": ["a", "b"],
          "mixed": ["a", 1], "config": {"method": "fp8", "bits": 8}})");
  Violations violations;
  EXPECT_EQ(object.Boolean("yes", violations), true);
  EXPECT_EQ(object.String("name", violations), "qwen\xc3\xa9");
  EXPECT_THAT(*object.Strings("list", violations), ElementsAre("a", "b"));
  EXPECT_TRUE(violations.empty());

  EXPECT_EQ(object.Boolean("name", violations), std::nullopt);
  EXPECT_EQ(object.String("yes", violations), std::nullopt);
  EXPECT_EQ(object.Strings("name", violations), std::nullopt);
  EXPECT_EQ(object.Strings("mixed", violations), std::nullopt);
  EXPECT_EQ(object.Integer("absent", 1, 2, violations), std::nullopt);
  EXPECT_EQ(object.Boolean("absent", violations), std::nullopt);
  EXPECT_EQ(violations.ToStatus().message(),
            "name: is \"qwen\xc3\xa9\"; must be true or false; "
            "yes: is true; must be a string; "
            "name: is \"qwen\xc3\xa9\"; must be a list of strings; "
            "mixed[1]: is 1; must be a string; "
            "absent: is missing; must be an integer; "
            "absent: is missing; must be true or false");
}

TEST(JsonObjectTest, Numbers) {
  const JsonObject object =
      ParseOrDie(R"({"i": 2, "d": 2.625, "n": NaN, "s": "2"})");
  Violations violations;
  EXPECT_EQ(object.Number("i", 0, 3, violations), 2.0);
  EXPECT_EQ(object.Number("d", 0, 3, violations), 2.625);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(object.Number("d", 0, 2.5, violations), std::nullopt);
  EXPECT_EQ(object.Number("n", 0, 3, violations), std::nullopt);
  EXPECT_EQ(object.Number("s", 0, 3, violations), std::nullopt);
  EXPECT_EQ(object.Number("x", 0, 3, violations), std::nullopt);
  EXPECT_EQ(violations.ToStatus().message(),
            "d: is 2.625; must be a number, 0 to 2.5; "
            "n: is nan; must be a number, 0 to 3; "
            "s: is \"2\"; must be a number, 0 to 3; "
            "x: is missing; must be a number");
}

TEST(JsonObjectTest, ListsOfIntegersAndObjects) {
  const JsonObject object = ParseOrDie(
      R"({"n": [1, 0, 1], "big": [1, 9], "o": [{"a": 1}, {"a": "x"}],
          "mixed": [{}, 3], "s": "text"})");
  Violations violations;
  EXPECT_THAT(*object.Integers("n", 0, 1, violations), ElementsAre(1, 0, 1));
  const auto objects = object.Objects("o", violations);
  ASSERT_TRUE(objects.has_value());
  ASSERT_EQ(objects->size(), 2u);
  EXPECT_EQ((*objects)[1].path(), "o[1].");
  EXPECT_EQ((*objects)[0].Integer("a", 0, 9, violations), 1);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ((*objects)[1].Integer("a", 0, 9, violations), std::nullopt);
  EXPECT_EQ(object.Integers("big", 0, 1, violations), std::nullopt);
  EXPECT_EQ(object.Integers("s", 0, 1, violations), std::nullopt);
  EXPECT_FALSE(object.Objects("mixed", violations).has_value());
  EXPECT_EQ(violations.ToStatus().message(),
            "o[1].a: is \"x\"; must be an integer, 0 to 9; "
            "big[1]: is 9; must be an integer, 0 to 1; "
            "s: is \"text\"; must be a list of integers; "
            "mixed[1]: is 3; must be an object of up to 6 keys");
}

TEST(JsonObjectTest, InnerObjectsHavePaths) {
  std::optional<JsonObject> inner;
  Violations violations;
  {
    const JsonObject object =
        ParseOrDie(R"({"in": {"a": 1, "deep": {"b": 2}}, "in.a": 3, "n": 4})");
    EXPECT_EQ(object.path(), "");
    inner = object.Object("in", violations);
    EXPECT_FALSE(object.Object("n", violations).has_value());
    EXPECT_FALSE(object.Object("absent", violations).has_value());
    // A key that is written like a path comes first.
    EXPECT_EQ(object.Integer("in.a", 0, 9, violations), 3);
    EXPECT_EQ(object.Integer("in.deep.b", 0, 9, violations), 2);
    EXPECT_FALSE(object.Has("in.absent"));
    EXPECT_FALSE(object.Has("n.a"));
    EXPECT_TRUE(object.IsObject("in.deep"));
    EXPECT_FALSE(object.IsObject("n"));
  }
  EXPECT_TRUE(violations.empty());
  // It outlives the outer one.
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->path(), "in.");
  EXPECT_EQ(inner->Object("deep", violations)->path(), "in.deep.");
  EXPECT_EQ(inner->String("a", violations), std::nullopt);
  EXPECT_EQ(violations.ToStatus().message(), "in.a: is 1; must be a string");
}

TEST(JsonObjectTest, EqualValues) {
  const JsonObject object = ParseOrDie(
      R"({"a": 1, "b": 1.0, "c": "1", "l": [1, 2], "m": [1, 2], "o": {}})");
  EXPECT_TRUE(object.Equals("a", object, "a"));
  EXPECT_TRUE(object.Equals("a", object, "b"));
  EXPECT_FALSE(object.Equals("a", object, "c"));
  EXPECT_TRUE(object.Equals("l", object, "m"));
  EXPECT_FALSE(object.Equals("l", object, "a"));
  EXPECT_FALSE(object.Equals("o", object, "o"));
  EXPECT_FALSE(object.Equals("x", object, "x"));
}

TEST(JsonObjectTest, PrintableTextIsShortAndSafe) {
  EXPECT_EQ(Printable("plain"), "plain");
  EXPECT_EQ(Printable("a\nb"), "a\\nb");
  EXPECT_EQ(Printable(std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_EQ(Printable(std::string(65, 'x')), std::string(64, 'x') + "...");
  // Not cut within the two bytes of a character.
  EXPECT_EQ(Printable("abc\xc3\xa9", 4), "abc...");
}

}  // namespace
}  // namespace mansard::model
