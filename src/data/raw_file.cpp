// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/raw_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace mlo {
namespace {

// A new file that nobody else can see and that is gone when it is closed; -1 and errno if there can be none.
int nameless_file() noexcept {
  try {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error) {
      errno = error.value();
      return -1;
    }
    std::string pattern = folder / "mlo-XXXXXX";
    const int descriptor = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(pattern.c_str());
    return descriptor;
  } catch (const std::exception&) {
    errno = ENOMEM;
    return -1;
  }
}

}  // namespace

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

RawFile::RawFile(const std::string& file)
    : name_(file == "-" ? "standard input" : file),
      descriptor_(file == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                              : ::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw file_error(name_, errno);
  struct stat status {};
  const int error = ::fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error != 0) {
    ::close(descriptor_);
    throw file_error(name_, error);
  }
  regular_ = S_ISREG(status.st_mode);
  if (!regular_) return;
  if (const off_t here = ::lseek(descriptor_, 0, SEEK_CUR); here > 0)
    start_ = static_cast<std::uint64_t>(here);
  size_ = static_cast<std::uint64_t>(status.st_size) -
          std::min(start_, static_cast<std::uint64_t>(status.st_size));
}

RawFile::~RawFile() {
  ::close(descriptor_);
  if (kept_ >= 0) ::close(kept_);
}

std::size_t RawFile::read(std::span<char> to) {
  std::size_t have = 0;
  while (have < to.size()) {  // a read from a pipe may give less than was asked for
    const std::span<char> room = to.subspan(have);
    ssize_t got = 0;
    if (regular_) {
      got = ::pread(descriptor_, room.data(), room.size(), static_cast<off_t>(start_ + at_));
    } else if (at_ < kept_bytes_) {
      const std::size_t size = std::min<std::uint64_t>(room.size(), kept_bytes_ - at_);
      got = ::pread(kept_, room.data(), size, static_cast<off_t>(at_));
    } else {
      got = ::read(descriptor_, room.data(), room.size());
      if (got > 0) keep(room.first(static_cast<std::size_t>(got)));
    }
    if (got == 0) break;
    if (got > 0) {
      have += static_cast<std::size_t>(got);
      at_ += static_cast<std::uint64_t>(got);
    } else if (errno != EINTR) {
      throw file_error(name_, errno);
    }
  }
  return have;
}

int RawFile::rewind() noexcept {
  if (keep_error_ == 0) at_ = 0;
  return keep_error_;
}

// A disk that is full is not an error yet: few files need to be read twice. But we do not leave it full.
void RawFile::keep(std::span<const char> bytes) noexcept {
  if (keep_error_ != 0) return;
  if (kept_ < 0) kept_ = nameless_file();
  for (std::size_t done = 0; kept_ >= 0 && done < bytes.size();) {
    const ssize_t put = ::write(kept_, bytes.data() + done, bytes.size() - done);
    if (put > 0) {
      done += static_cast<std::size_t>(put);
    } else if (put == 0 || errno != EINTR) {
      keep_error_ = put == 0 ? EIO : errno;
      ::close(kept_);
      kept_ = -1;
      kept_bytes_ = 0;
      return;
    }
  }
  if (kept_ < 0) {
    keep_error_ = errno != 0 ? errno : EIO;
  } else {
    kept_bytes_ += bytes.size();
  }
}

}  // namespace mlo
