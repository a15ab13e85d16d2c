// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/byte_source.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "data/unpacking.hpp"

namespace mlo {
namespace {

class PlainSource final : public ByteSource {
 public:
  PlainSource(std::shared_ptr<RawFile> raw, std::span<const char> first)
      : raw_(std::move(raw)), first_size_(first.size()) {
    std::copy(first.begin(), first.end(), first_.begin());
  }

  std::size_t read(std::span<char> to) override {
    const std::size_t from_first = std::min(to.size(), first_size_ - first_used_);
    std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(first_used_), from_first, to.begin());
    first_used_ += from_first;
    const std::size_t got = from_first + raw_->read(to.subspan(from_first));
    done_ += got;
    return got;
  }

  double share() const noexcept override { return raw_->share(done_); }

 private:
  std::shared_ptr<RawFile> raw_;
  std::array<char, magic_bytes> first_{};  // already read: a pipe cannot be rewound
  std::size_t first_size_;
  std::size_t first_used_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(std::shared_ptr<RawFile> file, std::size_t block_bytes) {
  std::array<char, magic_bytes> bytes{};
  const std::span<const char> first = std::span<const char>(bytes).first(file->read(bytes));
  const std::string_view magic(first.data(), first.size());
  if (is_gzip(magic)) return read_ahead(open_gzip(std::move(file), first), block_bytes);
  if (is_zstd(magic)) return read_ahead(open_zstd(std::move(file), first), block_bytes);
  return std::make_unique<PlainSource>(std::move(file), first);
}

std::unique_ptr<ByteSource> open_bytes(const std::string& file, std::size_t block_bytes) {
  return open_bytes(std::make_shared<RawFile>(file), block_bytes);
}

}  // namespace mlo
