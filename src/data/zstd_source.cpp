// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "data/unpacking.hpp"

namespace mlo {
namespace {

// Unpacks the frames of a zstd file one after the other. The library refuses frames that need more than 128
// MiB of history, so memory is bounded whatever the file says.
class ZstdSource final : public ByteSource {
 public:
  ZstdSource(std::shared_ptr<RawFile> raw, std::span<const char> first)
      : raw_(std::move(raw)), input_(ZSTD_DStreamInSize()), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    std::copy(first.begin(), first.end(), input_.begin());
    taken_ = first.size();
    in_ = {.src = input_.data(), .size = first.size(), .pos = 0};
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  std::size_t read(std::span<char> to) override {
    ZSTD_outBuffer out{.dst = to.data(), .size = to.size(), .pos = 0};
    // Input may be used up while output is still held back, so the library is called until it gives nothing.
    while (out.pos < out.size) {
      if (in_.pos == in_.size && !held_back_ && !refill()) {
        if (inside_frame_)
          throw DataError(raw_->name(), "the zstd data end too early; the file is truncated");
        break;
      }
      const std::size_t before = out.pos;
      const std::size_t state = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(state) != 0) fail(state);
      inside_frame_ = state != 0;
      held_back_ = inside_frame_ && out.pos == out.size;
      if (out.pos == before && in_.pos == in_.size) held_back_ = false;
    }
    return out.pos;
  }

  double share() const noexcept override { return raw_->share(taken_ - (in_.size - in_.pos)); }

 private:
  bool refill() {
    const std::size_t got = raw_->read(input_);
    taken_ += got;
    in_ = {.src = input_.data(), .size = got, .pos = 0};
    return got > 0;
  }

  [[noreturn]] void fail(std::size_t state) const {
    switch (ZSTD_getErrorCode(state)) {
      case ZSTD_error_memory_allocation:
        throw std::bad_alloc();
      case ZSTD_error_frameParameter_windowTooLarge:
        throw DataError(
            raw_->name(),
            "the zstd data need more than 128 MiB to be unpacked; compress the file without --long");
      default:
        throw DataError(raw_->name(),
                        fmt::format("the zstd data are corrupt ({})", ZSTD_getErrorName(state)));
    }
  }

  std::shared_ptr<RawFile> raw_;
  std::vector<char> input_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{};
  std::uint64_t taken_ = 0;  // compressed bytes read from the file
  bool inside_frame_ = true;
  bool held_back_ = false;  // there may be output that needs no more input
};

}  // namespace

// A frame, or one that readers skip, such as pzstd writes at the start.
bool is_zstd(std::string_view first_bytes) noexcept {
  return first_bytes.starts_with("\x28\xB5\x2F\xFD") ||
         (first_bytes.size() >= 4 && (static_cast<unsigned char>(first_bytes[0]) & 0xF0U) == 0x50 &&
          first_bytes.substr(1, 3) == "\x2A\x4D\x18");
}

std::unique_ptr<ByteSource> open_zstd(std::shared_ptr<RawFile> file, std::span<const char> first) {
  return std::make_unique<ZstdSource>(std::move(file), first);
}

}  // namespace mlo
