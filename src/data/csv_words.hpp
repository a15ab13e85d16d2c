// Copyright (c) the mlo authors. BSD-3-Clause.
// Words to numbers: a hash table with open addressing, filled in order of first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/base/hash.hpp"

namespace mlo::csv {

// A hash of a few bytes, most of them words of less than 16. Not safe against an adversary.
[[nodiscard]] inline std::uint32_t hash_word(std::string_view word) noexcept {
  const char* p = word.data();
  std::size_t n = word.size();
  std::uint64_t h = 0x9E3779B97F4A7C15U * (n + 1);
  const auto add = [&](std::uint64_t bytes) {
    h = (h ^ bytes) * 0xD6E8FEB86659FD93U;
    h ^= h >> 32U;
  };
  for (; n > 8; n -= 8, p += 8) add(load_little_endian(p));
  if (n == 8) {
    add(load_little_endian(p));
  } else if (n >= 4) {  // two halves that may overlap
    std::uint32_t first, last;
    std::memcpy(&first, p, 4);
    std::memcpy(&last, p + n - 4, 4);
    add(first | std::uint64_t{last} << 32U);
  } else if (n > 0) {
    const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])}; };
    add(byte(0) | byte(n / 2) << 8U | byte(n - 1) << 16U);
  }
  return static_cast<std::uint32_t>(mixed(h));
}

class Words {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  [[nodiscard]] const std::string& operator[](std::uint32_t index) const noexcept { return words_[index]; }
  [[nodiscard]] std::vector<std::string> take() && noexcept { return std::move(words_); }

  // The number of a word, or `none`. hash: hash_word(word).
  [[nodiscard]] std::uint32_t find(std::string_view word, std::uint32_t hash) const noexcept {
    if (slots_.empty()) return none;
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const std::uint64_t slot = slots_[at];
      if (slot == 0) return none;
      if (slot >> 32U != hash) continue;
      const auto index = static_cast<std::uint32_t>(slot) - 1;
      const std::string& known = words_[index];
      if (known.size() == word.size() && std::memcmp(known.data(), word.data(), word.size()) == 0)
        return index;
    }
  }

  // Adds a word that is not there; returns its number.
  std::uint32_t add(std::string_view word, std::uint32_t hash) {
    if (2 * (words_.size() + 1) > slots_.size()) grow();
    words_.emplace_back(word);
    const auto index = static_cast<std::uint32_t>(words_.size() - 1);
    put(hash, index);
    return index;
  }

  void clear() noexcept {
    words_.clear();
    slots_.clear();
    mask_ = 0;
  }

 private:
  void put(std::uint32_t hash, std::uint32_t index) noexcept {
    std::size_t at = hash & mask_;
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = std::uint64_t{hash} << 32U | (index + 1);
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const std::uint64_t slot : old) {
      if (slot != 0) put(static_cast<std::uint32_t>(slot >> 32U), static_cast<std::uint32_t>(slot) - 1);
    }
  }

  std::vector<std::string> words_;
  std::vector<std::uint64_t> slots_;  // hash and number + 1; 0 is empty
  std::size_t mask_ = 0;
};

}  // namespace mlo::csv
