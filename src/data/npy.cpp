// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "data/byte_source.hpp"
#include "data/csv_text.hpp"
#include "data/npy_header.hpp"
#include "data/typed_cells.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/base/text.hpp"

namespace mlo {
namespace {

using npy::Field;
using npy::Header;

constexpr std::size_t npy_block = std::size_t{1} << 20;  // bytes read at a time

class NpyReader final : public Reader {
 public:
  NpyReader(const std::string& file, const ReadOptions& options)
      : options_(options),
        source_{.name = file, .unit = Source::Unit::row},
        bytes_(open_bytes(file, npy_block)) {
    read_header();
  }

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override { return header_; }
  // A hash of all bytes.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override { return hash_.value(); }

 private:
  // A wanted column.
  struct Wanted {
    TypedColumn cells;
    Field field;
    std::size_t offset;  // in a row, in bytes
  };

  // Exactly so many bytes; fewer if the file ends.
  std::size_t read_bytes(std::span<char> to) {
    const std::size_t got = bytes_->read(to);
    hash_.add(to.first(got));
    return got;
  }
  [[noreturn]] void fail(const std::string& rule) const { throw DataError(source_.name, rule); }

  void read_header();
  void check_shape(const Header& header);
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override;
  void read_rows(std::vector<Wanted>& wanted, const Progress& progress);
  void read_fortran(std::vector<Wanted>& wanted, const Progress& progress);
  static void append(Wanted& column, const char* at, std::size_t stride, std::size_t rows);
  void show(const Progress& progress) const {
    if (progress) progress(bytes_->share());
  }

  const ReadOptions options_;
  const Source source_;
  std::unique_ptr<ByteSource> bytes_;
  Fingerprint hash_;
  std::vector<Field> fields_;  // of a row, one per column, padding included
  bool fortran_order_ = false;
  std::uint64_t rows_ = 0;
  std::size_t row_bytes_ = 0;
  std::vector<std::string> header_;
};

void NpyReader::read_header() {
  constexpr std::string_view magic = "\x93NUMPY";
  constexpr std::size_t most = std::size_t{1} << 20;  // bytes of a header; some hundred are usual
  std::array<char, 8> start{};
  if (read_bytes(start) != start.size() || !std::string_view(start.data(), start.size()).starts_with(magic))
    fail("not a .npy file: it does not begin with \\x93NUMPY");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) fail(fmt::format("version {} of the .npy format is not known", version));
  std::array<char, 8> size{};  // two bytes in version 1, four in later ones; little endian
  const std::size_t size_bytes = version == 1 ? 2 : 4;
  if (read_bytes(std::span(size).first(size_bytes)) != size_bytes) fail("truncated: it ends in its header");
  const std::uint64_t length = load_little_endian(size.data());
  if (length > most) fail(fmt::format("its header would have {} bytes; is it damaged?", grouped(length)));
  std::string dictionary(length, '\0');
  if (read_bytes(dictionary) != length) fail("truncated: it ends in its header");
  check_shape(npy::parse_header(dictionary, source_.name));
}

void NpyReader::check_shape(const Header& header) {
  constexpr std::uint64_t most_columns = 1'000'000;
  const std::vector<std::uint64_t>& shape = header.shape;
  if (shape.empty() || shape.size() > 2 || (header.records && shape.size() > 1))
    fail(fmt::format("an array of {} dimension{}{}; it must have one or two (one, of records)", shape.size(),
                     shape.size() == 1 ? "" : "s", header.records ? " of records" : ""));
  rows_ = shape[0];
  fortran_order_ = header.fortran_order && shape.size() == 2;
  if (header.records) {
    fields_ = header.fields;
  } else {
    const std::uint64_t columns = shape.size() == 2 ? shape[1] : 1;
    if (columns > most_columns)
      fail(fmt::format("{} columns; at most {} can be read", grouped(columns), grouped(most_columns)));
    fields_.assign(columns, header.fields.front());
    for (std::size_t k = 0; k < columns; ++k) fields_[k].name = fmt::format("x{}", k + 1);
  }
  for (const Field& field : fields_) {
    row_bytes_ += field.bytes;
    if (!field.name.empty()) header_.push_back(field.name);
  }
  std::uint64_t total = 0;
  if (rows_ == 0 || header_.empty()) fail("the array is empty");
  if (__builtin_mul_overflow(rows_, row_bytes_, &total))
    fail(fmt::format("its header says {} rows of {} bytes, which is more than any file has; it is damaged",
                     grouped(rows_), grouped(row_bytes_)));
}

Table NpyReader::read_columns(std::span<const std::string> wanted, const Progress& progress) {
  std::vector<Wanted> columns;
  for (const std::string& name : wanted) {
    static_cast<void>(position_in(header_, name, source_.name));
    const std::optional<ColumnType> asked = asked_type(options_, name);
    const bool text = asked == ColumnType::text;
    std::size_t offset = 0;
    const Field* field = fields_.data();
    for (; field->name != name; ++field) offset += field->bytes;
    columns.push_back({TypedColumn(name, text, &source_, asked_na(options_)), *field, offset});
    if (!asked && field->kind == 'b') columns.back().cells.mark_logical();
    // No more than a block at first: the header may lie.
    columns.back().cells.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(rows_, npy_block)));
  }
  if (fortran_order_) {
    read_fortran(columns, progress);
  } else {
    read_rows(columns, progress);
  }
  std::array<char, 1> more{};
  if (read_bytes(more) > 0)
    fail(fmt::format("more data than the {} rows of {} bytes that its header says", grouped(rows_),
                     grouped(row_bytes_)));
  Table table{.source = source_, .columns = {}, .rows = static_cast<std::size_t>(rows_)};
  for (Wanted& column : columns) table.columns.push_back(std::move(column.cells).take());
  if (progress) progress(1.0);
  return table;
}

