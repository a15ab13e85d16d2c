// Copyright (c) the mlo authors. BSD-3-Clause.
// Queries of DuckDB and their results, chunk by chunk.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/duckdb_library.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::duckdb {

struct ResultColumn {
  std::string name;
  Owned<LogicalType> type;
};

// A connection to a database. Each has one query at a time.
class Session {
 public:
  // file: a database, which is opened for reading only; empty: none, for queries of other files, and all
  // sessions share one. threads: 0 for as many as the machine has. `name` begins the messages.
  Session(const Library& library, const std::string& file, std::size_t threads, std::string name);

  [[nodiscard]] const Library& library() const noexcept { return library_; }
  [[nodiscard]] Connection connection() const noexcept { return connection_.get(); }
  // What DuckDB has said, as an error of the source that the session was made for.
  [[nodiscard]] DataError error(const char* words, const std::string& query) const;

 private:
  const Library& library_;
  std::string name_;
  std::shared_ptr<Owned<Database>> database_;
  Owned<Connection> connection_;
};

// A query that has been understood but not run.
class Query {
 public:
  // A query that gives rows, or one that copies them to a file. Throws DataError with DuckDB's words and the
  // query.
  enum class Kind { select, copy };
  Query(const Session& session, std::string text, Kind kind = Kind::select);

  [[nodiscard]] const Session& session() const noexcept { return session_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] Statement statement() const noexcept { return statement_.get(); }
  [[nodiscard]] const std::vector<ResultColumn>& columns() const noexcept { return columns_; }

 private:
  const Session& session_;
  std::string text_;
  Owned<Statement> statement_;
  std::vector<ResultColumn> columns_;
};

// The rows of a query, in order. They are computed while they are fetched, so memory holds a few chunks.
class Rows {
 public:
  // `poll` is called now and then while the query runs, and may throw to end it. Throws DataError.
  Rows(const Query& query, const std::function<void()>& poll);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // The next chunk; null at the end. It is valid until the next call. Throws DataError.
  [[nodiscard]] Chunk next();

 private:
  const Query& query_;
  const Library& library_;
  Owned<Pending> pending_;
  Result result_{};
  Owned<Chunk> chunk_;
  bool at_end_ = false;
};

}  // namespace mlo::duckdb
