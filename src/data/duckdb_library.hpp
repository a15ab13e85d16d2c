// Copyright (c) the mlo authors. BSD-3-Clause.
// DuckDB's C functions, found in libduckdb.so at run time: mlo neither needs DuckDB to be built nor to read
// CSV. Declared here by hand, as far as they are used; DuckDB promises that they stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace mlo::duckdb {

// What DuckDB hands out are pointers to structs of its own.
using Database = struct DatabaseStruct*;
using Connection = struct ConnectionStruct*;
using Config = struct ConfigStruct*;
using Statement = struct StatementStruct*;
using Pending = struct PendingStruct*;
using LogicalType = struct LogicalTypeStruct*;
using Chunk = struct ChunkStruct*;
using Vector = struct VectorStruct*;

using State = int;  // 0: success

// A result is passed by value, so its size counts. Only `data` is in use.
struct Result {
  std::uint64_t unused[3];
  void* unused_pointers[2];
  void* data;
};

// The types of columns that we tell apart, with DuckDB's numbers for them.
enum class Type : int {
  boolean = 1,
  int8 = 2,
  int16 = 3,
  int32 = 4,
  int64 = 5,
  uint8 = 6,
  uint16 = 7,
  uint32 = 8,
  uint64 = 9,
  float32 = 10,
  float64 = 11,
  timestamp = 12,  // microseconds since 1970
  date = 13,       // days since 1970
  time = 14,       // microseconds since midnight
  interval = 15,
  int128 = 16,
  text = 17,
  blob = 18,
  decimal = 19,
  timestamp_s = 20,
  timestamp_ms = 21,
  timestamp_ns = 22,
  enumeration = 23,
  list = 24,
  structure = 25,
  map = 26,
  uuid = 27,
  variant = 28,
  bits = 29,
  timestamp_tz = 31,  // microseconds since 1970, UTC
  uint128 = 32,
  array = 33,
  null = 36
};

// How a text lies in a vector: up to 12 bytes in place, longer ones elsewhere.
struct TextCell {
  std::uint32_t length;
  char start[4];
  const char* rest;
};
static_assert(sizeof(TextCell) == 16);

struct Library {
  std::string file;     // as found
  std::string version;  // "v1.4.1"

  const char* (*library_version)() = nullptr;
  void (*free)(void*) = nullptr;

  State (*create_config)(Config*) = nullptr;
  State (*set_config)(Config, const char* name, const char* value) = nullptr;
  void (*destroy_config)(Config*) = nullptr;
  State (*open_ext)(const char* path, Database*, Config,
                    char** error) = nullptr;  // the error is ours to free
  void (*close)(Database*) = nullptr;
  State (*connect)(Database, Connection*) = nullptr;
  void (*interrupt)(Connection) = nullptr;
  void (*disconnect)(Connection*) = nullptr;

  State (*prepare)(Connection, const char* query, Statement*) = nullptr;
  const char* (*prepare_error)(Statement) = nullptr;
  void (*destroy_prepare)(Statement*) = nullptr;
  int (*prepared_statement_type)(Statement) = nullptr;
  std::uint64_t (*prepared_statement_column_count)(Statement) = nullptr;
  char* (*prepared_statement_column_name)(Statement, std::uint64_t column) = nullptr;  // ours to free
  LogicalType (*prepared_statement_column_logical_type)(Statement, std::uint64_t column) = nullptr;

  State (*pending_prepared_streaming)(Statement, Pending*) = nullptr;
  int (*pending_execute_task)(Pending) = nullptr;
  bool (*pending_execution_is_finished)(int state) = nullptr;
  const char* (*pending_error)(Pending) = nullptr;
  State (*execute_pending)(Pending, Result*) = nullptr;
  void (*destroy_pending)(Pending*) = nullptr;

  const char* (*result_error)(Result*) = nullptr;
  void (*destroy_result)(Result*) = nullptr;
  Chunk (*fetch_chunk)(Result) = nullptr;  // null at the end, and after an error
  std::uint64_t (*data_chunk_get_size)(Chunk) = nullptr;
  Vector (*data_chunk_get_vector)(Chunk, std::uint64_t column) = nullptr;
  void (*destroy_data_chunk)(Chunk*) = nullptr;
  void* (*vector_get_data)(Vector) = nullptr;
  std::uint64_t* (*vector_get_validity)(Vector) = nullptr;  // a bit per row, 0: missing; null: none is

  int (*get_type_id)(LogicalType) = nullptr;
  char* (*logical_type_get_alias)(LogicalType) = nullptr;  // ours to free; null: none
  std::uint8_t (*decimal_scale)(LogicalType) = nullptr;
  int (*decimal_internal_type)(LogicalType) = nullptr;
  int (*enum_internal_type)(LogicalType) = nullptr;
  std::uint32_t (*enum_dictionary_size)(LogicalType) = nullptr;
  char* (*enum_dictionary_value)(LogicalType, std::uint64_t) = nullptr;  // ours to free
  void (*destroy_logical_type)(LogicalType*) = nullptr;
};

inline constexpr int select_statement = 1;  // what prepared_statement_type says of a query

// The library: from MLO_DUCKDB, from where the system looks for libraries, or from where ./setup --duckdb has
// put it. Loaded at the first call and kept. `purpose` begins the message: "data.parquet: Parquet files
// are read".
// Throws DataError: there is none, with how to get it; it cannot be loaded; it is too old.
[[nodiscard]] const Library& library(const std::string& purpose);

// A handle that is destroyed with its owner.
template <class Handle>
class Owned {
 public:
  explicit Owned(void (*destroy)(Handle*)) : destroy_(destroy) {}
  ~Owned() {
    if (handle_ != nullptr) destroy_(&handle_);
  }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }

  [[nodiscard]] Handle get() const { return handle_; }
  [[nodiscard]] Handle* address() { return &handle_; }

 private:
  Handle handle_ = nullptr;
  void (*destroy_)(Handle*);
};

}  // namespace mlo::duckdb
