// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int close() noexcept {
    const int status = ::close(fd_);
    fd_ = -1;
    return status;
  }

 private:
  int fd_;
};

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

void write_file(const std::string& file, std::string_view contents) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && S_ISDIR(found.st_mode))
    throw DataError(file, "is a directory, not a file");
  const std::string part = file + ".part";
  const auto fail = [&](const char* what) {
    const int error = errno;
    ::unlink(part.c_str());
    throw DataError(file, std::string(what) + ": " + reason(error));
  };
  Descriptor out(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (out.get() < 0) fail("cannot be written");
  while (!contents.empty()) {
    const ssize_t written = ::write(out.get(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(out.get()) != 0 && errno != EINVAL) fail("cannot be written");
  if (out.close() != 0) fail("cannot be written");
  if (std::rename(part.c_str(), file.c_str()) != 0) fail("cannot be renamed into place");
}

ResultDirectory::ResultDirectory(const std::string& path, const std::string& asked_by) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) throw DataError(path, asked_by + "a file of that name exists");
    if (!fs::is_empty(path, error) || error)
      throw DataError(path, asked_by + "the directory exists and is not empty");
  } else {
    fs::create_directories(path, error);
    if (error) throw DataError(path, asked_by + "cannot be made: " + error.message());
    made_ = path;
  }
}

ResultDirectory::~ResultDirectory() {
  if (!made_.empty()) ::rmdir(made_.c_str());  // fails if the directory is not empty, as it should
}

std::string read_file(const std::string& file) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.get() < 0) throw DataError(file, "cannot be read: " + reason(errno));
  std::string contents;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = ::read(in.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(file, "cannot be read: " + reason(errno));
    if (got == 0) return contents;
    contents.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace mlo
