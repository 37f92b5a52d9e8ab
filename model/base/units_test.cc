#include "model/base/units.h"

#include <cmath>
#include <type_traits>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept Convertible = requires(A a) {
  B{a};
};

// What means something compiles, with the right unit.
static_assert(Addable<Bytes, Bytes>);
static_assert(Subtractable<Seconds, Seconds>);
static_assert(Comparable<Seconds, Seconds>);
static_assert(std::is_same_v<decltype(Bytes() / BytesPerSecond()), Seconds>);
static_assert(std::is_same_v<decltype(Flops() / FlopsPerSecond()), Seconds>);
static_assert(std::is_same_v<decltype(Bytes() / Seconds()), BytesPerSecond>);
static_assert(std::is_same_v<decltype(Flops() / Seconds()), FlopsPerSecond>);
static_assert(std::is_same_v<decltype(Flops() / Bytes()), FlopsPerByte>);
static_assert(std::is_same_v<decltype(FlopsPerSecond() / BytesPerSecond()),
                             FlopsPerByte>);
static_assert(std::is_same_v<decltype(BytesPerSecond() * Seconds()), Bytes>);
static_assert(std::is_same_v<decltype(Seconds() / Seconds()), double>);

// What mixes units does not.
static_assert(!Addable<Bytes, Seconds>);
static_assert(!Addable<Bytes, Flops>);
static_assert(!Addable<Bytes, double>);
static_assert(!Addable<BytesPerSecond, FlopsPerSecond>);
static_assert(!Subtractable<Seconds, Bytes>);
static_assert(!Comparable<Seconds, Bytes>);
static_assert(!Comparable<Seconds, double>);
static_assert(!Multipliable<Seconds, Seconds>);
static_assert(!Multipliable<Bytes, Flops>);
static_assert(!Divisible<Bytes, FlopsPerSecond>);
static_assert(!Divisible<Flops, BytesPerSecond>);
// No time through an intensity.
static_assert(!Divisible<Flops, FlopsPerByte>);
static_assert(!Multipliable<Bytes, FlopsPerByte>);
// Numbers enter and leave by name.
static_assert(!Convertible<double, Seconds>);
static_assert(!Convertible<Seconds, double>);
static_assert(!Convertible<Bytes, Flops>);

// A unit costs nothing.
static_assert(sizeof(Bytes) == sizeof(double));
static_assert(Bytes().value() == 0);

TEST(UnitsTest, ConvertBetweenNamedUnits) {
  EXPECT_DOUBLE_EQ(Microseconds(250).value(), 0.00025);
  EXPECT_DOUBLE_EQ(Milliseconds(3).value(), 0.003);
  EXPECT_DOUBLE_EQ(ToMicroseconds(Seconds::Of(2)), 2e6);
  EXPECT_DOUBLE_EQ(ToMilliseconds(Seconds::Of(0.5)), 500);
  EXPECT_DOUBLE_EQ(Gigabytes(80).value(), 80'000'000'000.0);
  EXPECT_DOUBLE_EQ(Gibibytes(80).value(), 85'899'345'920.0);
  EXPECT_DOUBLE_EQ(ToGigabytes(Bytes::Of(5e8)), 0.5);
  EXPECT_DOUBLE_EQ(GigabytesPerSecond(3350).value(), 3.35e12);
  EXPECT_DOUBLE_EQ(TeraflopsPerSecond(989.4).value(), 989.4e12);
}

TEST(UnitsTest, QuotientsAndProducts) {
  // 14 GB at 3.5 TB/s take 4 ms.
  EXPECT_DOUBLE_EQ(ToMilliseconds(Gigabytes(14) / GigabytesPerSecond(3500)), 4);
  EXPECT_DOUBLE_EQ((Flops::Of(2e12) / TeraflopsPerSecond(1000)).value(), 0.002);
  EXPECT_DOUBLE_EQ((Gigabytes(6) / Seconds::Of(2)).value(), 3e9);
  EXPECT_DOUBLE_EQ((GigabytesPerSecond(3) * Seconds::Of(2)).value(), 6e9);
  EXPECT_DOUBLE_EQ((TeraflopsPerSecond(990) / GigabytesPerSecond(3300)).value(),
                   300);
  EXPECT_DOUBLE_EQ((Flops::Of(12) / Bytes::Of(8)).value(), 1.5);
}

TEST(UnitsTest, SumsScalesAndRatios) {
  Seconds total = Seconds::Of(1);
  total += Seconds::Of(2);
  total *= 4;
  EXPECT_EQ(total, Seconds::Of(12));
  EXPECT_EQ(total - Seconds::Of(2), Seconds::Of(10));
  EXPECT_EQ(2 * total, total * 2);
  EXPECT_EQ(total / 3, Seconds::Of(4));
  EXPECT_DOUBLE_EQ(total / Seconds::Of(8), 1.5);
}

TEST(UnitsTest, OrderAndExtremes) {
  EXPECT_LT(Seconds::Of(1), Seconds::Of(2));
  EXPECT_EQ(Max(Bytes::Of(1), Bytes::Of(2)), Bytes::Of(2));
  EXPECT_EQ(Min(Bytes::Of(1), Bytes::Of(2)), Bytes::Of(1));
  EXPECT_EQ(Seconds::Zero(), Seconds());
  EXPECT_TRUE(std::isinf(Seconds::Infinity().value()));
  EXPECT_EQ(Min(Seconds::Infinity(), Seconds::Of(3)), Seconds::Of(3));
}

}  // namespace
}  // namespace mansard::model
