// Copyright (c) the mlo authors. BSD-3-Clause.
#include "python/src/frame.hpp"

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "data/csv_text.hpp"
#include "data/typed_cells.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/arrow.hpp"
#include "mlo/data/date_text.hpp"
#include "mlo/data/table_reader.hpp"
#include "python/src/gil.hpp"

namespace mlo::python {
namespace {

// What to do with a column: its name, where its rows are, what the user says about it.
struct Wanted {
  std::string name;
  const Source* source;
  std::optional<ColumnType> asked;
  std::vector<std::string> na;

  // Whether numbers stay what they are in memory.
  [[nodiscard]] bool as_it_is() const noexcept { return asked != ColumnType::text && na.empty(); }
  [[nodiscard]] TypedColumn cells(bool text) const {
    return {name, asked ? *asked == ColumnType::text : text, source, na};
  }
};

// A 1-D array in memory, with any distance between its cells.
template <class T>
class Cells {
 public:
  explicit Cells(const py::array& array)
      : first_(static_cast<const char*>(array.data())),
        stride_(array.strides(0)),
        rows_(static_cast<std::size_t>(array.shape(0))) {}
  // The cells where they lie, if that is side by side; otherwise null.
  [[nodiscard]] const T* in_one_piece() const noexcept {
    const bool aligned = reinterpret_cast<std::uintptr_t>(first_) % alignof(T) == 0;
    return aligned && (stride_ == sizeof(T) || rows_ < 2) ? reinterpret_cast<const T*>(first_) : nullptr;
  }
  T operator[](std::size_t i) const noexcept {
    T value;
    // Cells may be pointers to objects. NOLINTNEXTLINE(bugprone-sizeof-expression)
    std::memcpy(&value, first_ + static_cast<py::ssize_t>(i) * stride_, sizeof(T));
    return value;
  }

