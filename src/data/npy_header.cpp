// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>

#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::npy {
namespace {

// The little of Python's syntax that NumPy writes: strings, True and False, tuples of integers, lists of
// tuples. Each function reads one thing and moves on.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        types(header);
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = integers();
      } else {
        fail(fmt::format("the key {} is unknown or given twice", csv::quoted(key)));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("there is text after the dictionary");
    if (!descr || !order || !shape) fail("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(file_, fmt::format("not a .npy file that NumPy has written: {}, at byte {} of its header",
                                       what, at_));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("a {} is missing", c));
  }
  [[nodiscard]] bool next_is(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }

  std::string string() {
    const char mark = next_is('"') ? '"' : '\'';
    expect(mark);
    std::string out;
    for (; at_ < text_.size() && text_[at_] != mark; ++at_) {
      if (text_[at_] == '\\') fail("a backslash in a name");
      out += text_[at_];
    }
    expect(mark);
    return out;
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    fail("True or False is missing");
  }

  std::vector<std::uint64_t> integers() {
    constexpr std::size_t most = 32;  // dimensions that NumPy allows
    std::vector<std::uint64_t> out;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || out.size() == most) fail("the shape is not a list of sizes");
      at_ = static_cast<std::size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      out.push_back(value);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  void types(Header& header) {
    if (!next_is('[')) {
      header.fields.push_back(field("", string()));
      return;
    }
    header.records = true;
    expect('[');
    while (!take(']')) {
      expect('(');
      if (next_is('(')) refuse("a field with a title");
      std::string name = string();
      expect(',');
      if (next_is('[')) refuse("records within records");
      const std::string type = string();
      if (take(',') && !next_is(')')) refuse("a field of several values");
      expect(')');
      header.fields.push_back(field(std::move(name), type));
      if (!take(',')) {
        expect(']');
        break;
      }
    }
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(file_,
                    what + " cannot be read: save an array of numbers, or records of them, with numpy.save");
  }

  Field field(std::string name, const std::string& type) const {
    Field out{.name = std::move(name)};
    const auto of_field = [&] {
      return out.name.empty() ? "" : fmt::format(" (field {})", csv::quoted(out.name));
    };
    const char order = type.empty() ? ' ' : type.front();
    out.kind = type.size() < 3 ? ' ' : type[1];
    const std::string_view size = type.size() < 3 ? std::string_view() : std::string_view(type).substr(2);
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), out.bytes);
    const bool whole = error == std::errc() && end == size.data() + size.size();
    if (whole && order == '|' && out.kind == 'V' && out.name.empty() && out.bytes < (1U << 20U)) return out;
    const auto has = [&](std::initializer_list<std::size_t> sizes) {
      return std::find(sizes.begin(), sizes.end(), out.bytes) != sizes.end();
    };
    const bool known = whole && ((out.kind == 'f' && has({4, 8})) || (out.kind == 'b' && out.bytes == 1) ||
                                 ((out.kind == 'i' || out.kind == 'u') && has({1, 2, 4, 8})));
    if (!known) {
      const char* const what = out.kind == 'O'   ? "Python objects"
                               : out.kind == 'U' ? "text"
                               : out.kind == 'S' ? "text"
                               : out.kind == 'c' ? "complex numbers"
                               : out.kind == 'M' ? "dates"
                                                 : "this type";
      refuse(fmt::format("dtype {}{}: {}", csv::quoted(type), of_field(), what));
    }
    if (order != '<' && (order != '|' || out.bytes > 1))
      refuse(fmt::format("dtype {}{}: big-endian numbers", csv::quoted(type), of_field()));
    return out;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace

Header parse_header(std::string_view dictionary, const std::string& file) {
  return HeaderParser(dictionary, file).parse();
}

}  // namespace mlo::npy
