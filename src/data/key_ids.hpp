// Copyright (c) the mlo authors. BSD-3-Clause.
// Distinct 64-bit keys, numbered in the order in which they first appear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mlo/base/hash.hpp"

namespace mlo {

// A hash table of 32-bit slots, at most half of them used, beside the keys: 16 to 24 bytes per key, where the
// nodes of std::unordered_map take 40 and a cache miss more.
class KeyIds {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::uint32_t find(std::uint64_t key) const noexcept {
    return slots_.empty() ? none : slots_[slot_of(key)];
  }
  // The key's number; a new key gets the next one.
  std::uint32_t add(std::uint64_t key) {
    if (2 * keys_.size() >= slots_.size()) grow();
    std::uint32_t& slot = slots_[slot_of(key)];
    if (slot == none) {
      slot = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
    }
    return slot;
  }
  [[nodiscard]] std::span<const std::uint64_t> keys() const noexcept { return keys_; }

 private:
  // Where the key is, or the free slot where it belongs.
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mixed(key) & mask;
    while (slots_[at] != none && keys_[slots_[at]] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), none);
    for (std::uint32_t id = 0; id < keys_.size(); ++id) slots_[slot_of(keys_[id])] = id;
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;
};

// A pair of codes as a key.
[[nodiscard]] constexpr std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::uint64_t>(a) << 32U | b;
}

}  // namespace mlo