 private:
  const char* first_;
  py::ssize_t stride_;
  std::size_t rows_;
};

std::size_t rows_of(const py::array& array) { return static_cast<std::size_t>(array.shape(0)); }

// Beyond 2^53 a whole number may have no double of its own.
template <class T>
bool is_exact(T value) {
  constexpr auto most = std::int64_t{1} << 53;
  return !std::cmp_greater(value, most) && !std::cmp_less(value, -most);
}
template <class T>
void check_exact(TypedColumn& column, T value) {
  if (!is_exact(value))
    column.refuse(
        fmt::format("{} is beyond 2^53, so that it may have no exact value in double precision; use "
                    "astype(float) if the nearest one will do, or astype(str) if it is a label",
                    value));
}

// Not 0 if a number of 64 bits cannot be used as it is: an infinity, or a whole number that may have no
// double of its own. By bits, without a branch: the compiler makes SIMD code of it.
template <class T>
std::uint64_t oddness(T value) noexcept {
  if constexpr (std::floating_point<T>) {
    constexpr std::uint64_t infinity = std::uint64_t{0x7FF} << 52, magnitude = ~std::uint64_t{0} >> 1;
    return (std::bit_cast<std::uint64_t>(value) & magnitude) == infinity ? 1U : 0U;
  } else {
    // Of signed numbers, from -2^53 on.
    constexpr std::uint64_t below = std::signed_integral<T> ? std::uint64_t{1} << 53U : 0;
    constexpr unsigned bits = std::signed_integral<T> ? 54 : 53;
    return (static_cast<std::uint64_t>(value) + below) >> bits;
  }
}

bool has_infinity(std::span<const double> cells) {
  std::uint64_t found = 0;
  for (const double v : cells) found |= oddness(v);
  return found != 0;
}

template <class T>
Column column_of_numbers(const py::array& array, const Wanted& wanted) {
  const Cells<T> cells(array);
  const std::size_t rows = rows_of(array);
  TypedColumn out = wanted.cells(false);
  if (!out.is_text() && wanted.na.empty()) {
    Numbers numbers;
    if (const T* const first = cells.in_one_piece()) {
      numbers.assign(first, first + rows);  // writes new memory once
    } else {
      numbers.reserve(rows);
      for (std::size_t i = 0; i < rows; ++i) numbers.push_back(static_cast<double>(cells[i]));
    }
    bool fine = true;
    if constexpr (std::integral<T> && sizeof(T) == 8)
      for (std::size_t i = 0; i < rows; ++i) fine = fine && is_exact(cells[i]);
    if constexpr (std::floating_point<T>) fine = !has_infinity(numbers);
    if (fine) return {wanted.name, std::move(numbers)};
  }
  // Cell by cell: as words, or to say which one is wrong.
  out.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const T value = cells[i];
    if constexpr (std::integral<T> && sizeof(T) == 8)
      if (!out.is_text()) check_exact(out, value);
    out.add(value);
  }
  return std::move(out).take();
}

// Doubles that lie side by side are used where they are.
Column column_of_doubles(const py::array& array, const Wanted& wanted) {
  const std::size_t rows = rows_of(array);
  const double* const data = Cells<double>(array).in_one_piece();
  if (!wanted.as_it_is() || data == nullptr || rows == 0) return column_of_numbers<double>(array, wanted);
  const std::span<const double> cells(data, rows);
  if (has_infinity(cells)) return column_of_numbers<double>(array, wanted);  // refuses it, with its place
  return {wanted.name, BorrowedNumbers{cells, keeper_of(array)}};
}

// Whole numbers of 64 bits too, as far as all have a double of their own.
template <class T>
Column column_of_wide(const py::array& array, const Wanted& wanted) {
  const std::size_t rows = rows_of(array);
  const T* const data = Cells<T>(array).in_one_piece();
  if (!wanted.as_it_is() || data == nullptr || rows == 0) return column_of_numbers<T>(array, wanted);
  std::uint64_t large = 0;
  for (std::size_t i = 0; i < rows; ++i) large |= oddness(data[i]);
  if (large != 0) return column_of_numbers<T>(array, wanted);  // may refuse one, with its place
  const std::span<const std::int64_t> cells(reinterpret_cast<const std::int64_t*>(data), rows);
  return {wanted.name, BorrowedIntegers{cells, keeper_of(array)}};
}

Column column_of_logicals(const py::array& array, const Wanted& wanted) {
  const Cells<std::uint8_t> cells(array);
  TypedColumn out = wanted.cells(false);
  if (!wanted.asked) out.mark_logical();
  out.reserve(rows_of(array));
  for (std::size_t i = 0; i < rows_of(array); ++i) {
    if (out.is_text()) {
      out.add_text(cells[i] != 0 ? "True" : "False");
    } else {
      out.add(cells[i] != 0);
    }
  }
  return std::move(out).take();
}

void append_utf8(char32_t c, std::string& out) {
  const auto byte = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      byte(0xE0 | c >> 12);
    } else {
      byte(0xF0 | (c >> 18 & 0x7));
      byte(0x80 | (c >> 12 & 0x3F));
    }
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

// Strings of a fixed width, padded with zeros.
Column column_of_strings(const py::array& array, const Wanted& wanted) {
  const std::size_t width = static_cast<std::size_t>(array.itemsize()) / sizeof(char32_t);
  const char* const first = static_cast<const char*>(array.data());
  TypedColumn out = wanted.cells(true);
  out.reserve(rows_of(array));
  std::vector<char32_t> cell(width);
  std::string word;
  for (std::size_t i = 0; i < rows_of(array); ++i) {
    std::memcpy(cell.data(), first + static_cast<py::ssize_t>(i) * array.strides(0),
                width * sizeof(char32_t));
    const auto end = std::find_if(cell.rbegin(), cell.rend(), [](char32_t c) { return c != 0; }).base();
    word.clear();
    for (auto c = cell.begin(); c != end; ++c) {
      if (*c > 0x10FFFF || (*c >= 0xD800 && *c < 0xE000))
        out.refuse("text that is not Unicode (it has a lone surrogate)");
      append_utf8(*c, word);
    }
    out.add_text(word);
  }
  return std::move(out).take();
}

// Microseconds, or days, since 1970; the least number is NaT.
Column column_of_times(const py::array& array, bool days, const Wanted& wanted) {
  const Cells<std::int64_t> cells(array);
  TypedColumn out = wanted.cells(true);
  out.reserve(rows_of(array));
  std::string word;
  for (std::size_t i = 0; i < rows_of(array); ++i) {
    const std::int64_t value = cells[i];
    if (value == std::numeric_limits<std::int64_t>::min()) {
      out.add_missing();
      continue;
    }
    word.clear();
    if (!(days ? append_date(value, word) : append_timestamp(value, word)))
      out.refuse("a date whose year does not have four digits");
    out.add_text(word);
  }
  return std::move(out).take();
}

// What a cell of a column of objects is.
enum class Cell : char { missing, word, logical, whole, real, shown };

class ObjectKinds {
 public:
  ObjectKinds() {
    if (const py::object pandas = loaded("pandas"); !pandas.is_none())
      for (const char* name : {"NA", "NaT"})
        if (py::hasattr(pandas, name)) nothing_.push_back(pandas.attr(name));
    const py::module_ numpy = py::module_::import("numpy");
    bool_ = numpy.attr("bool_");
    whole_ = numpy.attr("integer");
    real_ = numpy.attr("floating");
    const py::module_ dates = py::module_::import("datetime");
    shown_ = py::make_tuple(dates.attr("date"), dates.attr("time"), numpy.attr("datetime64"));
    decimal_ = py::module_::import("decimal").attr("Decimal");
  }

