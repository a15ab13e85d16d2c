// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/csv.hpp"

#include "data/csv_parser.hpp"

namespace mlo {

struct CsvReader::Impl {
  csv::Parser parser;
};

CsvReader::CsvReader(const std::string& file, const ReadOptions& /*options*/)
    : impl_(new Impl{csv::Parser(file)}) {}
CsvReader::~CsvReader() = default;

const std::vector<std::string>& CsvReader::header() const noexcept { return impl_->parser.header(); }

Table CsvReader::read_columns(std::span<const std::string> wanted, const Progress& progress) {
  return impl_->parser.read(wanted, progress);
}

std::uint64_t CsvReader::fingerprint() const noexcept { return impl_->parser.fingerprint(); }

}  // namespace mlo
