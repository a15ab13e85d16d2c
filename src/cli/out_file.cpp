// Copyright (c) the mlo authors. BSD-3-Clause.
#include "cli/out_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "cli/command.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::cli {
namespace {

namespace fs = std::filesystem;

// The file that a symbolic link leads to, whether it exists or not.
std::string behind_links(fs::path path) {
  std::error_code error;
  while (fs::is_symlink(path, error)) path = path.parent_path() / fs::read_symlink(path);
  return path;
}

}  // namespace

OutFile::OutFile(const std::string& name) : name_(name) {
  std::error_code error;
  const fs::file_status there = fs::status(name, error);
  if (there.type() == fs::file_type::none) fail(error.value());
  if (!fs::exists(there) || fs::is_regular_file(there)) {
    target_ = behind_links(name);
    part_ = target_ + ".part";
  }
  file_ = std::fopen((part_.empty() ? name : part_).c_str(), "wb");
  if (file_ == nullptr) fail(errno);
  if (fs::is_regular_file(there)) fs::permissions(part_, there.permissions(), error);
  if (!part_.empty()) catch_interrupts();  // otherwise there is nothing to clean up
}

OutFile::~OutFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!part_.empty()) std::remove(part_.c_str());
}

void OutFile::write(std::string_view text) {
  if (interrupt_flag()) throw Interrupted(fmt::format("interrupted: {} is not written", name_));
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail(errno);
}

void OutFile::finish() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
  if (part_.empty()) return;
  if (std::rename(part_.c_str(), target_.c_str()) != 0) fail(errno);
  part_.clear();
}

void OutFile::fail(int error) const {
  throw DataError(name_, "cannot be written: " + std::generic_category().message(error));
}

}  // namespace mlo::cli