void NpyReader::read_rows(std::vector<Wanted>& wanted, const Progress& progress) {
  const std::size_t block_rows = std::max<std::size_t>(1, npy_block / row_bytes_);
  std::vector<char> block(block_rows * row_bytes_);
  for (std::uint64_t done = 0; done < rows_;) {
    const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(block_rows, rows_ - done));
    const std::size_t got = read_bytes(std::span(block).first(rows * row_bytes_));
    if (got < rows * row_bytes_)
      fail(fmt::format("truncated: it ends in row {} of {}", grouped(done + got / row_bytes_ + 1),
                       grouped(rows_)));
    for (Wanted& column : wanted) append(column, block.data() + column.offset, row_bytes_, rows);
    done += rows;
    show(progress);
  }
}

// One column after the other.
void NpyReader::read_fortran(std::vector<Wanted>& wanted, const Progress& progress) {
  std::vector<char> block(npy_block);
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    const auto column = std::find_if(wanted.begin(), wanted.end(),
                                     [&](const Wanted& w) { return w.field.name == fields_[k].name; });
    const std::size_t bytes = fields_[k].bytes;
    for (std::uint64_t done = 0; done < rows_;) {
      const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(block.size() / bytes, rows_ - done));
      if (read_bytes(std::span(block).first(rows * bytes)) < rows * bytes)
        fail(fmt::format("truncated: it ends in column {} of {}", grouped(k + 1), grouped(fields_.size())));
      if (column != wanted.end()) append(*column, block.data(), bytes, rows);
      done += rows;
      show(progress);
    }
  }
}

void NpyReader::append(Wanted& column, const char* at, std::size_t stride, std::size_t rows) {
  const auto add = [&](auto kind) {
    for (std::size_t i = 0; i < rows; ++i) {
      std::memcpy(&kind, at + i * stride, sizeof kind);
      column.cells.add(kind);
    }
  };
  const auto size = column.field.bytes;
  switch (column.field.kind) {
    case 'f':
      return size == 4 ? add(float{}) : add(double{});
    case 'i':
      return size == 1   ? add(std::int8_t{})
             : size == 2 ? add(std::int16_t{})
             : size == 4 ? add(std::int32_t{})
                         : add(std::int64_t{});
    case 'u':
      return size == 1   ? add(std::uint8_t{})
             : size == 2 ? add(std::uint16_t{})
             : size == 4 ? add(std::uint32_t{})
                         : add(std::uint64_t{});
    default:
      for (std::size_t i = 0; i < rows; ++i) {
        const char byte = at[i * stride];
        if (byte != 0 && byte != 1)
          column.cells.refuse("a boolean that is neither 0 nor 1; is the file damaged?");
        column.cells.add(byte == 1);
      }
  }
}

}  // namespace

std::unique_ptr<Reader> open_npy(const std::string& file, const ReadOptions& options) {
  return std::make_unique<NpyReader>(file, options);
}

}  // namespace mlo
