// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/duckdb_cells.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "data/csv_number.hpp"
#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/date_text.hpp"

namespace mlo::duckdb {
namespace {

static_assert(std::endian::native == std::endian::little, "128-bit integers are read as they lie in memory");

bool valid_at(const std::uint64_t* valid, std::size_t row) noexcept {
  return valid == nullptr || (valid[row / 64] >> (row % 64) & 1U) != 0;
}

// A value of a vector, which need not be aligned to more than 8 bytes.
template <class T>
T value_at(const void* data, std::size_t row) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + row * sizeof(T), sizeof(T));
  return value;
}

// An integer of the type that decimals and enumerations are stored as, by its DuckDB type.
template <class Call>
void with_stored(Type stored, const Call& call) {
  switch (stored) {
    case Type::uint8:
      return call(std::uint8_t{});
    case Type::uint16:
      return call(std::uint16_t{});
    case Type::uint32:
      return call(std::uint32_t{});
    case Type::int16:
      return call(std::int16_t{});
    case Type::int32:
      return call(std::int32_t{});
    case Type::int64:
      return call(std::int64_t{});
    default:
      return call(int128{});
  }
}

// value / 10^scale, rounded once, as a CSV file with the same digits would be.
template <class T>
double decimal(T value, int scale) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (value >= -exact && value <= exact && scale <= static_cast<int>(csv::number::max_exact_power))
    return static_cast<double>(value) / csv::number::powers_of_ten[static_cast<std::size_t>(scale)];
  const std::string digits = fmt::format("{}e-{}", value, scale);
  double result = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  return result;
}

template <class T>
void spell_decimal(T value, int scale, std::string& out) {
  out = fmt::format("{}", value);
  const std::size_t sign = out.front() == '-' ? 1 : 0;
  const auto places = static_cast<std::size_t>(scale);
  if (places == 0) return;
  if (out.size() - sign <= places) out.insert(sign, places + 1 - (out.size() - sign), '0');
  out.insert(out.size() - places, 1, '.');
}

void spell_uuid(uint128 stored, std::string& out) {
  const uint128 value = stored ^ (uint128{1} << 127);  // DuckDB flips the first bit, so that they sort
  const auto high = static_cast<std::uint64_t>(value >> 64), low = static_cast<std::uint64_t>(value);
  fmt::format_to(std::back_inserter(out), "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32,
                 high >> 16 & 0xFFFFU, high & 0xFFFFU, low >> 48, low & 0xFFFFFFFFFFFFU);
}

// What a column of a type that has no place in a table holds.
const char* contents(Type type) {
  switch (type) {
    case Type::list:
    case Type::array:
      return "lists";
    case Type::structure:
      return "structs";
    case Type::map:
      return "maps";
    case Type::blob:
    case Type::bits:
      return "bytes";
    case Type::interval:
      return "intervals";
    default:
      return "values of a type that mlo does not know";
  }
}

}  // namespace

bool is_text(const Library& library, LogicalType type, const std::string& column, const std::string& source) {
  const auto id = static_cast<Type>(library.get_type_id(type));
  switch (id) {
    case Type::boolean:
    case Type::int8:
    case Type::int16:
    case Type::int32:
    case Type::int64:
    case Type::uint8:
    case Type::uint16:
    case Type::uint32:
    case Type::uint64:
    case Type::int128:
    case Type::uint128:
    case Type::float32:
    case Type::float64:
    case Type::decimal:
    case Type::null:
      return false;
    case Type::text:
    case Type::enumeration:
    case Type::date:
    case Type::time:
    case Type::timestamp:
    case Type::timestamp_s:
    case Type::timestamp_ms:
    case Type::timestamp_ns:
    case Type::timestamp_tz:
    case Type::uuid:
      return true;
    default:
      throw DataError(source,
                      fmt::format("column {} holds {}, which are neither numbers nor text; make a column of "
                                  "what you need with `sql`",
                                  csv::quoted(column), contents(id)));
  }
}

bool is_boolean(const Library& library, LogicalType type) {
  return static_cast<Type>(library.get_type_id(type)) == Type::boolean;
}

bool is_json(const Library& library, LogicalType type) {
  char* const alias = library.logical_type_get_alias(type);
  const bool json = alias != nullptr && std::strcmp(alias, "JSON") == 0;
  library.free(alias);
  return json;
}

CellReader::CellReader(const Library& library, LogicalType type, TypedColumn column)
    : library_(library),
      type_(static_cast<Type>(library.get_type_id(type))),
      stored_(type_),
      column_(std::move(column)) {
  if (type_ == Type::decimal) {
    stored_ = static_cast<Type>(library.decimal_internal_type(type));
    scale_ = library.decimal_scale(type);
  } else if (type_ == Type::enumeration) {
    stored_ = static_cast<Type>(library.enum_internal_type(type));
    const std::uint32_t count = library.enum_dictionary_size(type);
    words_.reserve(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      char* const word = library.enum_dictionary_value(type, k);
      words_.emplace_back(word == nullptr ? "" : word);
      library.free(word);
    }
  }
}

