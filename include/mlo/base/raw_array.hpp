// Copyright (c) the mlo authors. BSD-3-Clause.
// Large arrays that are not cleared: for those that are written once, or of which only a small part is ever
// written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace mlo {

enum class Pages {
  huge,   // for an array that is written whole and read at random; see huge_vector.hpp
  small,  // for one of which only some pages are used: the others take no memory
};

// An array of a fixed size, neither cleared nor copied, aligned to cache lines.
template <class T>
class RawArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  RawArray(std::size_t size, Pages pages) : size_(size), data_(allocate(size * sizeof(T), pages)) {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { std::free(memory); }
  };
  static T* allocate(std::size_t bytes, Pages pages) {
    constexpr std::size_t line = 64, page = 4096, huge = std::size_t{2} << 20U;
    const std::size_t alignment = bytes < 2 * huge ? line : pages == Pages::huge ? huge : page;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // Requests; it does not matter if they are refused.
    if (alignment == huge) ::madvise(memory, rounded, MADV_HUGEPAGE);
    if (alignment == page) ::madvise(memory, rounded, MADV_NOHUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }

  std::size_t size_;
  std::unique_ptr<T[], Free> data_;
};

}  // namespace mlo
