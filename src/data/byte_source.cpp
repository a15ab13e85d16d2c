// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "data/gzip_source.hpp"

namespace mlo {

DataError file_error(const std::string& file, int error) {
  switch (error) {
    case ENOENT:
      return {file, "no such file"};
    case EISDIR:
      return {file, "is a directory, not a file"};
    case EACCES:
      return {file, "permission denied"};
    default:
      return {file, fmt::format("cannot be read ({})", std::generic_category().message(error))};
  }
}

RawFile::RawFile(std::string file)
    : file_(std::move(file)), descriptor_(::open(file_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw file_error(file_, errno);
  struct stat status {};
  const int error = ::fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error != 0) {
    ::close(descriptor_);
    throw file_error(file_, error);
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
}

RawFile::~RawFile() { ::close(descriptor_); }

std::size_t RawFile::read(std::span<char> to) {
  std::size_t have = 0;
  while (have < to.size()) {  // a read from a pipe may give less than was asked for
    const ssize_t got = ::read(descriptor_, to.data() + have, to.size() - have);
    if (got == 0) break;
    if (got > 0) {
      have += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw file_error(file_, errno);
    }
  }
  return have;
}

namespace {

class PlainSource final : public ByteSource {
 public:
  PlainSource(std::unique_ptr<RawFile> raw, std::span<const char> first)
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
  std::unique_ptr<RawFile> raw_;
  std::array<char, 2> first_{};  // already read, to look for gzip's magic bytes: a pipe cannot be rewound
  std::size_t first_size_;
  std::size_t first_used_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& file, std::size_t block_bytes) {
  auto raw = std::make_unique<RawFile>(file);
  std::array<char, 2> first{};
  const std::size_t got = raw->read(first);
  if (got == 2 && first[0] == '\x1f' && first[1] == '\x8b') {
    return open_gzip(std::move(raw), first, block_bytes);
  }
  return std::make_unique<PlainSource>(std::move(raw), std::span<const char>(first).first(got));
}

}  // namespace mlo