  // Throws DataError by `column` if the object is neither a number nor text.
  [[nodiscard]] Cell of(PyObject* object, const TypedColumn& column) const {
    if (object == Py_None) return Cell::missing;
    if (PyUnicode_Check(object)) return Cell::word;
    if (PyBool_Check(object)) return Cell::logical;
    if (PyFloat_Check(object)) return std::isnan(PyFloat_AS_DOUBLE(object)) ? Cell::missing : Cell::real;
    if (PyLong_Check(object)) return Cell::whole;
    for (const py::object& nothing : nothing_)
      if (nothing.ptr() == object) return Cell::missing;
    if (py::isinstance(object, bool_)) return Cell::logical;
    if (py::isinstance(object, whole_)) return Cell::whole;
    if (py::isinstance(object, real_) || py::isinstance(object, decimal_))
      return std::isnan(number(object)) ? Cell::missing : Cell::real;
    if (py::isinstance(object, shown_)) return words(object) == "NaT" ? Cell::missing : Cell::shown;
    column.refuse(fmt::format("a value of type {}, which is neither a number nor text",
                              std::string(py::str(py::type::handle_of(object).attr("__name__")))));
  }
  [[nodiscard]] static double number(PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return value;
  }
  [[nodiscard]] static std::string words(PyObject* object) { return py::str(py::handle(object)); }

 private:
  static py::object loaded(const char* module) {
    const py::dict modules = py::module_::import("sys").attr("modules");
    return modules.contains(module) ? py::object(modules[module]) : py::none();
  }
  std::vector<py::object> nothing_;
  py::object bool_, whole_, real_, decimal_, shown_;
};

std::string_view utf8(PyObject* text, const TypedColumn& column) {
  py::ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    column.refuse("text that is not Unicode (it has a lone surrogate)");
  }
  return {bytes, static_cast<std::size_t>(size)};
}

void add_whole(PyObject* object, TypedColumn& out) {
  const py::object whole = py::reinterpret_steal<py::object>(PyNumber_Index(object));
  if (!whole) throw py::error_already_set();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (out.is_text()) return out.add_text(std::string(py::str(whole)));
  if (overflow != 0) check_exact(out, std::numeric_limits<std::int64_t>::max());
  check_exact(out, value);
  out.add(static_cast<std::int64_t>(value));
}

// Objects: logicals if all that are not missing are, otherwise numbers if all are, otherwise text.
Column column_of_objects(const py::array& array, const Wanted& wanted) {
  static_assert(sizeof(PyObject*) == sizeof(std::uintptr_t));
  const Cells<PyObject*> cells(array);
  const std::size_t rows = rows_of(array);
  const ObjectKinds kinds;
  std::vector<Cell> kind(rows);
  {
    TypedColumn place = wanted.cells(false);  // only to say where a bad cell is
    for (std::size_t i = 0; i < rows; ++i) {
      kind[i] = cells[i] == nullptr ? Cell::missing : kinds.of(cells[i], place);
      place.add_missing();
    }
  }
  const auto is_number = [](Cell c) { return c == Cell::whole || c == Cell::real || c == Cell::logical; };
  Text::Words words;
  for (std::size_t i = 0; i < rows; ++i) {
    if (kind[i] == Cell::missing) continue;
    ++words.cells;
    if (is_number(kind[i])) continue;
    if (words.count++ == 0) words.first = i;
  }
  TypedColumn out = wanted.cells(words.count > 0);
  const auto logicals = std::count(kind.begin(), kind.end(), Cell::logical);
  if (!wanted.asked && logicals > 0 && std::cmp_equal(logicals, words.cells)) out.mark_logical();
  out.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    PyObject* const object = cells[i];
    switch (kind[i]) {
      case Cell::missing:
        out.add_missing();
        break;
      case Cell::word:
        out.add_text(utf8(object, out));
        break;
      case Cell::logical: {
        const bool yes = PyObject_IsTrue(object) == 1;
        if (out.is_text()) {
          out.add_text(yes ? "True" : "False");
        } else {
          out.add(yes);
        }
        break;
      }
      case Cell::whole:
        add_whole(object, out);
        break;
      case Cell::real:
        out.add(ObjectKinds::number(object));
        break;
      case Cell::shown:
        out.add_text(ObjectKinds::words(object));
        break;
    }
  }
  Column column = std::move(out).take();
  if (column.is_text() && !wanted.asked) column.text().words = words;
  return column;
}

