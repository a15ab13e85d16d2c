// Copyright (c) the mlo authors. BSD-3-Clause.
// Gzip by ISA-L, which takes a third of zlib's time.
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
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
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    std::copy(first.begin(), first.end(), input_.begin());
    taken_ = first.size();
    state_.next_in = bytes(input_.data());
    state_.avail_in = static_cast<std::uint32_t>(first.size());
  }

  std::size_t read(std::span<char> to) override {
    state_.next_out = bytes(to.data());
    state_.avail_out = static_cast<std::uint32_t>(to.size());
    while (state_.avail_out > 0 && (between_members_ ? next_member() : inflate())) {
    }
    return to.size() - state_.avail_out;
  }

  double share() const noexcept override { return raw_->share(taken_ - state_.avail_in); }

 private:
  static constexpr std::size_t input_bytes = std::size_t{1} << 17;
  static std::uint8_t* bytes(char* p) noexcept { return reinterpret_cast<std::uint8_t*>(p); }

  // Makes some output, or reaches the end of the member.
  bool inflate() {
    const bool more = state_.avail_in > 0 || refill();
    const std::uint32_t room = state_.avail_out;
    const int result = isal_inflate(&state_);
    if (result < 0) fail(result);
    between_members_ = state_.block_state == ISAL_BLOCK_FINISH;
    // The library may still hold output when there is no more input.
    if (!more && !between_members_ && state_.avail_out == room) {
      throw DataError(raw_->name(), "the gzip data end too early; the file is truncated");
    }
    return true;
  }

  // False at the end of the file. Some writers pad the file with zeros.
  bool next_member() {
    while (state_.avail_in > 0 || refill()) {
      const std::uint8_t* const end = state_.next_in + state_.avail_in;
      state_.next_in = std::find_if(state_.next_in, state_.next_in + state_.avail_in,
                                    [](std::uint8_t byte) { return byte != 0; });
      state_.avail_in = static_cast<std::uint32_t>(end - state_.next_in);
      if (state_.avail_in == 0) continue;
      constexpr std::uint8_t first_of_gzip = 0x1F;
      if (*state_.next_in != first_of_gzip) fail(ISAL_INVALID_WRAPPER);
      isal_inflate_reset(&state_);
      state_.crc_flag = ISAL_GZIP;
      between_members_ = false;
      return true;
    }
    return false;
  }

  bool refill() {
    const std::size_t got = raw_->read(input_);
    taken_ += got;
    state_.next_in = bytes(input_.data());
    state_.avail_in = static_cast<std::uint32_t>(got);
    return got > 0;
  }

  [[noreturn]] void fail(int result) const {
    throw DataError(raw_->name(), fmt::format("the gzip data are corrupt ({})", words(result)));
  }
  static const char* words(int result) noexcept {
    switch (result) {
      case ISAL_INVALID_BLOCK:
        return "invalid block";
      case ISAL_INVALID_SYMBOL:
        return "invalid symbol";
      case ISAL_INVALID_LOOKBACK:
        return "invalid distance";
      case ISAL_INVALID_WRAPPER:
        return "incorrect header";
      case ISAL_UNSUPPORTED_METHOD:
        return "unknown compression method";
      case ISAL_INCORRECT_CHECKSUM:
        return "incorrect checksum or length";
      default:
        return "unknown error";
    }
  }

  std::shared_ptr<RawFile> raw_;
  std::vector<char> input_;
  inflate_state state_{};
  std::uint64_t taken_ = 0;  // compressed bytes read from the file
  bool between_members_ = false;
};

}  // namespace

bool is_gzip(std::string_view first_bytes) noexcept { return first_bytes.starts_with("\x1f\x8b"); }

std::unique_ptr<ByteSource> open_gzip(std::shared_ptr<RawFile> file, std::span<const char> first) {
  return std::make_unique<GzipSource>(std::move(file), first);
}

}  // namespace mlo
