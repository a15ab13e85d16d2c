// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/csv_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "data/csv_text.hpp"

namespace mlo::csv {
namespace {

// Which cells of a column are words, for messages about a column that was meant to hold numbers.
Text::Words count_words(const Text& text, const CellRules& rules) {
  std::vector<bool> is_word(text.levels.size());
  for (std::size_t i = 0; i < is_word.size(); ++i) {
    double value;
    const CellKind kind = read_cell(text.levels[i], value, rules);
    is_word[i] = kind != CellKind::number && kind != CellKind::logical;
  }
  Text::Words words;
  for (std::size_t row = 0; row < text.codes.size(); ++row) {
    if (text.codes[row] == Text::missing) continue;
    ++words.cells;
    if (!is_word[text.codes[row]]) continue;
    if (words.count == 0) words.first = row;
    ++words.count;
  }
  return words;
}

// Whether all cells that are not missing are true or false.
bool all_logical(const Column& column, const Pass::Building& read) {
  if (read.logicals == 0) return false;
  const std::span<const double> cells = column.values();
  return std::cmp_equal(std::count_if(cells.begin(), cells.end(), [](double v) { return v == v; }),
                        read.logicals);
}

}  // namespace

Parser::Parser(const std::string& file, ReadOptions options, std::size_t chunk_bytes)
    : options_(std::move(options)),
      chunk_bytes_(chunk_bytes),
      file_(std::make_shared<RawFile>(file)),
      chunks_(std::make_unique<Chunks>(file_, chunk_bytes)) {
  layout_.dialect = find_dialect(options_, file, chunks_->head(), chunks_->head_is_all());
  layout_.rules = CellRules(options_.na, layout_.dialect.decimal);
  small_ = chunks_->head_is_all() && chunks_->head().size() < 2 * chunk_bytes;
  start_ = read_header(*chunks_);
}

void Parser::fail(std::size_t line, const std::string& rule) const {
  throw DataError(file_->name() + ":" + std::to_string(line), rule);
}

Start Parser::read_header(Chunks& chunks) {
  chunks.set_dialect(layout_.dialect.delimiter, layout_.dialect.comment);
  Start start;
  Chunk& chunk = start.chunk;
  while (chunks.next(chunk)) {
    const char* p = chunk.begin();
    while (p != chunk.end()) {
      const bool blank = *p == '\n' || (*p == '\r' && p[1] == '\n');
      if (!blank && *p != layout_.dialect.comment) break;
      p = std::find(p, chunk.end(), '\n') + 1;
      ++start.line;
    }
    if (p == chunk.end()) {
      // No header yet. A pass without columns says what is wrong with what follows, if anything is.
      if (chunk.after == Chunk::After::more) continue;
      const std::size_t line = start.line;
      if (chunk.after != Chunk::After::end) {
        const Layout nothing{.dialect = layout_.dialect, .rules = layout_.rules, .header = {}, .steps = {}};
        start.from = chunk.size;
        Pass(chunks, nothing, file_->name(), {.chunk = std::move(chunk), .from = start.from, .line = line})
            .run(1, {});
      }
      break;
    }
    header_line_ = start.line;
    layout_.header.clear();
    Cells cells(p, chunk.end(), layout_.dialect.delimiter, start.line);
    for (Cell cell; cells.next(cell);) {
      if (!cell.quoted && cell.text.find('\r') != std::string_view::npos) {
        fail(cell.line,
             "a carriage return inside the header; save the file with \\n or \\r\\n at the ends of lines");
      }
      layout_.header.emplace_back(trim(cell.contents()));
    }
    start.from = static_cast<std::size_t>(cells.position() - chunk.begin());
    start.line = cells.line();
    return start;
  }
  throw DataError(file_->name(), "the file is empty");
}

Table Parser::read(std::span<const std::string> wanted, const Reader::Progress& progress) {
  assert(chunks_ != nullptr && "a reader reads once");
  const std::vector<std::size_t> order = plan(wanted);
  const std::size_t threads = small_                  ? 1
                              : options_.threads != 0 ? options_.threads
                                                      : std::max(1U, std::thread::hardware_concurrency());
  Pass pass(*chunks_, layout_, file_->name(), std::move(start_));
  pass.run(threads, progress);
  fingerprint_ = chunks_->fingerprint();
  if (pass.rows() == 0) throw DataError(file_->name(), "no data rows, only a header line");

  const Pass::Building::NotFinite* first = nullptr;
  for (const Pass::Building& column : pass.columns()) {
    if (column.text || !column.not_finite) continue;
    if (first == nullptr || column.not_finite->line < first->line) first = &*column.not_finite;
  }
  if (first != nullptr) fail(first->line, first->rule);
  read_again(pass, threads);

  Table table{.source = std::move(pass.source()), .columns = {}, .rows = pass.rows()};
  auto& shifts = table.source.shifts;
  if (!shifts.empty() && shifts.back().first >= table.rows) shifts.pop_back();
  table.columns.reserve(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Pass::Building& column = pass.columns()[order[i]];
    if (!column.text) {
      table.columns.push_back({wanted[i], std::move(column.numbers)});
      table.columns.back().logical =
          layout_.steps[order[i]].type != ColumnType::number && all_logical(table.columns.back(), column);
      continue;
    }
    Text text{.levels = std::move(column.words).take(), .codes = std::move(column.codes)};
    if (layout_.steps[order[i]].type != ColumnType::text) text.words = count_words(text, layout_.rules);
    table.columns.push_back({wanted[i], std::move(text)});
  }
  chunks_.reset();
  if (progress) progress(1.0);
  return table;
}

// Fills the steps; returns the step of each wanted column.
std::vector<std::size_t> Parser::plan(std::span<const std::string> wanted) {
  constexpr std::size_t twice = std::numeric_limits<std::size_t>::max();
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < layout_.header.size(); ++i) {
    const auto [at, is_new] = index_of.emplace(layout_.header[i], i);
    if (!is_new) at->second = twice;
  }
  std::vector<std::size_t> indices;
  for (const std::string& name : wanted) {
    const auto found = index_of.find(name);
    assert(found != index_of.end() && "the caller checks names against header()");
    if (found->second == twice) {
      fail(header_line_, fmt::format("the header has more than one column {}", quoted(name)));
    }
    indices.push_back(found->second);
  }
  std::vector<std::size_t> by_index(wanted.size());
  std::iota(by_index.begin(), by_index.end(), 0);
  std::sort(by_index.begin(), by_index.end(),
            [&](std::size_t a, std::size_t b) { return indices[a] < indices[b]; });
  std::vector<std::size_t> order(wanted.size());
  for (std::size_t k = 0; k < by_index.size(); ++k) {
    order[by_index[k]] = k;
    const auto type = options_.types.find(wanted[by_index[k]]);
    layout_.steps.push_back(
        {.index = indices[by_index[k]],
         .type = type == options_.types.end() ? std::nullopt : std::optional(type->second)});
  }
  link_steps(layout_.steps, layout_.tail);
  return order;
}