// Levels and codes, -1 where a cell is missing.
Column column_of_codes(const py::tuple& factor, const Wanted& wanted) {
  const auto levels = factor[0].cast<std::vector<std::string>>();
  const auto codes = factor[1].cast<py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>>();
  TypedColumn out = wanted.cells(true);
  const std::span<const std::int64_t> all(codes.data(), static_cast<std::size_t>(codes.size()));
  for (const std::int64_t code : all)
    if (code >= static_cast<std::int64_t>(levels.size()))
      out.refuse(fmt::format("code {} has no level", code));
  std::vector<std::string> distinct = levels;
  std::sort(distinct.begin(), distinct.end());
  const bool twice = std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end();
  if (!out.is_text() || twice || !wanted.na.empty()) {
    out.reserve(all.size());
    for (const std::int64_t code : all) {
      if (code < 0) {
        out.add_missing();
      } else {
        out.add_text(levels[static_cast<std::size_t>(code)]);
      }
    }
    return std::move(out).take();
  }
  Text text{.levels = levels, .codes = std::vector<std::uint32_t>(all.size(), Text::missing)};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] >= 0) text.codes[i] = static_cast<std::uint32_t>(all[i]);
  text.in_order = true;
  return {wanted.name, std::move(text)};
}

Column column_of_array(const py::array& array, const Wanted& wanted) {
  const char kind = array.dtype().kind();
  const py::ssize_t size = array.itemsize();
  switch (kind) {
    case 'f':
      if (size == 8) return column_of_doubles(array, wanted);
      if (size == 4) return column_of_numbers<float>(array, wanted);
      break;
    case 'i':
      if (size == 1) return column_of_numbers<std::int8_t>(array, wanted);
      if (size == 2) return column_of_numbers<std::int16_t>(array, wanted);
      if (size == 4) return column_of_numbers<std::int32_t>(array, wanted);
      return column_of_wide<std::int64_t>(array, wanted);
    case 'u':
      if (size == 1) return column_of_numbers<std::uint8_t>(array, wanted);
      if (size == 2) return column_of_numbers<std::uint16_t>(array, wanted);
      if (size == 4) return column_of_numbers<std::uint32_t>(array, wanted);
      return column_of_wide<std::uint64_t>(array, wanted);
    case 'b':
      return column_of_logicals(array, wanted);
    case 'U':
      return column_of_strings(array, wanted);
    case 'O':
      return column_of_objects(array, wanted);
    default:
      break;
  }
  throw DataError(wanted.source->name,
                  fmt::format("column {} holds values of NumPy's type {}, which are neither numbers nor text",
                              csv::quoted(wanted.name), std::string(py::str(array.dtype()))));
}

// A column of numbers of 64 bits whose cells lie apart, such as those of a frame that was made from one array
// of rows. Column after column, each would read all of that array from memory; so all are copied together,
// block by block, while a block is in the cache. Measured, fits of 581,012 rows x 11: 0.19 s instead of 0.28.
class ScatteredColumn {
 public:
  // Whether the column is one.
  static bool is_one(const py::array& array, const Wanted& wanted) {
    const char kind = array.dtype().kind();
    return wanted.as_it_is() && array.itemsize() == 8 && (kind == 'f' || kind == 'i' || kind == 'u') &&
           array.ndim() == 1 && array.shape(0) > 1 && array.strides(0) != array.itemsize();
  }
  ScatteredColumn(std::size_t place, py::array array, Wanted wanted)
      : place_(place), array_(std::move(array)), wanted_(std::move(wanted)) {
    numbers_.reserve(rows_of(array_));
  }

  void add(std::size_t first, std::size_t count) {
    switch (array_.dtype().kind()) {
      case 'f':
        return add<double>(first, count);
      case 'i':
        return add<std::int64_t>(first, count);
      default:
        return add<std::uint64_t>(first, count);
    }
  }
  [[nodiscard]] std::size_t place() const noexcept { return place_; }  // among the columns
  [[nodiscard]] Column take() && {
    if (odd_ != 0) return column_of_array(array_, wanted_);  // refuses a cell, with its place
    return {wanted_.name, std::move(numbers_)};
  }

