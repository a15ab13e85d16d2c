// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mlo {
namespace {

std::string text(std::size_t size) {
  std::string out(size, ' ');
  for (std::size_t k = 0; k < size; ++k) out[k] = static_cast<char>('a' + k * 7 % 26);
  return out;
}

TEST(Fingerprint, DoesNotDependOnHowTheBytesAreCut) {
  const std::string all = text(1000);
  const std::uint64_t whole = fingerprint_of(all);
  for (const std::size_t piece : {1, 7, 63, 64, 65, 128, 999}) {
    Fingerprint fingerprint;
    for (std::size_t at = 0; at < all.size(); at += piece)
      fingerprint.add(std::string_view(all).substr(at, piece));
    EXPECT_EQ(fingerprint.value(), whole) << piece;
  }
}

TEST(Fingerprint, TellsLengthsAndSingleBitsApart) {
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= 200; ++size) {
    EXPECT_TRUE(seen.insert(fingerprint_of(text(size))).second);
    EXPECT_TRUE(seen.insert(fingerprint_of(text(size) + '\0')).second);
  }
  std::string changed = text(200);
  for (char& c : changed)
    for (int bit = 0; bit < 8; ++bit) {
      c = static_cast<char>(c ^ (1 << bit));
      EXPECT_TRUE(seen.insert(fingerprint_of(changed)).second);
      c = static_cast<char>(c ^ (1 << bit));
    }
}

// By the definition, in Python's integers: a change would make users' runs impossible to resume.
TEST(Fingerprint, ItsValuesNeverChange) {
  EXPECT_EQ(fingerprint_of(std::string()), 0x5CD1BD69D790A329U);
  EXPECT_EQ(fingerprint_of(text(10)), 0xFBBC38562351FEEEU);
  EXPECT_EQ(fingerprint_of(text(200)), 0xFCFC03273109EC9BU);
}

// The first output of splitmix64 from state 0, as published with its source.
TEST(Mixed, IsTheFinaliserOfSplitmix64) {
  static_assert(mixed(0x9E3779B97F4A7C15U) == 0xE220A8397B1DCDAFU);
  static_assert(mixed(0) == 0);
}

}  // namespace
}  // namespace mlo