void CellReader::append(Vector vector, std::size_t rows) {
  const void* const data = library_.vector_get_data(vector);
  const std::uint64_t* const valid = library_.vector_get_validity(vector);
  const auto timestamps = [&](std::int64_t factor) {
    append_spelt<std::int64_t>(data, valid, rows, [&](std::int64_t value) {
      if (!append_timestamp(microseconds_of(value, factor), spelling_)) refuse_date();
    });
  };
  switch (type_) {
    case Type::boolean:
      return append_numbers<bool>(data, valid, rows);
    case Type::int8:
      return append_numbers<std::int8_t>(data, valid, rows);
    case Type::int16:
      return append_numbers<std::int16_t>(data, valid, rows);
    case Type::int32:
    case Type::null:
      return append_numbers<std::int32_t>(data, valid, rows);
    case Type::int64:
      return append_numbers<std::int64_t>(data, valid, rows);
    case Type::uint8:
      return append_numbers<std::uint8_t>(data, valid, rows);
    case Type::uint16:
      return append_numbers<std::uint16_t>(data, valid, rows);
    case Type::uint32:
      return append_numbers<std::uint32_t>(data, valid, rows);
    case Type::uint64:
      return append_numbers<std::uint64_t>(data, valid, rows);
    case Type::int128:
      return append_numbers<int128>(data, valid, rows);
    case Type::uint128:
      return append_numbers<uint128>(data, valid, rows);
    case Type::float32:
      return append_numbers<float>(data, valid, rows);
    case Type::float64:
      return append_numbers<double>(data, valid, rows);
    case Type::decimal:
      return with_stored(stored_, [&](auto kind) { append_decimals<decltype(kind)>(data, valid, rows); });
    case Type::enumeration:
      return with_stored(stored_, [&](auto kind) { append_enum<decltype(kind)>(data, valid, rows); });
    case Type::text:
      for (std::size_t i = 0; i < rows; ++i) {
        if (!valid_at(valid, i)) {
          column_.add_missing();
          continue;
        }
        const char* const at = static_cast<const char*>(data) + i * sizeof(TextCell);
        const auto cell = value_at<TextCell>(data, i);
        constexpr std::uint32_t in_place = 12;  // bytes, from `start` on
        column_.add_text({cell.length <= in_place ? at + offsetof(TextCell, start) : cell.rest, cell.length});
      }
      return;
    case Type::date:
      return append_spelt<std::int32_t>(data, valid, rows, [&](std::int32_t days) {
        if (!append_date(days, spelling_)) refuse_date();
      });
    case Type::time:
      return append_spelt<std::int64_t>(data, valid, rows,
                                        [&](std::int64_t value) { append_time(value, spelling_); });
    case Type::timestamp:
    case Type::timestamp_tz:
      return timestamps(1);
    case Type::timestamp_s:
      return timestamps(1'000'000);
    case Type::timestamp_ms:
      return timestamps(1'000);
    case Type::timestamp_ns:
      return append_spelt<std::int64_t>(data, valid, rows, [&](std::int64_t value) {
        if (!append_timestamp(microseconds_of_nanoseconds(value), spelling_)) refuse_date();
      });
    case Type::uuid:
      return append_spelt<uint128>(data, valid, rows, [&](uint128 value) { spell_uuid(value, spelling_); });
    default:
      break;  // refused by is_text()
  }
}

template <class T>
void CellReader::append_numbers(const void* data, const std::uint64_t* valid, std::size_t rows) {
  if constexpr (sizeof(T) <= 8) {
    if (valid == nullptr) return column_.add_all(static_cast<const T*>(data), rows);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (valid_at(valid, i)) {
      column_.add(value_at<T>(data, i));
    } else {
      column_.add_missing();
    }
  }
}

template <class T>
void CellReader::append_decimals(const void* data, const std::uint64_t* valid, std::size_t rows) {
  if (column_.is_text())
    return append_spelt<T>(data, valid, rows, [&](T value) { spell_decimal(value, scale_, spelling_); });
  for (std::size_t i = 0; i < rows; ++i) {
    if (valid_at(valid, i)) {
      column_.add(decimal(value_at<T>(data, i), scale_));
    } else {
      column_.add_missing();
    }
  }
}

template <class T>
void CellReader::append_enum(const void* data, const std::uint64_t* valid, std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    if (!valid_at(valid, i)) {
      column_.add_missing();
      continue;
    }
    column_.add_text(words_[static_cast<std::size_t>(value_at<T>(data, i))]);
  }
}

// Dates and the like as text; `spell` writes to spelling_.
template <class T, class Spell>
void CellReader::append_spelt(const void* data, const std::uint64_t* valid, std::size_t rows,
                              const Spell& spell) {
  for (std::size_t i = 0; i < rows; ++i) {
    if (!valid_at(valid, i)) {
      column_.add_missing();
      continue;
    }
    spelling_.clear();
    spell(value_at<T>(data, i));
    column_.add_text(spelling_);
  }
}

void CellReader::refuse_date() const {
  column_.refuse("a date that is infinite or whose year does not have four digits");
}

}  // namespace mlo::duckdb
