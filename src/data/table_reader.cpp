// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "data/csv_text.hpp"
#include "data/typed_cells.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  names.reserve(table.columns.size());
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

void check(const Table& table, const Column& column) {
  if (column.size() != table.rows) {
    throw DataError(table.source.name, fmt::format("column {} has {} cells, but the table has {} rows",
                                                   csv::quoted(column.name), column.size(), table.rows));
  }
  if (!column.is_text()) return;
  const Text& text = column.text();
  const auto bad = std::find_if(text.codes.begin(), text.codes.end(), [&](std::uint32_t code) {
    return code >= text.levels.size() && code != Text::missing;
  });
  if (bad != text.codes.end()) {
    throw DataError(table.source.place(static_cast<std::size_t>(bad - text.codes.begin())),
                    fmt::format("column {}: code {} has no level; there are {}", csv::quoted(column.name),
                                *bad, text.levels.size()));
  }
}

}  // namespace

TableReader::TableReader(Table table)
    : owned_(std::move(table)), table_(&owned_), header_(names_of(owned_)) {}
TableReader::TableReader(const Table* table) : table_(table), header_(names_of(*table)) {}

std::size_t TableReader::find(const std::string& name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  assert(found != header_.end() && "the caller checks names against header()");
  if (std::find(found + 1, header_.end(), name) != header_.end()) {
    throw DataError(table_->source.name,
                    fmt::format("the table has more than one column {}", csv::quoted(name)));
  }
  return static_cast<std::size_t>(found - header_.begin());
}

Table TableReader::read_columns(std::span<const std::string> wanted, const Progress& progress) {
  assert(table_ != nullptr && "a reader reads once");
  Table read{.source = table_->source, .columns = {}, .rows = table_->rows};
  read.columns.reserve(wanted.size());
  for (const std::string& name : wanted) {
    const std::size_t index = find(name);
    const Column& column = table_->columns[index];
    check(*table_, column);
    if (table_ == &owned_) {
      read.columns.push_back(std::move(owned_.columns[index]));
    } else {
      read.columns.push_back(column);
    }
    if (progress) progress(static_cast<double>(read.columns.size()) / static_cast<double>(wanted.size()));
  }
  fingerprint_ = fingerprint_of(read.columns);
  owned_ = {};
  table_ = nullptr;
  return read;
}

}  // namespace mlo
