// Copyright (c) the mlo authors. BSD-3-Clause.
// Memory of large arrays that are read once, from the front to the back, while others are filled from them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace mlo {

// Gives the memory of an array's first elements back to the system, some megabytes at a time. They must not
// be read again; the array itself is freed as usual.
class FrontRelease {
 public:
  FrontRelease() = default;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): what is given back is not written but forgotten
  explicit FrontRelease(const void* array) noexcept : begin_(static_cast<char*>(const_cast<void*>(array))) {}
  void up_to(std::size_t bytes) noexcept {
    constexpr std::size_t page = std::size_t{2} << 20U, step = 8 * page;  // huge pages are given back whole
    if (begin_ == nullptr || bytes < released_ + step) return;
    const auto at = reinterpret_cast<std::uintptr_t>(begin_);
    const std::uintptr_t first = (at + released_ + page - 1) / page * page, last = (at + bytes) / page * page;
    if (last <= first) return;
#ifdef MADV_DONTNEED
    ::madvise(begin_ + (first - at), last - first, MADV_DONTNEED);  // a request, like that for huge pages
#endif
    released_ = last - at;
  }

 private:
  char* begin_ = nullptr;
  std::size_t released_ = 0;
};

}  // namespace mlo
