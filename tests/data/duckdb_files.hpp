// Copyright (c) the mlo authors. BSD-3-Clause.
// DuckDB in the tests: whether it is there, and statements that make files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../../src/data/duckdb_library.hpp"
#include "data/csv_files.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::testing {

// "" if DuckDB can be loaded, otherwise why not. With MLO_REQUIRE_DUCKDB=1 a test that needs it fails without
// it.
inline std::string no_duckdb() {
  try {
    static_cast<void>(duckdb::library("tests"));
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

#define MLO_NEEDS_DUCKDB()                                                         \
  do {                                                                             \
    if (const std::string why = mlo::testing::no_duckdb(); !why.empty()) {         \
      const char* const required = std::getenv("MLO_REQUIRE_DUCKDB");              \
      if (required != nullptr && std::string_view(required) == "1") FAIL() << why; \
      GTEST_SKIP() << why;                                                         \
    }                                                                              \
  } while (false)

// Runs one statement, on a database file or in memory.
inline void run_sql(const std::string& statement, const std::string& database = "") {
  const duckdb::Library& library = duckdb::library("tests");
  duckdb::Owned<duckdb::Database> base(library.close);
  duckdb::Owned<duckdb::Connection> connection(library.disconnect);
  duckdb::Owned<duckdb::Statement> prepared(library.destroy_prepare);
  duckdb::Owned<duckdb::Pending> pending(library.destroy_pending);
  char* words = nullptr;
  if (library.open_ext(database.empty() ? nullptr : database.c_str(), base.address(), nullptr, &words) != 0)
    throw std::runtime_error(words);
  if (library.connect(base.get(), connection.address()) != 0) throw std::runtime_error("no connection");
  if (library.prepare(connection.get(), statement.c_str(), prepared.address()) != 0)
    throw std::runtime_error(library.prepare_error(prepared.get()));
  if (library.pending_prepared_streaming(prepared.get(), pending.address()) != 0)
    throw std::runtime_error(library.pending_error(pending.get()));
  duckdb::Result result{};
  const bool failed = library.execute_pending(pending.get(), &result) != 0;
  const std::string why = failed ? library.result_error(&result) : "";
  library.destroy_result(&result);
  if (failed) throw std::runtime_error(why);
}

// A folder for files, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "mlo-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string file = *this / name;
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file;
  }

 private:
  std::string path_;
};

}  // namespace mlo::testing