void Parser::link_steps(std::vector<Step>& steps, std::size_t& tail) const {
  std::size_t next = 0;
  for (Step& step : steps) {
    assert(step.index >= next && "each wanted column once");
    step.skip = step.index - next;
    next = step.index + 1;
    step.last = next == layout_.header.size();
  }
  tail = layout_.header.size() - next;
}

// Reads those cells as text that the first pass has read as numbers before it found a word in their column.
void Parser::read_again(Pass& pass, std::size_t threads) {
  std::vector<std::size_t> which;
  Layout layout = layout_;
  layout.steps.clear();
  std::size_t rows = 0;
  std::uint64_t until = 0;
  std::uint64_t hash = 0;
  for (std::size_t k = 0; k < pass.columns().size(); ++k) {
    const Pass::Building& column = pass.columns()[k];
    if (column.read_as_numbers == 0) continue;
    which.push_back(k);
    layout.steps.push_back({.index = layout_.steps[k].index, .type = ColumnType::text});
    if (column.chunk >= until) {
      rows = column.read_as_numbers;
      until = column.chunk;
      hash = column.hash;
    }
  }
  if (which.empty()) return;
  link_steps(layout.steps, layout.tail);
  const std::string& name = layout_.header[layout.steps.front().index];
  chunks_.reset();  // with the thread that unpacks the file
  if (const int error = file_->rewind(); error != 0) {
    throw DataError(
        file_->name(),
        fmt::format("column {} turned out to be text after {} rows of numbers, and what was read could "
                    "not be kept in the folder for temporary files ({}); name the column with `type`, or "
                    "read from a file",
                    quoted(name), pass.columns()[which.front()].read_as_numbers,
                    std::generic_category().message(error)));
  }
  Chunks chunks(file_, chunk_bytes_);
  Pass again(chunks, layout, file_->name(), read_header(chunks));
  again.run(threads, {}, until);
  if (again.rows() != rows || again.hash() != hash)
    throw DataError(file_->name(), "the file has changed while it was being read");
  for (std::size_t j = 0; j < which.size(); ++j) {
    Pass::Building& column = pass.columns()[which[j]];
    Pass::Building& earlier = again.columns()[j];
    // The words in order of their first appearance: those of the second pass, then the others. A column's own
    // rows may end before those of the pass.
    Words words;
    std::vector<std::uint32_t> code_of(earlier.words.size(), Text::missing);
    const auto add = [&](const std::string& word) {
      const std::uint32_t hash_of_word = hash_word(word);
      const std::uint32_t known = words.find(word, hash_of_word);
      return known != Words::none ? known : words.add(word, hash_of_word);
    };
    const auto translate = [&](const Words& from, std::vector<std::uint32_t>& codes, std::uint32_t cell) {
      if (cell == Text::missing) return cell;
      if (codes[cell] == Text::missing) codes[cell] = add(from[cell]);
      return codes[cell];
    };
    for (std::size_t i = 0; i < column.read_as_numbers; ++i)
      column.codes[i] = translate(earlier.words, code_of, earlier.codes[i]);
    code_of.assign(column.words.size(), Text::missing);
    for (std::size_t i = column.read_as_numbers; i < column.codes.size(); ++i)
      column.codes[i] = translate(column.words, code_of, column.codes[i]);
    if (words.size() > Rows::max_words)
      throw too_many_words(file_->name(), layout_.header[layout.steps[j].index]);
    column.words = std::move(words);
  }
}

}  // namespace mlo::csv
