// Copyright (c) the mlo authors. BSD-3-Clause.
// What the fuzz targets share. A target lets through only what the library may do with any input: return a
// value or throw an mlo::Error. Everything else ends the program, and libFuzzer keeps the input: another
// exception, a failed check, an assert, what the sanitizers find.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace mlo::fuzz {

// Never compiled out, unlike assert.
inline void check(bool holds, std::string_view rule, std::string_view detail = "") {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n  %.*s\n", static_cast<int>(rule.size()), rule.data(),
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// A file in memory that can be opened by its path: nothing is written to a disk.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("mlo-fuzz", MFD_CLOEXEC)) {
    check(descriptor_ >= 0, "a file in memory can be made");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void write(std::string_view bytes) const {
    check(::ftruncate(descriptor_, 0) == 0, "a file in memory can be emptied");
    check(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "a file in memory can be written");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace mlo::fuzz
