// Copyright (c) the mlo authors. BSD-3-Clause.
// Writes Parquet files, by way of DuckDB, which is loaded when it is needed.
#pragma once

#include <string>
#include <vector>

namespace mlo {

// Throws DataError if DuckDB is not there, with how to get it: to be called before the work is done.
void check_parquet_writer();

struct ParquetColumn {
  std::string name;
  bool whole = false;  // whole numbers; otherwise doubles
};

// Makes a Parquet file from a CSV file with a header line and these columns; empty cells become NULL. An
// existing file is replaced when the new one is complete. Throws DataError.
void parquet_from_csv(const std::string& csv, const std::vector<ParquetColumn>& columns,
                      const std::string& parquet);

}  // namespace mlo
