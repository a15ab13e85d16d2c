// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_pass.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "data/csv_text.hpp"
#include "mlo/base/text.hpp"
#include "mlo/base/thread_pool.hpp"

namespace mlo::csv {

namespace {

// How much more room is made than there are rows to expect, because that is a guess: the first part of a
// compressed file may be easier to compress than the rest. To grow again near the end would copy all columns.
constexpr double spare_room = 1.25;

// Makes room for `rows` cells. The pages of a long column are written once and in order, and the system's
// work of clearing them is a good part of reading; with huge pages it has far fewer of them to find and map.
template <class T>
void make_room_for(std::vector<T>& cells, std::size_t rows) {
  cells.reserve(rows);
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t huge = std::uintptr_t{2} << 20U;
  const auto begin = reinterpret_cast<std::uintptr_t>(cells.data());
  const std::uintptr_t first = (begin + huge - 1) / huge * huge;
  const std::uintptr_t last =
      (begin + static_cast<std::size_t>(static_cast<double>(rows) / spare_room) * sizeof(T)) / huge * huge;
  if (last > first)  // a request; it does not matter if it is refused
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace

DataError too_many_words(const std::string& file, const std::string& column) {
  return {file,
          fmt::format("column {} has more than {} different words, too many for a text column; is it an id? "
                      "Leave it out of the formula",
                      quoted(column), grouped(Rows::max_words))};
}

Pass::Pass(Chunks& chunks, const Layout& layout, std::string file, Start start)
    : chunks_(chunks),
      layout_(layout),
      file_(std::move(file)),
      is_text_(layout.steps.size()),
      turn_(start.chunk.number),
      columns_(layout.steps.size()),
      source_{.name = file_, .unit = Source::Unit::line},
      line_(start.line) {
  if (line_ > 2) source_.shift(0, line_ - 2);
  start_ = std::move(start);
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    columns_[k].text = layout.steps[k].type == ColumnType::text;
    is_text_[k] = columns_[k].text;
  }
}

void Pass::run(std::size_t threads, const Reader::Progress& progress, std::uint64_t until) {
  until_ = until;
  caller_ = std::this_thread::get_id();
  ThreadPool pool(threads);
  pool.run(threads, [&](std::size_t) {
    try {
      work(progress);
    } catch (...) {
      stop(std::current_exception());
    }
  });
  if (error_) std::rethrow_exception(error_);
}

void Pass::work(const Reader::Progress& progress) {
  constexpr double progress_step = 1.0 / 256;
  double reported = 0.0;
  Rows rows(layout_, is_text_);
  Chunk chunk;
  for (const char* from = nullptr; take(chunk, from);) {
    rows.parse(chunk, from);
    rows.translate();
    if (!append_in_turn(chunk, from, rows)) return;
    if (progress && std::this_thread::get_id() == caller_ && chunk.share < 1.0 &&
        chunk.share >= reported + progress_step) {
      reported = chunk.share;
      progress(chunk.share);
    }
  }
}

bool Pass::take(Chunk& chunk, const char*& from) {
  const std::lock_guard lock(source_mutex_);
  if (start_) {
    chunk = std::move(start_->chunk);
    from = chunk.begin() + start_->from;
    start_.reset();
    return true;
  }
  {
    const std::lock_guard turn(turn_mutex_);
    if (stopped_) return false;
  }
  if (!chunks_.next(chunk)) return false;
  from = chunk.begin();
  return true;
}

// False if there is nothing more to do.
bool Pass::append_in_turn(const Chunk& chunk, const char* from, Rows& rows) {
  bool go_on = true;
  {
    std::unique_lock lock(turn_mutex_);
    turn_changed_.wait(lock, [&] { return stopped_ || turn_ == chunk.number; });
    if (stopped_) return false;
    try {
      // Another thread may have found a word in a column since this chunk was parsed.
      bool again = false;
      for (std::size_t k = 0; k < columns_.size(); ++k)
        again = again || (columns_[k].text && !rows.is_text(k));
      if (again) {
        rows.parse(chunk, from);
        rows.translate();
      }
      append(chunk, rows);
      ++turn_;
    } catch (...) {
      error_ = std::current_exception();
      stopped_ = true;
    }
    if (turn_ >= until_) stopped_ = true;
    go_on = !stopped_;
  }
  turn_changed_.notify_all();
  return go_on;
}

void Pass::stop(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(turn_mutex_);
    if (!error_) error_ = std::move(error);
    stopped_ = true;
  }
  turn_changed_.notify_all();
}

void Pass::append(const Chunk& chunk, Rows& rows) {
  for (const auto& [row, lines] : rows.shifts()) source_.shift(rows_ + row, lines);
  if (rows.problem()) fail(line_ + rows.problem()->line, rows.problem()->rule);
  for (std::size_t k = 0; k < columns_.size(); ++k) append_column(chunk, rows, k);
  rows_ += rows.count();
  line_ += rows.lines();
  hash_ = chunk.hash;
  check_memory();
  switch (chunk.after) {
    case Chunk::After::more:
    case Chunk::After::end:
      return;
    case Chunk::After::open_quote:
      fail(line_ + chunk.breaks, "the quote that starts here is never closed");
    case Chunk::After::long_open_quote:
      static_assert(Chunks::max_record == std::size_t{8} << 20);
      fail(line_ + chunk.breaks, "the quote that starts here is not closed within 8 MiB");
    case Chunk::After::long_line:
      fail(line_, "the line is longer than 8 MiB; is this a CSV file?");
    case Chunk::After::nul:
      fail(line_ + chunk.breaks, "a NUL byte; is this UTF-16 text or a binary file? Save it as UTF-8 text");
    case Chunk::After::error:
      std::rethrow_exception(chunk.error);
  }
}

void Pass::append_column(const Chunk& chunk, Rows& rows, std::size_t k) {
  Building& column = columns_[k];
  const std::size_t size = rows_ + rows.count();
  if (!rows.is_text(k)) {
    assert(!column.text);
    const std::span<const double> from = rows.numbers(k);
    if (column.numbers.capacity() < size) make_room_for(column.numbers, expected_rows(size, chunk.share));
    column.numbers.insert(column.numbers.end(), from.begin(), from.end());
    column.logicals += rows.logicals(k);
    if (const auto& bad = rows.not_finite(k); bad && !column.not_finite)
      column.not_finite = {line_ + bad->line, bad->rule};
    return;
  }
  if (!column.text) {
    column.text = true;
    const bool numbers = column.not_finite || std::any_of(column.numbers.begin(), column.numbers.end(),
                                                          [](double value) { return value == value; });
    if (numbers) {
      column.read_as_numbers = rows_;
      column.chunk = chunk.number;
      column.hash = hash_;
    }
    Numbers().swap(column.numbers);
    column.codes.assign(rows_, Text::missing);
  }
  if (column.codes.capacity() < size) make_room_for(column.codes, expected_rows(size, chunk.share));
  if (!rows.append_codes(k, column.words, column.codes)) {
    throw too_many_words(file_, layout_.header[layout_.steps[k].index]);
  }
}

// A small compressed file may hold a table that is larger than the machine's memory. Better a message than to
// be killed by the system.
void Pass::check_memory() const {
  static const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double bytes_per_row = 0;
  for (const Building& column : columns_) bytes_per_row += column.text ? 4 : 8;
  if (bytes_per_row * static_cast<double>(rows_) <= memory) return;
  throw DataError(file_,
                  fmt::format("the columns of the formula do not fit into this machine's memory, {:.1f} GB: "
                              "there are more than {} rows of {} bytes",
                              memory / 1e9, grouped(rows_), bytes_per_row));
}

void Pass::fail(std::size_t line, const std::string& rule) const {
  throw DataError(file_ + ":" + std::to_string(line), rule);
}

// How many rows to make room for when there are `rows` already: more than the share of the file read
// so far suggests, within limits because that guess may be wrong. Room that is never filled is never touched,
// so it costs no memory. Columns grow one after the other, so peak memory is the table plus one column.
std::size_t Pass::expected_rows(std::size_t rows, double share) const noexcept {
  const auto now = static_cast<double>(rows);
  const double expected = share > 0.0 ? spare_room * now / share + 1024.0 : 2.0 * now;
  const double cheap = 1e8 / static_cast<double>(std::max<std::size_t>(columns_.size(), 1));  // 800 MB in all
  return static_cast<std::size_t>(std::clamp(expected, 1.5 * now, std::max(8.0 * now, cheap))) + 1;
}

}  // namespace mlo::csv
