// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_chunks.hpp"

#include <algorithm>
#include <cstring>

namespace mlo::csv {
namespace {

constexpr std::size_t slack = 128;  // for the added newline, and for loads that read past the end

// The encoding that a byte order mark announces, if it is one that we do not read.
const char* foreign_encoding(std::string_view start) noexcept {
  using namespace std::string_view_literals;
  if (start.starts_with("\xFF\xFE\0\0"sv) || start.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (start.starts_with("\xFF\xFE"sv) || start.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return nullptr;
}

void make_room(Chunk& chunk, std::size_t capacity, std::size_t keep) {
  if (chunk.capacity >= capacity) return;
  auto larger = std::make_unique_for_overwrite<char[]>(capacity + slack);
  if (keep > 0) std::memcpy(larger.get(), chunk.buffer.get(), keep);
  chunk.buffer = std::move(larger);
  chunk.capacity = capacity;
}

std::size_t count_breaks(const char* begin, const char* end) noexcept {
  return static_cast<std::size_t>(std::count(begin, end, '\n'));
}

}  // namespace

Records whole_records(std::string_view text, char delimiter, char comment, bool final,
                      std::vector<std::pair<std::size_t, std::size_t>>& quoted) {
  quoted.clear();
  Records out;
  std::size_t outside = 0;  // the end of the last quoted cell
  std::size_t at = 0;
  for (std::size_t quote; (quote = text.find('"', at)) != std::string_view::npos;) {
    const char before = quote == 0 ? '\n' : text[quote - 1];
    if (before != '\n' && before != delimiter) {  // an ordinary character
      at = quote + 1;
      continue;
    }
    if (comment != 0) {
      // The line starts after the last newline since the last quoted cell. If there is none, it has a quoted
      // cell before this one and is not a comment, unless this is the first line.
      const std::size_t newline = text.substr(outside, quote - outside).rfind('\n');
      const bool found = newline != std::string_view::npos;
      if ((found || outside == 0) && text[outside + (found ? newline + 1 : 0)] == comment) {
        outside = at = std::min(text.find('\n', quote), text.size());
        continue;
      }
    }
    std::size_t close = quote + 1;
    while ((close = text.find('"', close)) != std::string_view::npos && close + 1 < text.size() &&
           text[close + 1] == '"') {
      close += 2;
    }
    if (close == std::string_view::npos || (close + 1 == text.size() && !final)) {
      out.open_quote = quote;
      break;
    }
    quoted.emplace_back(quote, close + 1);
    outside = at = close + 1;
  }
  // The last newline outside quotes, looked for from the end.
  std::size_t end = out.open_quote == Records::none ? text.size() : out.open_quote;
  for (;;) {
    const std::size_t begin = quoted.empty() ? 0 : quoted.back().second;
    const std::size_t newline = text.substr(begin, end - begin).rfind('\n');
    if (newline != std::string_view::npos) {
      out.end = begin + newline + 1;
      return out;
    }
    if (quoted.empty()) return out;
    end = quoted.back().first;
    quoted.pop_back();
  }
}

Chunks::Chunks(const std::shared_ptr<RawFile>& file, std::size_t chunk_bytes)
    : file_(file->name()),
      source_(open_bytes(file, std::max(chunk_bytes, head_bytes))),
      chunk_bytes_(std::clamp<std::size_t>(chunk_bytes, 1, max_record)),
      carry_(head_bytes) {
  const std::size_t got = source_->read(carry_);
  ended_ = got < carry_.size();
  read_ = got;
  carry_.resize(got);
  const std::string_view start(carry_.data(), std::min<std::size_t>(got, 4));
  if (const char* const encoding = foreign_encoding(start)) {
    throw DataError(file_, std::string("is ") + encoding + " text; save it as UTF-8");
  }
  if (start.starts_with("\xEF\xBB\xBF")) {
    fingerprint_.add(start.substr(0, 3));
    carry_.erase(carry_.begin(), carry_.begin() + 3);
    cut_ = 3;
  }
  if (const auto nul = std::find(carry_.begin(), carry_.end(), '\0'); nul != carry_.end()) {
    carry_.erase(nul, carry_.end());
    ended_ = nul_ = true;
  }
}

bool Chunks::next(Chunk& chunk) {
  if (done_) return false;
  chunk.number = number_++;
  chunk.after = Chunk::After::more;
  chunk.breaks = 0;
  chunk.error = nullptr;
  std::size_t size = 0;
  std::size_t added = 0;
  Records records;
  for (std::size_t target = chunk_bytes_;; target = std::min(2 * target, max_record)) {
    make_room(chunk, target, size);
    try {
      size += take({chunk.buffer.get() + size, target - size});
    } catch (...) {
      chunk.error = std::current_exception();
      ended_ = true;
    }
    const bool last = ended_ && carried_ == carry_.size();
    if (last && !nul_ && chunk.error == nullptr && size > 0 && chunk.buffer[size - 1] != '\n') {
      chunk.buffer[size++] = '\n';
      added = 1;
    }
    records = whole_records({chunk.buffer.get(), size}, delimiter_, comment_, last, quoted_);
    if (last) {
      done_ = true;
      chunk.after = chunk.error != nullptr                ? Chunk::After::error
                    : nul_                                ? Chunk::After::nul
                    : records.open_quote != Records::none ? Chunk::After::open_quote
                                                          : Chunk::After::end;
    } else if (records.end == 0 && target == max_record) {
      done_ = true;
      chunk.after =
          records.open_quote != Records::none ? Chunk::After::long_open_quote : Chunk::After::long_line;
    }
    if (done_ || records.end > 0) break;
  }
  const char* const rest = chunk.buffer.get() + records.end;
  if (chunk.after == Chunk::After::nul) {
    chunk.breaks = count_breaks(rest, chunk.buffer.get() + size);
  } else if (chunk.after == Chunk::After::open_quote || chunk.after == Chunk::After::long_open_quote) {
    chunk.breaks = count_breaks(rest, chunk.buffer.get() + records.open_quote);
  }
  fingerprint_.add({chunk.begin(), records.end == size ? size - added : records.end});
  chunk.hash = fingerprint_.value();
  cut_ += records.end;
  if (!done_) put_back(chunk, records.end, size);
  chunk.size = records.end;
  chunk.share =
      read_ == 0 ? 1.0
                 : source_->share() * std::min(1.0, static_cast<double>(cut_) / static_cast<double>(read_));
  std::memset(chunk.buffer.get() + size, 0, std::min(slack, chunk.capacity + slack - size));
  return true;
}

std::size_t Chunks::take(std::span<char> to) {
  const std::size_t from_carry = std::min(to.size(), carry_.size() - carried_);
  if (from_carry > 0) std::memcpy(to.data(), carry_.data() + carried_, from_carry);
  carried_ += from_carry;
  return from_carry + read_source(to.subspan(from_carry));
}

std::size_t Chunks::read_source(std::span<char> to) {
  if (ended_ || to.empty()) return 0;
  const std::size_t got = source_->read(to);
  read_ += got;
  ended_ = got < to.size();
  if (const void* const nul = std::memchr(to.data(), 0, got)) {
    ended_ = nul_ = true;
    return static_cast<std::size_t>(static_cast<const char*>(nul) - to.data());
  }
  return got;
}

// What a chunk does not use is text for the next one. As long as the carry is not used up, it is still there.
void Chunks::put_back(const Chunk& chunk, std::size_t from, std::size_t to) {
  if (carried_ < carry_.size()) {
    carried_ -= to - from;
    return;
  }
  carry_.assign(chunk.buffer.get() + from, chunk.buffer.get() + to);
  carried_ = 0;
}

}  // namespace mlo::csv
