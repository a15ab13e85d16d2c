// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/many_files.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "data/csv_text.hpp"
#include "data/word_codes.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/base/text.hpp"

namespace mlo {
namespace {

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (status == GLOB_NOSPACE) throw std::bad_alloc();
  if (status == GLOB_ABORTED) throw DataError(pattern, "a folder of this pattern cannot be read");
  if (files.empty())
    throw DataError(pattern, "no such file, and no file whose name matches it as a pattern with * ? [ ]");
  std::sort(files.begin(), files.end());  // by bytes, whatever the locale
  return files;
}

// By what the file is, not by how it is spelt: ./a.csv is a.csv.
void refuse_repeated(const std::vector<std::string>& files) {
  std::map<std::pair<dev_t, ino_t>, std::string> seen;
  for (const std::string& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto [at, is_new] = seen.emplace(std::pair(status.st_dev, status.st_ino), file);
    if (is_new) continue;
    throw DataError(file,
                    at->second == file
                        ? "the file is named twice; its rows would count twice"
                        : fmt::format("is the same file as {}; its rows would count twice", at->second));
  }
}

bool all_missing(const Numbers& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double value) { return std::isnan(value); });
}

std::size_t cells_in(const Text& text) {
  return text.codes.size() -
         static_cast<std::size_t>(std::count(text.codes.begin(), text.codes.end(), Text::missing));
}

Column joined_numbers(std::vector<Table>& tables, std::size_t c, std::size_t rows) {
  Numbers out;
  out.reserve(rows);
  bool any_logical = false, all_logical = true;
  for (Table& table : tables) {
    const Numbers part = std::move(table.columns[c].numbers());  // freed at the end of the round
    any_logical = any_logical || table.columns[c].logical;
    all_logical = all_logical && (table.columns[c].logical || all_missing(part));
    out.insert(out.end(), part.begin(), part.end());
  }
  Column column(tables.front().columns[c].name, std::move(out));
  column.logical = any_logical && all_logical;
  return column;
}

Column joined_text(std::vector<Table>& tables, std::size_t c, std::size_t rows) {
  const std::string& name = tables.front().columns[c].name;
  WordCodes words;
  Text out;
  out.codes.reserve(rows);
  // Kept if each part that has words says which: a format with types does not.
  Text::Words not_numbers;
  bool said = true;
  for (Table& table : tables) {
    const Text part = std::move(table.columns[c].text());
    std::vector<std::uint32_t> codes;
    codes.reserve(part.levels.size());
    for (const std::string& level : part.levels) {
      codes.push_back(words.code(level));
      if (codes.back() == WordCodes::most)
        throw DataError(
            table.source.name,
            fmt::format("with this file, column {} has more than {} different words; is it an id? Leave "
                        "it out of the formula",
                        csv::quoted(name), grouped(WordCodes::most)));
    }
    if (part.words && part.words->count > 0) {
      if (not_numbers.count == 0) not_numbers.first = out.codes.size() + part.words->first;
      not_numbers.count += part.words->count;
    }
    said = said && part.words.has_value();
    not_numbers.cells += cells_in(part);
    for (const std::uint32_t code : part.codes)
      out.codes.push_back(code == Text::missing ? Text::missing : codes[code]);
  }
  out.levels = std::move(words).take_levels();
  if (said) out.words = not_numbers;
  return {name, std::move(out)};
}

}  // namespace

std::vector<std::string> expand_paths(const std::vector<std::string>& paths) {
  if (paths.empty()) throw UsageError("`data` must name a file");
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const bool pattern = path.find_first_of("*?[") != std::string::npos && !exists(path);
    if (path == "-" && paths.size() > 1)
      throw UsageError("`data`: standard input (-) cannot be one of several files");
    if (pattern) {
      std::vector<std::string> found = matching(path);
      std::move(found.begin(), found.end(), std::back_inserter(files));
    } else {
      files.push_back(path);
    }
  }
  refuse_repeated(files);
  return files;
}

ManyFiles::ManyFiles(std::vector<std::string> files, const ReadOptions& options, Open open)
    : options_(options), open_(std::move(open)) {
  for (std::string& name : files) {
    std::error_code error;
    const auto status = std::filesystem::status(name, error);
    File file{.name = std::move(name), .is_pipe = exists(status) && !is_regular_file(status)};
    std::unique_ptr<Reader> reader = open_(file.name, options_);
    if (files_.empty()) {
      header_ = reader->header();
    } else {
      check_header(file.name, reader->header());
    }
    // Others are closed until it is their turn: there may be more files than a program may have open.
    if (file.is_pipe || files_.empty()) file.reader = std::move(reader);
    files_.push_back(std::move(file));
  }
}

