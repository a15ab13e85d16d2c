// Copyright (c) the mlo authors. BSD-3-Clause.
// A JSON value. Only the standard library is included here: the JSON library behind parse() and dump() takes
// seconds to compile in every file that sees it, and is seen by src/base/json.cpp alone.
//   Json json{{"name", "x"}, {"draws", 1000}};
//   json["sd"] = 0.5;
//   const auto draws = json.get<std::uint64_t>("draws");
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mlo {

// Text that is not JSON, or a value that is not what the reader asked for. The message names the member and
// what was found, but no file: whoever knows the file catches this and throws DataError.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Types of whole numbers. Not char, which is text to a reader, nor bool, which has a constructor of its own.
template <class T>
concept JsonWhole = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

struct JsonMember;

class Json {
 public:
  Json() noexcept;  // null
  Json(std::nullptr_t) noexcept : Json() {}
  template <std::same_as<bool> T>  // nothing else, above all no pointer, converts to bool here
  Json(T value) : value_(value) {}
  template <JsonWhole T>
  Json(T value)
      : Json(std::cmp_less(value, 0) ? negative(static_cast<std::int64_t>(value))
                                     : natural(static_cast<std::uint64_t>(value))) {}
  Json(double value);  // JSON has no NaN and no infinity: they become null, here and nowhere else
  Json(std::string value);
  Json(std::string_view value) : Json(std::string(value)) {}
  Json(const char* value) : Json(std::string(value)) {}
  template <std::convertible_to<Json> T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}
  template <std::convertible_to<Json> T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const T& value : values) push_back(value);
  }
  template <std::convertible_to<Json> A, std::convertible_to<Json> B>
  Json(const std::pair<A, B>& pair) : Json(array({pair.first, pair.second})) {}  // an array of two
  Json(std::initializer_list<JsonMember> members);                               // an object

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  [[nodiscard]] static Json object();
  [[nodiscard]] static Json array(std::initializer_list<Json> elements = {});

  // The deepest nesting of arrays and objects: a damaged file must not exhaust the stack.
  static constexpr std::size_t deepest = 256;
  // Throws JsonError. If members have the same name, the last one counts.
  [[nodiscard]] static Json parse(std::string_view text);
  // On one line, or indented by `indent` spaces per level. Bytes that are not UTF-8 become U+FFFD: a name or
  // a message may come from a file in any encoding, and must not make writing fail.
  [[nodiscard]] std::string dump(int indent = -1) const;

  [[nodiscard]] bool is_null() const noexcept;
  [[nodiscard]] bool is_bool() const noexcept;
  [[nodiscard]] bool is_number() const noexcept;
  [[nodiscard]] bool is_string() const noexcept;
  [[nodiscard]] bool is_array() const noexcept;
  [[nodiscard]] bool is_object() const noexcept;

  // The member of that name, made (as null, after the others) if there is none. null becomes an object; any
  // other value must be one already. The reference is valid until the next member is made.
  Json& operator[](std::string_view name);
  // null becomes an array; any other value must be one already.
  void push_back(Json element);

  // nullptr if there is no such member, or this is not an object.
  [[nodiscard]] const Json* find(std::string_view name) const noexcept;
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
  [[nodiscard]] const Json& at(std::string_view name) const;  // throws JsonError
  // In order. Throw JsonError. Not for a temporary: `for (... : Json::parse(text).members())` would iterate
  // over a destroyed value.
  [[nodiscard]] std::span<const JsonMember> members() const&;
  [[nodiscard]] std::span<const Json> elements() const& { return elements_of({}); }
  std::span<const JsonMember> members() const&& = delete;
  std::span<const Json> elements() const&& = delete;

  // bool, whole numbers, double, std::string, std::vector, std::pair and std::optional (null: empty) of them,
  // or Json itself. A whole number must fit T; a double may have been written as a whole number. Throws
  // JsonError.
  template <class T>
  [[nodiscard]] T get() const {
    return read<T>({});
  }
  // The same for a member, which the error names.
  template <class T>
  [[nodiscard]] T get(std::string_view name) const {
    return at(name).read<T>(name);
  }
  // A double that was not finite when it was written is null, and comes back as NaN.
  [[nodiscard]] double number(std::string_view name) const;

  // Numbers compare by value; the order of members counts.
  friend bool operator==(const Json& a, const Json& b);

 private:
  // Each number has one form, so that 5 equals 5 whatever type it came from.
  [[nodiscard]] static Json negative(std::int64_t value);
  [[nodiscard]] static Json natural(std::uint64_t value);

  template <class T>
  struct Type {};
  struct Converter;

  // `name` is the member's, for errors; empty if it is not known.
  template <class T>
  [[nodiscard]] T read(std::string_view name) const {
    return read_as(Type<T>(), name);
  }
  [[nodiscard]] bool read_as(Type<bool>, std::string_view name) const;
  [[nodiscard]] double read_as(Type<double>, std::string_view name) const;
  [[nodiscard]] std::string read_as(Type<std::string>, std::string_view name) const;
  [[nodiscard]] Json read_as(Type<Json>, std::string_view /*name*/) const { return *this; }
  template <JsonWhole T>
  [[nodiscard]] T read_as(Type<T>, std::string_view name) const {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::signed_integral<T>) {
      return static_cast<T>(signed_of(name, Limits::min(), Limits::max()));
    } else {
      return static_cast<T>(unsigned_of(name, Limits::max()));
    }
  }
  template <class T>
  [[nodiscard]] std::vector<T> read_as(Type<std::vector<T>>, std::string_view name) const {
    std::vector<T> out;
    for (const Json& element : elements_of(name)) out.push_back(element.template read<T>(name));
    return out;
  }
  template <class T>
  [[nodiscard]] std::optional<T> read_as(Type<std::optional<T>>, std::string_view name) const {
    return is_null() ? std::nullopt : std::optional<T>(read<T>(name));
  }
  template <class A, class B>
  [[nodiscard]] std::pair<A, B> read_as(Type<std::pair<A, B>>, std::string_view name) const {
    const std::span<const Json> both = elements_of(name);
    if (both.size() != 2) wrong_type(name, "an array of two");
    return {both[0].template read<A>(name), both[1].template read<B>(name)};
  }
  [[nodiscard]] std::int64_t signed_of(std::string_view name, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] std::uint64_t unsigned_of(std::string_view name, std::uint64_t most) const;
  [[nodiscard]] std::span<const Json> elements_of(std::string_view name) const;
  [[noreturn]] void wrong_type(std::string_view name, std::string_view wanted) const;

  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;
  // Invariants: a whole number is signed only if it is negative; a double is finite.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

struct JsonMember {
  std::string name;
  Json value;

  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

}  // namespace mlo