  static constexpr std::size_t block_rows = 512;

 private:
  template <class T>
  void add(std::size_t first, std::size_t count) {
    const Cells<T> cells(array_);
    std::array<double, block_rows> block;
    for (std::size_t i = 0; i < count; ++i) {
      const T value = cells[first + i];
      odd_ |= oddness(value);
      block[i] = static_cast<double>(value);
    }
    numbers_.insert(numbers_.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  }

  std::size_t place_;
  py::array array_;
  Wanted wanted_;
  Numbers numbers_;
  std::uint64_t odd_ = 0;
};

// Columns of an object of mlo._data, which are asked for when the formula wants them.
class FrameReader final : public Reader {
 public:
  FrameReader(py::object frame, const ReadOptions& options)
      : frame_(std::move(frame)),
        options_(options),
        source_{.name = frame_.attr("name").cast<std::string>()},
        header_(frame_.attr("header").cast<std::vector<std::string>>()),
        rows_(frame_.attr("rows").cast<std::size_t>()) {}

  [[nodiscard]] const std::vector<std::string>& header() const noexcept override { return header_; }
  [[nodiscard]] std::uint64_t fingerprint() const noexcept override { return fingerprint_; }

 private:
  [[nodiscard]] Table read_columns(std::span<const std::string> wanted, const Progress& progress) override {
    Table table{.source = source_, .columns = {}, .rows = rows_};
    {
      const py::gil_scoped_acquire gil;
      std::vector<ScatteredColumn> scattered;
      for (const std::string& name : wanted) {
        table.columns.push_back(column(name, table.columns.size(), scattered));
        if (progress) {
          const py::gil_scoped_release release;
          progress(static_cast<double>(table.columns.size()) / static_cast<double>(wanted.size()));
        }
      }
      for (std::size_t first = 0; first < rows_; first += ScatteredColumn::block_rows)
        for (ScatteredColumn& its : scattered)
          its.add(first, std::min(ScatteredColumn::block_rows, rows_ - first));
      for (ScatteredColumn& its : scattered) {
        Column& column = table.columns[its.place()];
        column = std::move(its).take();
      }
    }
    TableReader reader(std::move(table));
    Table out = reader.read(wanted);
    fingerprint_ = reader.fingerprint();
    return out;
  }

  // An empty column if its cells are read later, with those of others.
  [[nodiscard]] Column column(const std::string& name, std::size_t place,
                              std::vector<ScatteredColumn>& scattered) const {
    const Wanted wanted{name, &source_, asked_type(options_, name), asked_na(options_)};
    const py::object cells = frame_.attr("column")(position_in(header_, name, source_.name));
    if (!py::isinstance<py::tuple>(cells)) {
      const auto array = cells.cast<py::array>();
      if (!ScatteredColumn::is_one(array, wanted)) return column_of_array(array, wanted);
      scattered.emplace_back(place, array, wanted);
      return {name, Numbers()};
    }
    const auto parts = cells.cast<py::tuple>();
    const auto kind = parts[0].cast<std::string>();
    if (kind == "factor") return column_of_codes(py::make_tuple(parts[1], parts[2]), wanted);
    return column_of_times(parts[1].cast<py::array>(), kind == "days", wanted);
  }

  py::object frame_;
  ReadOptions options_;
  Source source_;
  std::vector<std::string> header_;
  std::size_t rows_;
  std::uint64_t fingerprint_ = 0;
};

void check_types(const Reader& reader, const ReadOptions& options) {
  for (const auto& [column, type] : options.types)
    if (std::find(reader.header().begin(), reader.header().end(), column) == reader.header().end())
      throw UsageError(fmt::format("`type`: there is no column {} in the data", csv::quoted(column)));
}

}  // namespace

FitData data_of(const py::object& data, const ReadOptions& options, AllTypes all) {
  FitData out;
  if (py::isinstance<py::list>(data)) {
    out.names = data.cast<std::vector<std::string>>();
    return out;
  }
  const auto name = data.attr("name").cast<std::string>();
  out.names = {name};
  if (py::hasattr(data, "stream")) {
    const auto capsule = data.attr("stream")().cast<py::capsule>();
    auto* const stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (stream == nullptr) throw py::error_already_set();
    out.reader = std::make_unique<ArrowReader>(stream, name, options);
  } else {
    out.reader = std::make_unique<FrameReader>(data, options);
  }
  if (all == AllTypes::yes) check_types(*out.reader, options);
  return out;
}

}  // namespace mlo::python
