// Copyright (c) the mlo authors. BSD-3-Clause.
// The one 64-bit hash of bytes, which detects a changed file, a damaged checkpoint or another run. It is not
// safe against an adversary.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace mlo {

// Eight bytes as a number that is the same on every machine.
[[nodiscard]] inline std::uint64_t load_little_endian(const char* p) noexcept {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// The finaliser of splitmix64: one-to-one, and flipping any bit of h flips about half of the result's bits.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t h) noexcept {
  h = (h ^ (h >> 30U)) * 0xBF58476D1CE4E5B9U;
  h = (h ^ (h >> 27U)) * 0x94D049BB133111EBU;
  return h ^ (h >> 31U);
}

// Eight lanes of eight bytes: the products of the lanes do not wait for each other (about 15 GB/s). Each step
// maps the lane one-to-one for a given word and the word one-to-one for a given lane, so a single changed
// word always changes the hash.
class Fingerprint {
 public:
  // The hash does not depend on how the stream is cut into calls. Its values are in users' run.json: never
  // change them.
  void add(std::span<const char> bytes) noexcept {
    length_ += bytes.size();
    if (rest_ > 0) {
      const std::size_t n = std::min(bytes.size(), stripe_bytes - rest_);
      std::memcpy(stripe_.data() + rest_, bytes.data(), n);
      rest_ += n;
      bytes = bytes.subspan(n);
      if (rest_ < stripe_bytes) return;
      absorb(lanes_, stripe_.data());
      rest_ = 0;
    }
    Lanes lanes = lanes_;  // a copy, so that it stays in registers
    for (; bytes.size() >= stripe_bytes; bytes = bytes.subspan(stripe_bytes)) absorb(lanes, bytes.data());
    lanes_ = lanes;
    if (!bytes.empty()) std::memcpy(stripe_.data(), bytes.data(), bytes.size());
    rest_ = bytes.size();
  }

  [[nodiscard]] std::uint64_t value() const noexcept {
    Lanes lanes = lanes_;
    std::array<char, stripe_bytes> last{};
    std::copy_n(stripe_.begin(), rest_, last.begin());
    absorb(lanes, last.data());
    std::uint64_t hash = length_ * multiplier;
    for (const std::uint64_t lane : lanes) hash = mix(hash, lane);
    return mix(hash, hash >> 32);
  }

 private:
  static constexpr std::size_t stripe_bytes = 64;
  static constexpr std::uint64_t multiplier = 0x9E3779B97F4A7C15U;  // odd, so multiplication is one-to-one
  using Lanes = std::array<std::uint64_t, 8>;

  static std::uint64_t mix(std::uint64_t lane, std::uint64_t word) noexcept {
    lane = (lane ^ word) * multiplier;
    return lane ^ (lane >> 29);
  }
  static void absorb(Lanes& lanes, const char* stripe) noexcept {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] = mix(lanes[i], load_little_endian(stripe + 8 * i));
    }
  }

  Lanes lanes_{1, 2, 3, 4, 5, 6, 7, 8};
  std::array<char, stripe_bytes> stripe_{};
  std::size_t rest_ = 0;  // bytes in stripe_
  std::uint64_t length_ = 0;
};

// The hash of bytes that are all in memory.
[[nodiscard]] inline std::uint64_t fingerprint_of(std::span<const char> bytes) noexcept {
  Fingerprint fingerprint;
  fingerprint.add(bytes);
  return fingerprint.value();
}

}  // namespace mlo
