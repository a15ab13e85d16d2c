// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "data/unpacking.hpp"

namespace mlo {
namespace {

// Inflates the members of a gzip file one after the other.
class GzipSource final : public ByteSource {
 public:
  GzipSource(std::shared_ptr<RawFile> raw, std::span<const char> first)
      : raw_(std::move(raw)), input_(input_bytes) {
    std::copy(first.begin(), first.end(), input_.begin());
    taken_ = first.size();
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(first.size());
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> to) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(to.size());
    while (stream_.avail_out > 0 && step()) {
    }
    return to.size() - stream_.avail_out;
  }

  double share() const noexcept override { return raw_->share(taken_ - stream_.avail_in); }

 private:
  static constexpr std::size_t input_bytes = std::size_t{1} << 17;

  // One call of inflate; false at the end of the file.
  bool step() {
    if (stream_.avail_in == 0 && !refill()) {
      if (!between_members_) {
        throw DataError(raw_->name(), "the gzip data end too early; the file is truncated");
      }
      return false;
    }
    if (between_members_) {  // some writers pad the file with zeros
      while (stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
      if (stream_.avail_in == 0) return true;
      between_members_ = false;
    }
    switch (inflate(&stream_, Z_NO_FLUSH)) {
      case Z_OK:
      case Z_BUF_ERROR:  // it wants more input or more room, and gets it at the next call
        return true;
      case Z_STREAM_END:
        between_members_ = true;
        inflateReset(&stream_);
        return true;
      case Z_MEM_ERROR:
        throw std::bad_alloc();
      default:
        throw DataError(raw_->name(), fmt::format("the gzip data are corrupt ({})",
                                                  stream_.msg != nullptr ? stream_.msg : "unknown error"));
    }
  }

  bool refill() {
    const std::size_t got = raw_->read(input_);
    taken_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  std::shared_ptr<RawFile> raw_;
  std::vector<char> input_;
  z_stream stream_{};
  std::uint64_t taken_ = 0;  // compressed bytes read from the file
  bool between_members_ = false;
};

}  // namespace

bool is_gzip(std::string_view first_bytes) noexcept { return first_bytes.starts_with("\x1f\x8b"); }

std::unique_ptr<ByteSource> open_gzip(std::shared_ptr<RawFile> file, std::span<const char> first) {
  return std::make_unique<GzipSource>(std::move(file), first);
}

}  // namespace mlo
