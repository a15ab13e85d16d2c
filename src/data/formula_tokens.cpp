// Copyright (c) the mlo authors. BSD-3-Clause.
// The words and signs of a formula, and the message that points at one of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "data/formula_syntax.hpp"
#include "mlo/base/errors.hpp"

namespace mlo::syntax {
namespace {

// The depth of a tree is at most half the number of tokens: with this limit, no recursion over it can exhaust
// the stack.
constexpr std::size_t max_tokens = 10'000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }  // UTF-8

// The longest first. The last ones have no meaning here, but get a better message than "unexpected".
constexpr std::array<std::string_view, 23> symbols = {"==", "!=", "<=", ">=", "&&", "||", "**", "+",
                                                      "-",  "*",  "/",  "^",  ":",  "~",  "(",  ")",
                                                      ",",  "<",  ">",  "!",  "&",  "|",  "="};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view formula) : formula_(formula) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < formula_.size() && is_space(formula_[at_])) ++at_;
      if (tokens.size() == max_tokens) {
        fail(formula_, at_, fmt::format("more than {} words and signs", max_tokens));
      }
      tokens.push_back(next());
      if (tokens.back().kind == Token::Kind::end) return tokens;
    }
  }

 private:
  Token next() {
    if (at_ == formula_.size()) return {.kind = Token::Kind::end, .position = at_};
    const char c = formula_[at_];
    const bool digit_follows = at_ + 1 < formula_.size() && is_digit(formula_[at_ + 1]);
    if (is_digit(c) || (c == '.' && digit_follows)) return number();
    if (is_name_start(c)) return name();
    if (c == '`') return quoted(Token::Kind::quoted_name);
    if (c == '"' || c == '\'') return quoted(Token::Kind::text);
    if (c == '%') return percent_operator();
    for (const std::string_view symbol : symbols) {
      if (formula_.substr(at_, symbol.size()) == symbol) return take(Token::Kind::symbol, symbol.size());
    }
    if (c == '_') fail(formula_, at_, "unexpected '_'; a name that begins with it is written in backquotes");
    if (c > ' ' && c < 0x7F) fail(formula_, at_, fmt::format("unexpected '{}'", c));
    fail(formula_, at_, fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c)));
  }

  Token take(Token::Kind kind, std::size_t size) {
    Token token{.kind = kind, .position = at_, .text = std::string(formula_.substr(at_, size))};
    at_ += size;
    return token;
  }

  Token number() {
    double value = 0;
    const char* const first = formula_.data() + at_;
    const auto [last, error] = std::from_chars(first, formula_.data() + formula_.size(), value);
    Token token = take(Token::Kind::number, static_cast<std::size_t>(last - first));
    if (error == std::errc::result_out_of_range) {
      fail(formula_, token.position, fmt::format("the number {} is out of range", token.text));
    }
    token.number = value;
    return token;
  }

  Token name() {
    std::size_t size = 1;
    while (at_ + size < formula_.size() && is_name_part(formula_[at_ + size])) ++size;
    return take(Token::Kind::name, size);
  }

  Token quoted(Token::Kind kind) {
    const char quote = formula_[at_];
    Token token{.kind = kind, .position = at_};
    for (++at_; at_ < formula_.size() && formula_[at_] != quote; ++at_) {
      if (formula_[at_] == '\\' && at_ + 1 < formula_.size()) ++at_;
      token.text += formula_[at_];
    }
    if (at_ == formula_.size()) fail(formula_, token.position, fmt::format("{} is not closed", quote));
    ++at_;
    return token;
  }

  Token percent_operator() {
    const std::size_t end = formula_.find('%', at_ + 1);
    if (end == std::string_view::npos) fail(formula_, at_, "unexpected '%'");
    return take(Token::Kind::symbol, end + 1 - at_);
  }

  std::string_view formula_;
  std::size_t at_ = 0;
};

}  // namespace

void fail(std::string_view formula, std::size_t position, const std::string& what) {
  // Positions count characters, not bytes, so that the caret stands under the character in a terminal.
  std::vector<std::string> characters;
  std::size_t caret = 0;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    if (!starts_character(formula[i]) && !characters.empty()) {
      characters.back() += formula[i];
      continue;
    }
    if (i <= position) caret = characters.size();
    const bool control = static_cast<unsigned char>(formula[i]) < ' ' || formula[i] == 0x7F;
    characters.emplace_back(1, control ? ' ' : formula[i]);
  }
  if (position >= formula.size()) caret = characters.size();

  // A long formula is shown around the caret only.
  constexpr std::size_t before = 60;
  constexpr std::size_t after = 40;
  const std::size_t first = caret > before && characters.size() > before + after ? caret - before : 0;
  const std::size_t last = std::min(characters.size(), std::max(caret, before) + after);
  std::string line = first > 0 ? "..." : "";
  const std::size_t indent = line.size() + caret - first;
  for (std::size_t i = first; i < last; ++i) line += characters[i];
  if (last < characters.size()) line += "...";
  throw UsageError(
      fmt::format("formula: {} (position {})\n  {}\n  {}^", what, caret + 1, line, std::string(indent, ' ')));
}

std::vector<Token> tokenize(std::string_view formula) { return Tokenizer(formula).run(); }

}  // namespace mlo::syntax