void ManyFiles::check_header(const std::string& file, const std::vector<std::string>& header) const {
  const auto only_in = [](const std::vector<std::string>& some, const std::vector<std::string>& others) {
    std::vector<std::string> a = some, b = others, out;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
    return out;
  };
  const std::vector<std::string> lacks = only_in(header_, header), adds = only_in(header, header_);
  if (lacks.empty() && adds.empty()) return;
  const auto listed = [](const std::vector<std::string>& names) {
    constexpr std::size_t most = 3;
    std::string out = names.size() == 1 ? "column " : "columns ";
    for (std::size_t k = 0; k < std::min(most, names.size()); ++k)
      out += (k == 0 ? "" : ", ") + csv::quoted(names[k]);
    return names.size() <= most ? out : fmt::format("{} and {} more", out, names.size() - most);
  };
  std::string difference;
  if (!lacks.empty()) difference = "has no " + listed(lacks);
  if (!adds.empty())
    difference += fmt::format("{}has the additional {}", lacks.empty() ? "" : ", and ", listed(adds));
  throw DataError(file,
                  fmt::format("{}, unlike {}; the files of one data set must have the same columns, in any "
                              "order",
                              difference, files_.front().name));
}

Table ManyFiles::read_columns(std::span<const std::string> wanted, const Progress& progress) {
  std::vector<Table> tables;
  Fingerprint hash;
  const auto count = static_cast<double>(files_.size());
  for (File& file : files_) {
    const std::unique_ptr<Reader> opened = file.reader ? nullptr : open_(file.name, options_);
    Reader& reader = opened ? *opened : *file.reader;
    const auto done = static_cast<double>(tables.size());
    tables.push_back(reader.read(wanted, [&](double share) {
      if (progress) progress(std::min((done + share) / count, 1.0));
    }));
    const std::uint64_t of_file = reader.fingerprint();
    hash.add({reinterpret_cast<const char*>(&of_file), sizeof of_file});
    if (&file != &files_.front()) file.reader.reset();
  }
  agree_on_types(tables, progress);
  files_.front().reader.reset();

  Table out;
  std::vector<std::pair<Source, std::size_t>> sources;
  for (Table& table : tables) {
    out.rows += table.rows;
    sources.emplace_back(std::move(table.source), table.rows);
    table.source.name = sources.back().first.name;
  }
  const std::size_t others = files_.size() - 1;
  out.source = joined(
      fmt::format("{} and {} other file{}", files_.front().name, grouped(others), others == 1 ? "" : "s"),
      sources);
  // Column by column, so that peak memory is the data and one column.
  for (std::size_t c = 0; c < wanted.size(); ++c)
    out.columns.push_back(tables.front().columns[c].is_text() ? joined_text(tables, c, out.rows)
                                                              : joined_numbers(tables, c, out.rows));
  fingerprint_ = hash.value();
  return out;
}

// A column that is text in one file must be text in all. Where it holds numbers, the file is read once more,
// because the cells are to be the words of the file: 01 and 1.0 are not 1. Rare, so nobody pays for it by
// keeping the words of all numbers.
void ManyFiles::agree_on_types(std::vector<Table>& tables, const Progress& progress) const {
  const std::size_t count = tables.front().columns.size();
  std::vector<std::optional<std::size_t>> text_in(count);  // the first file
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t f = 0; f < tables.size() && !text_in[c]; ++f)
      if (tables[f].columns[c].is_text()) text_in[c] = f;

  for (std::size_t f = 0; f < tables.size(); ++f) {
    std::vector<std::string> again;
    for (std::size_t c = 0; c < count; ++c) {
      Column& column = tables[f].columns[c];
      if (!text_in[c] || column.is_text()) continue;
      if (all_missing(column.numbers())) {
        Text none{.levels = {}, .codes = std::vector<std::uint32_t>(column.size(), Text::missing)};
        none.words = Text::Words();
        column = {column.name, std::move(none)};
        continue;
      }
      if (files_[f].is_pipe)
        throw DataError(
            files_[f].name,
            fmt::format("column {0} holds numbers here but text in {1}, and a pipe cannot be read again; "
                        "give `type {2}=text`",
                        csv::quoted(column.name), files_[*text_in[c]].name, column.name));
      again.push_back(column.name);
    }
    if (!again.empty()) read_as_text(files_[f], again, tables[f], progress);
  }
}

void ManyFiles::read_as_text(const File& file, const std::vector<std::string>& columns, Table& table,
                             const Progress& progress) const {
  ReadOptions options = options_;
  for (const std::string& name : columns) options.types[name] = ColumnType::text;
  Table again = open_(file.name, options)->read(columns, [&](double) {
    if (progress) progress(1.0);
  });
  if (again.rows != table.rows) throw DataError(file.name, "has changed while it was being read");
  for (Column& column : again.columns) {
    column.text().words = Text::Words{.first = 0, .count = 0, .cells = cells_in(column.text())};
    const auto at = std::find_if(table.columns.begin(), table.columns.end(),
                                 [&](const Column& old) { return old.name == column.name; });
    *at = std::move(column);
  }
}

}  // namespace mlo
