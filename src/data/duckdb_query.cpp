// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/duckdb_query.hpp"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace mlo::duckdb {
namespace {

std::string trimmed_words(const char* words) {
  std::string_view text = words == nullptr ? "unknown error" : words;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

std::shared_ptr<Owned<Database>> open_database(const Library& library, const std::string& file,
                                               std::size_t threads) {
  Owned<Config> config(library.destroy_config);
  const auto set = [&](const char* name, const std::string& value) {
    if (library.set_config(config.get(), name, value.c_str()) != 0)
      throw DataError(library.file, fmt::format("DuckDB {} has no setting {}", library.version, name));
  };
  if (library.create_config(config.address()) != 0) throw DataError(library.file, "DuckDB does not start");
  // A query must not install programs from the network.
  set("autoinstall_known_extensions", "false");
  if (threads > 0) set("threads", std::to_string(threads));
  if (!file.empty()) set("access_mode", "READ_ONLY");
  auto database = std::make_shared<Owned<Database>>(library.close);
  char* words = nullptr;
  if (library.open_ext(file.empty() ? nullptr : file.c_str(), database->address(), config.get(), &words) !=
      0) {
    const std::string why = trimmed_words(words);
    library.free(words);
    throw DataError(file.empty() ? library.file : file, fmt::format("DuckDB cannot open it: {}", why));
  }
  return database;
}

// The database without a file. It takes some milliseconds to start, so that many files share one.
std::shared_ptr<Owned<Database>> shared_database(const Library& library, std::size_t threads) {
  static std::mutex mutex;
  static std::weak_ptr<Owned<Database>> shared;
  static std::size_t its_threads = 0;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Owned<Database>> database = its_threads == threads ? shared.lock() : nullptr;
  if (database == nullptr) {
    database = open_database(library, "", threads);
    shared = database;
    its_threads = threads;
  }
  return database;
}

}  // namespace

Session::Session(const Library& library, const std::string& file, std::size_t threads, std::string name)
    : library_(library),
      name_(std::move(name)),
      database_(file.empty() ? shared_database(library, threads) : open_database(library, file, threads)),
      connection_(library.disconnect) {
  if (library_.connect(database_->get(), connection_.address()) != 0)
    throw DataError(name_, "DuckDB gives no connection");
}

DataError Session::error(const char* words, const std::string& query) const {
  std::string message = trimmed_words(words);
  if (message.find(query) == std::string::npos) message += "\nin the query: " + query;
  return {name_, message};
}

Query::Query(const Session& session, std::string text, Kind kind)
    : session_(session), text_(std::move(text)), statement_(session.library().destroy_prepare) {
  const Library& library = session_.library();
  if (library.prepare(session_.connection(), text_.c_str(), statement_.address()) != 0)
    throw session_.error(library.prepare_error(statement_.get()), text_);
  if (kind == Kind::select && library.prepared_statement_type(statement_.get()) != select_statement)
    throw session_.error("must be one query that gives rows: select ... from ...", text_);
  const std::uint64_t count = library.prepared_statement_column_count(statement_.get());
  columns_.reserve(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    char* const name = library.prepared_statement_column_name(statement_.get(), k);
    columns_.push_back({name == nullptr ? "" : name, Owned<LogicalType>(library.destroy_logical_type)});
    library.free(name);
    *columns_.back().type.address() = library.prepared_statement_column_logical_type(statement_.get(), k);
  }
}

Rows::Rows(const Query& query, const std::function<void()>& poll)
    : query_(query),
      library_(query.session().library()),
      pending_(library_.destroy_pending),
      chunk_(library_.destroy_data_chunk) {
  const auto error = [&](const char* words) { return query.session().error(words, query.text()); };
  if (library_.pending_prepared_streaming(query.statement(), pending_.address()) != 0)
    throw error(library_.pending_error(pending_.get()));
  // Until the first rows are there, in small steps, so that an interrupt is seen.
  constexpr int no_tasks = 3, failed = 2;
  for (;;) {
    const int state = library_.pending_execute_task(pending_.get());
    if (state == failed) throw error(library_.pending_error(pending_.get()));
    if (library_.pending_execution_is_finished(state)) break;
    try {
      poll();
    } catch (...) {
      library_.interrupt(query.session().connection());
      throw;
    }
    if (state == no_tasks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (library_.execute_pending(pending_.get(), &result_) != 0) {
    const DataError failure = error(library_.result_error(&result_));
    library_.destroy_result(&result_);
    throw failure;
  }
}

Rows::~Rows() {
  if (!at_end_) library_.interrupt(query_.session().connection());
  chunk_ = Owned<Chunk>(library_.destroy_data_chunk);
  library_.destroy_result(&result_);
}

Chunk Rows::next() {
  Owned<Chunk> next(library_.destroy_data_chunk);
  *next.address() = library_.fetch_chunk(result_);
  chunk_ = std::move(next);
  at_end_ = chunk_.get() == nullptr;
  if (at_end_)
    if (const char* const words = library_.result_error(&result_))
      throw query_.session().error(words, query_.text());
  return chunk_.get();
}

}  // namespace mlo::duckdb
