// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/arrow_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/date_text.hpp"

namespace mlo::arrow {
namespace {

static_assert(std::endian::native == std::endian::little, "128-bit integers are read as they lie in memory");

template <class T>
T cell_at(const void* buffer, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(buffer) + index * sizeof(T), sizeof(T));
  return value;
}

bool bit_at(const void* bits, std::size_t index) noexcept {
  return (cell_at<std::uint8_t>(bits, index / 8) >> (index % 8) & 1U) != 0;
}

// Position of the first cell in the array's buffers.
std::size_t start_of(const Slice& cells) noexcept {
  return static_cast<std::size_t>(cells.array->offset) + cells.first;
}

const void* validity(const Slice& cells) noexcept {
  return cells.array->n_buffers > 0 && cells.array->null_count != 0 ? cells.array->buffers[0] : nullptr;
}

double half(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 0x1F;
  const double fraction = bits & 0x3FF;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// "d:10,2": digits and scale, with the bits after another comma.
bool decimal_format(std::string_view format, int& scale) {
  int digits = 0, bits = 128;
  const char* at = format.data() + 2;
  const char* const end = format.data() + format.size();
  const auto number = [&](int& value) {
    const auto [stop, error] = std::from_chars(at, end, value);
    at = stop;
    return error == std::errc();
  };
  if (!number(digits) || at == end || *at++ != ',' || !number(scale)) return false;
  if (at != end && (*at++ != ',' || !number(bits))) return false;
  return at == end && bits == 128 && scale >= 0 && scale <= 38;
}

std::string digits_of(int128 value, int scale) {
  std::string out = fmt::format("{}", value);
  const std::size_t sign = out.front() == '-' ? 1 : 0;
  const auto places = static_cast<std::size_t>(scale);
  if (places == 0) return out;
  if (out.size() - sign <= places) out.insert(sign, places + 1 - (out.size() - sign), '0');
  out.insert(out.size() - places, 1, '.');
  return out;
}

// What a column of a type that has no place in a table holds.
std::string_view contents_of(std::string_view format) {
  if (format.starts_with("+l") || format.starts_with("+L") || format.starts_with("+v") ||
      format.starts_with("+w"))
    return "lists";
  if (format == "+s") return "structs";
  if (format == "+m") return "maps";
  if (format == "z" || format == "Z" || format == "vz" || format.starts_with("w:")) return "bytes";
  if (format.starts_with("tD") || format.starts_with("ti")) return "durations";
  return "values of a type that mlo does not know";
}

bool plain_type(std::string_view format, CellType& type) {
  static const std::map<std::string_view, Kind> plain{
      {"n", Kind::null},        {"b", Kind::boolean},      {"c", Kind::int8},       {"C", Kind::uint8},
      {"s", Kind::int16},       {"S", Kind::uint16},       {"i", Kind::int32},      {"I", Kind::uint32},
      {"l", Kind::int64},       {"L", Kind::uint64},       {"e", Kind::float16},    {"f", Kind::float32},
      {"g", Kind::float64},     {"u", Kind::text},         {"U", Kind::large_text}, {"vu", Kind::text_view},
      {"tdD", Kind::date_days}, {"tdm", Kind::date_millis}};
  if (const auto found = plain.find(format); found != plain.end()) {
    type.kind = found->second;
    return true;
  }
  if (format.starts_with("d:")) {
    type.kind = Kind::decimal;
    return decimal_format(format, type.scale);
  }
  // tts, ttm: 32 bits; ttu, ttn: 64. tss:ZONE and so on.
  const bool time = format.size() == 3 && format.starts_with("tt");
  const bool timestamp = format.size() >= 4 && format.starts_with("ts") && format[3] == ':';
  if (!time && !timestamp) return false;
  type.kind = time ? Kind::time : Kind::timestamp;
  constexpr std::string_view units = "smun";
  constexpr std::int64_t ticks[] = {1'000'000, 1'000, 1, 0};
  const std::size_t unit = units.find(format[2]);
  if (unit == std::string_view::npos) return false;
  type.unit = ticks[unit];
  type.narrow = time && unit < 2;
  return true;
}

}  // namespace

bool CellType::is_text() const noexcept {
  switch (kind) {
    case Kind::text:
    case Kind::large_text:
    case Kind::text_view:
    case Kind::date_days:
    case Kind::date_millis:
    case Kind::time:
    case Kind::timestamp:
      return true;
    default:
      return dictionary;
  }
}

CellType type_of(const ArrowSchema& schema, const std::string& column, const std::string& source) {
  CellType type;
  const std::string_view format = schema.format == nullptr ? "" : schema.format;
  bool known = true;
  if (schema.dictionary != nullptr) {
    CellType index;
    known = plain_type(format, index) && index.kind >= Kind::int8 && index.kind <= Kind::uint64 &&
            schema.dictionary->dictionary == nullptr && schema.dictionary->format != nullptr &&
            plain_type(schema.dictionary->format, type);
    type.dictionary = true;
    type.index = index.kind;
    type.ordered = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
  } else {
    known = plain_type(format, type);
  }
  if (known) return type;
  const std::string_view what = contents_of(
      schema.dictionary != nullptr && schema.dictionary->format != nullptr ? schema.dictionary->format
                                                                           : format);
  throw DataError(source, fmt::format("column {} holds {}, which are neither numbers nor text; make a column "
                                      "of what you need, or leave it out of the formula",
                                      csv::quoted(column), what));
}

bool all_valid(const Slice& cells) noexcept {
  const void* const valid = validity(cells);
  if (valid == nullptr) return true;
  for (std::size_t i = 0; i < cells.count; ++i)
    if (!bit_at(valid, start_of(cells) + i)) return false;
  return true;
}

CellReader::CellReader(const CellType& type, TypedColumn column) : type_(type), column_(std::move(column)) {}

template <class Add>
void CellReader::each(const Slice& cells, const Add& add) {
  const void* const valid = validity(cells);
  const std::size_t start = start_of(cells);
  for (std::size_t i = 0; i < cells.count; ++i) {
    if (valid == nullptr || bit_at(valid, start + i)) {
      add(start + i);
    } else {
      column_.add_missing();
    }
  }
}

template <class T>
void CellReader::append_numbers(const Slice& cells) {
  const void* const data = cells.array->buffers[1];
  each(cells, [&](std::size_t at) {
    const T value = cell_at<T>(data, at);
    if constexpr (std::integral<T> && sizeof(T) == 8) {
      constexpr auto most = std::int64_t{1} << 53;
      if (!column_.is_text() && (std::cmp_greater(value, most) || std::cmp_less(value, -most)))
        column_.refuse(
            fmt::format("{} has no exact value in double precision, beyond 2^53; make it a float, "
                        "or text if it is a label",
                        value));
    }
    column_.add(value);
  });
}

template <class Offset>
void CellReader::append_text(const Slice& cells) {
  const void* const offsets = cells.array->buffers[1];
  const char* const bytes = static_cast<const char*>(cells.array->buffers[2]);
  each(cells, [&](std::size_t at) {
    const auto from = cell_at<Offset>(offsets, at), to = cell_at<Offset>(offsets, at + 1);
    column_.add_text(from == to ? std::string_view() : std::string_view(bytes + from, to - from));
  });
}

// Sixteen bytes each: the length, then up to twelve bytes of text, or four of them, a buffer and a position.
void CellReader::append_views(const Slice& cells) {
  const void* const views = cells.array->buffers[1];
  struct View {
    std::int32_t length;
    char start[4];
    std::int32_t buffer, position;
  };
  static_assert(sizeof(View) == 16);
  each(cells, [&](std::size_t at) {
    const auto view = cell_at<View>(views, at);
    const auto length = static_cast<std::size_t>(view.length);
    constexpr std::size_t in_place = 12;
    column_.add_text({length <= in_place
                          ? static_cast<const char*>(views) + at * sizeof(View) + sizeof(view.length)
                          : static_cast<const char*>(cells.array->buffers[2 + view.buffer]) + view.position,
                      length});
  });
}

void CellReader::append_decimals(const Slice& cells) {
  const void* const data = cells.array->buffers[1];
  each(cells, [&](std::size_t at) {
    const std::string digits = digits_of(cell_at<int128>(data, at), type_.scale);
    if (column_.is_text()) return column_.add_text(digits);
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    column_.add(value);
  });
}

// spell(tick) writes to spelling_ and says whether it could.
template <class Spell>
void CellReader::append_ticks(const Slice& cells, const Spell& spell) {
  const void* const data = cells.array->buffers[1];
  const bool narrow = type_.narrow || type_.kind == Kind::date_days;
  each(cells, [&](std::size_t at) {
    spelling_.clear();
    if (!spell(narrow ? cell_at<std::int32_t>(data, at) : cell_at<std::int64_t>(data, at)))
      column_.refuse("a date that is infinite or whose year does not have four digits");
    column_.add_text(spelling_);
  });
}

void CellReader::append_times(const Slice& cells) {
  const auto microseconds = [&](std::int64_t tick) {
    return type_.unit == 0 ? microseconds_of_nanoseconds(tick) : microseconds_of(tick, type_.unit);
  };
  switch (type_.kind) {
    case Kind::date_days:
      return append_ticks(cells, [&](std::int64_t days) { return append_date(days, spelling_); });
    case Kind::date_millis:
      return append_ticks(cells, [&](std::int64_t millis) {
        constexpr std::int64_t day = 86'400'000;
        return append_date((millis - (millis % day + day) % day) / day, spelling_);
      });
    case Kind::time:
      return append_ticks(cells, [&](std::int64_t tick) {
        append_time(microseconds(tick), spelling_);
        return true;
      });
    default:
      return append_ticks(cells,
                          [&](std::int64_t tick) { return append_timestamp(microseconds(tick), spelling_); });
  }
}

void CellReader::append_dictionary(const Slice& cells) {
  const ArrowArray* const dictionary = cells.array->dictionary;
  const auto count = static_cast<std::size_t>(dictionary->length);
  const Source source{.name = "a dictionary"};
  CellType plain = type_;
  plain.dictionary = false;
  CellReader reader(plain, TypedColumn("", true, &source, {}));
  reader.append({dictionary, 0, count});
  const Column column = std::move(reader.column_).take();
  const Text& text = column.text();
  std::vector<const std::string*> words(count);
  for (std::size_t k = 0; k < count; ++k)
    words[k] = text.codes[k] == Text::missing ? nullptr : &text.levels[text.codes[k]];
  if (words_.empty())
    for (const std::string* const word : words) words_.push_back(word == nullptr ? "" : *word);
  const void* const data = cells.array->buffers[1];
  const auto add = [&](std::uint64_t index) {
    if (index >= count)
      column_.refuse(fmt::format("index {} is not in the dictionary, which has {} entries", index, count));
    if (words[index] == nullptr) return column_.add_missing();
    column_.add_text(*words[index]);
  };
  each(cells, [&](std::size_t at) {
    switch (type_.index) {
      case Kind::int8:
        return add(static_cast<std::uint64_t>(cell_at<std::int8_t>(data, at)));
      case Kind::uint8:
        return add(cell_at<std::uint8_t>(data, at));
      case Kind::int16:
        return add(static_cast<std::uint64_t>(cell_at<std::int16_t>(data, at)));
      case Kind::uint16:
        return add(cell_at<std::uint16_t>(data, at));
      case Kind::int32:
        return add(static_cast<std::uint64_t>(cell_at<std::int32_t>(data, at)));
      case Kind::uint32:
        return add(cell_at<std::uint32_t>(data, at));
      default:
        return add(cell_at<std::uint64_t>(data, at));
    }
  });
}

void CellReader::append(const Slice& cells) {
  if (cells.count == 0) return;
  if (type_.dictionary) return append_dictionary(cells);
  switch (type_.kind) {
    case Kind::null:
      for (std::size_t i = 0; i < cells.count; ++i) column_.add_missing();
      return;
    case Kind::boolean:
      return each(cells, [&](std::size_t at) {
        const bool value = bit_at(cells.array->buffers[1], at);
        if (column_.is_text()) return column_.add_text(value ? "True" : "False");
        column_.add(value);
      });
    case Kind::int8:
      return append_numbers<std::int8_t>(cells);
    case Kind::uint8:
      return append_numbers<std::uint8_t>(cells);
    case Kind::int16:
      return append_numbers<std::int16_t>(cells);
    case Kind::uint16:
      return append_numbers<std::uint16_t>(cells);
    case Kind::int32:
      return append_numbers<std::int32_t>(cells);
    case Kind::uint32:
      return append_numbers<std::uint32_t>(cells);
    case Kind::int64:
      return append_numbers<std::int64_t>(cells);
    case Kind::uint64:
      return append_numbers<std::uint64_t>(cells);
    case Kind::float16:
      return each(cells, [&](std::size_t at) {
        column_.add(half(cell_at<std::uint16_t>(cells.array->buffers[1], at)));
      });
    case Kind::float32:
      return append_numbers<float>(cells);
    case Kind::float64:
      return append_numbers<double>(cells);
    case Kind::decimal:
      return append_decimals(cells);
    case Kind::text:
      return append_text<std::int32_t>(cells);
    case Kind::large_text:
      return append_text<std::int64_t>(cells);
    case Kind::text_view:
      return append_views(cells);
    case Kind::date_days:
    case Kind::date_millis:
    case Kind::time:
    case Kind::timestamp:
      return append_times(cells);
  }
}

Column CellReader::take() && {
  Column column = std::move(column_).take();
  if (!type_.ordered || !column.is_text()) return column;
  // The levels in the order of the dictionary, if it has all of them.
  Text& text = column.text();
  std::vector<std::uint32_t> place(text.levels.size(), Text::missing);
  std::vector<std::string> levels;
  for (const std::string& word : words_)
    if (const auto at = std::find(text.levels.begin(), text.levels.end(), word); at != text.levels.end()) {
      const auto k = static_cast<std::size_t>(at - text.levels.begin());
      if (place[k] != Text::missing) continue;
      place[k] = static_cast<std::uint32_t>(levels.size());
      levels.push_back(word);
    }
  if (levels.size() != text.levels.size()) return column;
  for (std::uint32_t& code : text.codes)
    if (code != Text::missing) code = place[code];
  text.levels = std::move(levels);
  text.in_order = true;
  return column;
}

}  // namespace mlo::arrow
