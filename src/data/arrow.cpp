// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/arrow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "data/arrow_cells.hpp"
#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace arrow {

// A struct of the interface that is released when it is no longer needed.
template <class Struct>
class Held {
 public:
  Held() = default;
  explicit Held(Struct* taken) : value_(std::exchange(*taken, Struct{})) {}
  ~Held() {
    if (value_.release != nullptr) value_.release(&value_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  [[nodiscard]] bool empty() const noexcept { return value_.release == nullptr; }
  Struct* get() noexcept { return &value_; }
  const Struct* operator->() const noexcept { return &value_; }

 private:
  Struct value_{};
};

using Batch = std::shared_ptr<Held<ArrowArray>>;

}  // namespace arrow

struct ArrowReader::Impl {
  arrow::Held<ArrowArrayStream> stream;
  arrow::Held<ArrowSchema> schema;
  Source source;
  ReadOptions options;
  std::vector<std::string> header;
  std::uint64_t fingerprint = 0;

  Impl(ArrowArrayStream* taken, std::string name, ReadOptions how)
      : stream(taken), source{.name = std::move(name)}, options(std::move(how)) {
    if (stream.empty() || stream->get_schema == nullptr || stream->get_next == nullptr)
      throw DataError(source.name, "the Arrow stream was used already; a stream can be read once");
    check(stream->get_schema(stream.get(), schema.get()));
    if (schema.empty() || schema->format == nullptr || std::string_view(schema->format) != "+s")
      throw DataError(source.name, "the Arrow stream is not a table: its rows have no columns");
    for (std::int64_t c = 0; c < schema->n_children; ++c) {
      const char* const column = schema->children[c]->name;
      header.emplace_back(column == nullptr ? "" : column);
    }
  }

  void check(int error) {
    if (error == 0) return;
    const char* const words =
        stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream.get());
    throw DataError(source.name,
                    fmt::format("the Arrow stream failed: {}",
                                words != nullptr ? words : std::generic_category().message(error)));
  }

  // Null at the end.
  arrow::Batch next() {
    auto batch = std::make_shared<arrow::Held<ArrowArray>>();
    check(stream->get_next(stream.get(), batch->get()));
    if (batch->empty()) return nullptr;
    const ArrowArray& rows = *batch->get();
    if (rows.n_children != schema->n_children)
      throw DataError(source.name, fmt::format("a batch of the Arrow stream has {} columns, its schema {}",
                                               rows.n_children, schema->n_children));
    if (rows.null_count > 0 && rows.n_buffers > 0 && rows.buffers[0] != nullptr)
      throw DataError(source.name, "rows of the Arrow stream are null as a whole; drop them");
    return batch;
  }

  static arrow::Slice slice(const arrow::Batch& batch, std::size_t column) {
    const ArrowArray& rows = *batch->get();
    return {rows.children[column], static_cast<std::size_t>(rows.offset),
            static_cast<std::size_t>(rows.length)};
  }

  // The column in the memory of its only batch. Empty: it must be copied.
  std::optional<Column> borrowed(const arrow::Batch& batch, std::size_t at,
                                 const arrow::CellType& type) const {
    const std::optional<ColumnType> asked = asked_type(options, header[at]);
    if (type.kind != arrow::Kind::float64 || type.dictionary || asked == ColumnType::text) return {};
    if (!asked_na(options).empty()) return {};
    const arrow::Slice cells = slice(batch, at);
    if (cells.count == 0 || !arrow::all_valid(cells)) return {};
    const auto* const data = static_cast<const double*>(cells.array->buffers[1]) + cells.array->offset;
    const std::span<const double> values(data + cells.first, cells.count);
    const auto infinite = std::find_if(values.begin(), values.end(), [](double v) { return std::isinf(v); });
    if (infinite != values.end()) return {};  // the copy is refused, with its place
    return Column(header[at], BorrowedNumbers{values, batch});
  }
};

ArrowReader::ArrowReader(ArrowArrayStream* stream, std::string name, ReadOptions options)
    : impl_(std::make_unique<Impl>(stream, std::move(name), std::move(options))) {}
ArrowReader::~ArrowReader() = default;

const std::vector<std::string>& ArrowReader::header() const noexcept { return impl_->header; }
std::uint64_t ArrowReader::fingerprint() const noexcept { return impl_->fingerprint; }

Table ArrowReader::read_columns(std::span<const std::string> wanted, const Progress& progress) {
  Impl& in = *impl_;
  std::vector<std::size_t> positions;
  std::vector<arrow::CellType> types;
  std::vector<arrow::CellReader> readers;
  for (const std::string& name : wanted) {
    const std::size_t at = position_in(in.header, name, in.source.name);
    positions.push_back(at);
    types.push_back(arrow::type_of(*in.schema->children[at], name, in.source.name));
    const std::optional<ColumnType> asked = asked_type(in.options, name);
    const bool text = asked ? *asked == ColumnType::text : types.back().is_text();
    TypedColumn cells(name, text, &in.source, asked_na(in.options));
    if (!asked && types.back().kind == arrow::Kind::boolean) cells.mark_logical();
    readers.emplace_back(types.back(), std::move(cells));
  }
  Table table{.source = in.source, .columns = {}, .rows = 0};
  const arrow::Batch first = in.next();
  arrow::Batch second = first == nullptr ? nullptr : in.next();
  std::vector<std::optional<Column>> borrowed(wanted.size());
  if (first != nullptr && second == nullptr)
    for (std::size_t k = 0; k < wanted.size(); ++k) borrowed[k] = in.borrowed(first, positions[k], types[k]);
  const auto append = [&](const arrow::Batch& batch) {
    table.rows += static_cast<std::size_t>(batch->get()->length);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (!borrowed[k]) readers[k].append(Impl::slice(batch, positions[k]));
    if (progress) progress(0);  // how much there will be is not known
  };
  if (first != nullptr) append(first);
  for (arrow::Batch batch = std::move(second); batch != nullptr; batch = in.next()) append(batch);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    table.columns.push_back(borrowed[k] ? std::move(*borrowed[k]) : std::move(readers[k]).take());
  in.fingerprint = fingerprint_of(table.columns);
  return table;
}

}  // namespace mlo
