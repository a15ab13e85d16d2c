// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/duckdb_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include "mlo/base/errors.hpp"

namespace mlo::duckdb {
namespace {

constexpr const char* oldest = "1.4";

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where ./setup --duckdb puts the library.
std::string installed_library() {
  std::string base = environment("XDG_DATA_HOME");
  if (base.empty()) {
    base = environment("HOME");
    if (base.empty()) return {};
    base += "/.local/share";
  }
  return base + "/mlo/libduckdb.so";
}

// What the loader said last.
std::string reason() {
  const char* const words = ::dlerror();
  return words == nullptr ? "unknown reason" : words;
}

void* open_library(const std::string& file) { return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); }

struct Found {
  void* handle;
  std::string file;
};

Found find_library(const std::string& purpose) {
  if (const std::string named = environment("MLO_DUCKDB"); !named.empty()) {
    void* const handle = open_library(named);
    if (handle == nullptr)
      throw DataError(
          fmt::format("{} by DuckDB, but the library that MLO_DUCKDB names cannot be "
                      "loaded: {}",
                      purpose, reason()));
    return {handle, named};
  }
  const std::string usual = "libduckdb.so";
  if (void* const handle = open_library(usual)) return {handle, usual};
  const std::string installed = installed_library();
  std::error_code error;
  if (!installed.empty() && std::filesystem::exists(installed, error)) {
    void* const handle = open_library(installed);
    if (handle == nullptr)
      throw DataError(fmt::format("{} by DuckDB, but its library cannot be loaded: {}", purpose, reason()));
    return {handle, installed};
  }
  throw DataError(
      fmt::format("{} by DuckDB, whose library libduckdb.so is not on this machine. Get it with "
                  "./setup --duckdb in mlo's source folder (24 MB), or set MLO_DUCKDB to the path of one you "
                  "have",
                  purpose));
}

Library load(const std::string& purpose) {
  const Found found = find_library(purpose);
  Library library;
  library.file = found.file;
  const auto find = [&](auto*& function, const char* name) {
    void* const address = ::dlsym(found.handle, name);
    if (address == nullptr) {
      const std::string version = library.library_version == nullptr ? "" : library.library_version();
      throw DataError(fmt::format(
          "{} by DuckDB, but {}{}{} has no function {}: it is not DuckDB, or older than {}. Get a newer "
          "one with ./setup --duckdb, or set MLO_DUCKDB to the path of one you have",
          purpose, found.file, version.empty() ? "" : ", ", version, name, oldest));
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(library.library_version, "duckdb_library_version");
  find(library.free, "duckdb_free");
  find(library.create_config, "duckdb_create_config");
  find(library.set_config, "duckdb_set_config");
  find(library.destroy_config, "duckdb_destroy_config");
  find(library.open_ext, "duckdb_open_ext");
  find(library.close, "duckdb_close");
  find(library.connect, "duckdb_connect");
  find(library.interrupt, "duckdb_interrupt");
  find(library.disconnect, "duckdb_disconnect");
  find(library.prepare, "duckdb_prepare");
  find(library.prepare_error, "duckdb_prepare_error");
  find(library.destroy_prepare, "duckdb_destroy_prepare");
  find(library.prepared_statement_type, "duckdb_prepared_statement_type");
  find(library.prepared_statement_column_count, "duckdb_prepared_statement_column_count");
  find(library.prepared_statement_column_name, "duckdb_prepared_statement_column_name");
  find(library.prepared_statement_column_logical_type, "duckdb_prepared_statement_column_logical_type");
  find(library.pending_prepared_streaming, "duckdb_pending_prepared_streaming");
  find(library.pending_execute_task, "duckdb_pending_execute_task");
  find(library.pending_execution_is_finished, "duckdb_pending_execution_is_finished");
  find(library.pending_error, "duckdb_pending_error");
  find(library.execute_pending, "duckdb_execute_pending");
  find(library.destroy_pending, "duckdb_destroy_pending");
  find(library.result_error, "duckdb_result_error");
  find(library.destroy_result, "duckdb_destroy_result");
  find(library.fetch_chunk, "duckdb_fetch_chunk");
  find(library.data_chunk_get_size, "duckdb_data_chunk_get_size");
  find(library.data_chunk_get_vector, "duckdb_data_chunk_get_vector");
  find(library.destroy_data_chunk, "duckdb_destroy_data_chunk");
  find(library.vector_get_data, "duckdb_vector_get_data");
  find(library.vector_get_validity, "duckdb_vector_get_validity");
  find(library.get_type_id, "duckdb_get_type_id");
  find(library.logical_type_get_alias, "duckdb_logical_type_get_alias");
  find(library.decimal_scale, "duckdb_decimal_scale");
  find(library.decimal_internal_type, "duckdb_decimal_internal_type");
  find(library.enum_internal_type, "duckdb_enum_internal_type");
  find(library.enum_dictionary_size, "duckdb_enum_dictionary_size");
  find(library.enum_dictionary_value, "duckdb_enum_dictionary_value");
  find(library.destroy_logical_type, "duckdb_destroy_logical_type");
  library.version = library.library_version();
  return library;
}

}  // namespace

const Library& library(const std::string& purpose) {
  static std::mutex mutex;
  static std::optional<Library> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) loaded = load(purpose);
  return *loaded;
}

}  // namespace mlo::duckdb
