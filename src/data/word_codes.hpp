// Copyright (c) the mlo authors. BSD-3-Clause.
// Words to codes, in the order in which the words first appear: how a text column is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/base/hash.hpp"

namespace mlo {

// A hash table of codes, with open addressing. A word is stored once, in levels().
class WordCodes {
 public:
  // More different words than that are hardly a factor, and cost more memory than all the codes.
  static constexpr std::size_t most = std::size_t{1} << 24;

  // The code of the word. A new word gets the next one; if there are `most` already, the code is `most`.
  [[nodiscard]] std::uint32_t code(std::string_view word) {
    std::size_t at = hash(word) & (slots_.size() - 1);
    for (; slots_[at] != empty; at = (at + 1) & (slots_.size() - 1))
      if (levels_[slots_[at]] == word) return slots_[at];
    if (levels_.size() == most) return static_cast<std::uint32_t>(most);
    const auto next = static_cast<std::uint32_t>(levels_.size());
    slots_[at] = next;
    levels_.emplace_back(word);
    if (2 * levels_.size() > slots_.size()) grow();
    return next;
  }

  [[nodiscard]] const std::vector<std::string>& levels() const noexcept { return levels_; }
  [[nodiscard]] std::vector<std::string> take_levels() && { return std::move(levels_); }

 private:
  static constexpr std::uint32_t empty = ~std::uint32_t{0};

  static std::uint64_t hash(std::string_view word) noexcept {
    std::uint64_t h = word.size();
    for (; word.size() >= 8; word.remove_prefix(8)) h = mixed(h ^ load_little_endian(word.data()));
    std::uint64_t rest = 0;
    for (const char c : word) rest = rest << 8 | static_cast<unsigned char>(c);
    return mixed(h * 0x9E3779B97F4A7C15U ^ rest);
  }

  void grow() {
    std::vector<std::uint32_t> wider(2 * slots_.size(), empty);
    for (std::uint32_t k = 0; k < levels_.size(); ++k) {
      std::size_t at = hash(levels_[k]) & (wider.size() - 1);
      while (wider[at] != empty) at = (at + 1) & (wider.size() - 1);
      wider[at] = k;
    }
    slots_ = std::move(wider);
  }

  std::vector<std::string> levels_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64, empty);  // a power of two
};

}  // namespace mlo
