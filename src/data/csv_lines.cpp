// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_lines.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace mlo::csv {
namespace {

constexpr std::size_t slack = 128;       // for the added newline, and for loads that read past the end
constexpr std::size_t min_capacity = 4;  // the longest byte order mark

std::unique_ptr<char[]> make_buffer(std::size_t capacity) {
  return std::make_unique<char[]>(capacity + slack);
}

// The encoding that a byte order mark announces, if it is one that we do not read.
const char* foreign_encoding(std::string_view start) noexcept {
  using namespace std::string_view_literals;
  if (start.starts_with("\xFF\xFE\0\0"sv) || start.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (start.starts_with("\xFF\xFE"sv) || start.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return nullptr;
}

}  // namespace

Lines::Lines(const std::string& file, std::size_t buffer_bytes)
    : source_(open_bytes(file, buffer_bytes)),
      capacity_(std::clamp(buffer_bytes, min_capacity, max_record)),
      buffer_(make_buffer(capacity_)) {
  append();
  // A NUL byte may have cut size_ short, so look at all that was read.
  const std::string_view start(buffer_.get(), std::min<std::size_t>(read_, min_capacity));
  if (const char* const encoding = foreign_encoding(start)) {
    throw DataError(file, std::string("is ") + encoding + " text; save it as UTF-8");
  }
  if (start.starts_with("\xEF\xBB\xBF")) {
    size_ -= 3;
    std::memmove(buffer_.get(), buffer_.get() + 3, size_);
    if (size_ == 1 && ended_) size_ = 0;  // the file is only the mark, and append() added a newline to it
  }
}

Lines::More Lines::more(const char* keep) {
  const auto drop = static_cast<std::size_t>(keep - begin());
  size_ -= drop;
  complete_ -= drop;
  if (drop > 0) std::memmove(buffer_.get(), buffer_.get() + drop, size_);
  for (;;) {
    const std::size_t newline = std::string_view(end(), size_ - complete_).rfind('\n');
    if (newline != std::string_view::npos) {
      complete_ += newline + 1;
      return More::yes;
    }
    if (nul_) return More::nul;
    if (ended_) return More::end;
    if (size_ == capacity_) {
      if (capacity_ == max_record) return More::too_long;
      grow();
    }
    append();
  }
}

void Lines::append() {
  const std::span<char> room(buffer_.get() + size_, capacity_ - size_);
  const std::size_t got = source_->read(room);
  read_ += got;
  fingerprint_.add(room.first(got));
  ended_ = got < room.size();
  std::memset(room.data() + got, 0, slack);
  if (const void* const nul = std::memchr(room.data(), 0, got)) {
    size_ = static_cast<std::size_t>(static_cast<const char*>(nul) - buffer_.get());
    nul_ = true;
    return;
  }
  size_ += got;
  if (ended_ && size_ > 0 && buffer_[size_ - 1] != '\n') buffer_[size_++] = '\n';
}

void Lines::grow() {
  capacity_ = std::min(2 * capacity_, max_record);
  auto larger = make_buffer(capacity_);
  std::memcpy(larger.get(), buffer_.get(), size_);
  buffer_ = std::move(larger);
}

}  // namespace mlo::csv
