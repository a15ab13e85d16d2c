// Copyright (c) the mlo authors. BSD-3-Clause.
// A Pratt parser with R's precedences. It knows syntax only; the code that uses the tree decides what +
// means.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "data/formula_syntax.hpp"

namespace mlo::syntax {
namespace {

using Kind = Expression::Kind;

struct Operator {
  std::string_view symbol;
  int power;  // a higher power binds tighter
  bool right = false;
};

constexpr int not_power = 3;
constexpr int comparison_power = 4;
constexpr int percent_power = 7;
constexpr int minus_power = 9;  // the unary minus: -x^2 is -(x^2), -a:b is (-a):b

constexpr std::array<Operator, 15> operators = {{{"|", 1},
                                                 {"||", 1},
                                                 {"&", 2},
                                                 {"==", comparison_power},
                                                 {"!=", comparison_power},
                                                 {"<", comparison_power},
                                                 {"<=", comparison_power},
                                                 {">", comparison_power},
                                                 {">=", comparison_power},
                                                 {"+", 5},
                                                 {"-", 5},
                                                 {"*", 6},
                                                 {"/", 6},
                                                 {":", 8},
                                                 {"^", 10, true}}};

// Signs that R or other languages have and we do not, with what to write instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> mistaken = {{
    {"=", "'=' compares nothing; write '=='"},
    {"&&", "write '&' instead of '&&'"},
    {"**", "write '^' instead of '**'"},
}};

// Each level of parentheses, call, sign or ^ is a level of recursion here.
constexpr int max_depth = 200;

class Parser {
 public:
  Parser(std::string_view formula, std::span<const Token> tokens, Side side)
      : formula_(formula), tokens_(tokens), side_(side) {}

  Expression run() {
    Expression expression = parse(0);
    if (!at_end()) refuse_operand();
    return expression;
  }

 private:
  [[nodiscard]] const Token& peek() const { return tokens_[at_]; }
  [[nodiscard]] bool is(std::string_view symbol) const {
    return peek().kind == Token::Kind::symbol && peek().text == symbol;
  }
  [[nodiscard]] bool at_end() const { return peek().kind == Token::Kind::end || is("~"); }
  const Token& take() { return tokens_[at_++]; }

  // An operand, then operators that bind at least as tight as `power`, each with its right operand.
  Expression parse(int power) {
    if (++depth_ > max_depth)
      fail(formula_, peek().position, fmt::format("more than {} levels deep", max_depth));
    // A leading + changes nothing: programs that paste formulas together write "y ~ + x1 + x2".
    if (power == 0 && is("+")) take();
    Expression left = parse_operand();
    while (const auto operation = peek_operator()) {
      if (operation->power < power) break;
      const Token& symbol = take();
      Expression right = parse(operation->right ? operation->power : operation->power + 1);
      left = node(Kind::binary, symbol, std::move(left), std::move(right));
      if (operation->power == comparison_power) refuse_chained_comparison();
    }
    --depth_;
    return left;
  }

  // The operator that comes next, or null if the next token is not one. All %...% operators share one entry.
  [[nodiscard]] const Operator* peek_operator() const {
    static constexpr Operator percent{"%%", percent_power};
    if (peek().kind != Token::Kind::symbol) return nullptr;
    if (peek().text.front() == '%') return &percent;
    const auto* const found = std::find_if(operators.begin(), operators.end(), [&](const Operator& entry) {
      return entry.symbol == peek().text;
    });
    return found == operators.end() ? nullptr : found;
  }

  Expression parse_operand() {
    const Token& token = peek();
    switch (token.kind) {
      case Token::Kind::number:
        take();
        return {.kind = Kind::number, .position = token.position, .number = token.number};
      case Token::Kind::text:
        take();
        return {.kind = Kind::text, .position = token.position, .name = token.text};
      case Token::Kind::quoted_name:
        take();
        return {.kind = Kind::name, .position = token.position, .name = token.text};
      case Token::Kind::name:
        take();
        if (is("(")) return parse_call(token);
        if (token.text == "TRUE" || token.text == "FALSE")
          return {.kind = Kind::logical,
                  .position = token.position,
                  .number = static_cast<double>(token.text == "TRUE")};
        if (token.text == "Inf")
          return {.kind = Kind::number,
                  .position = token.position,
                  .number = std::numeric_limits<double>::infinity()};
        return {.kind = token.text == "." ? Kind::dot : Kind::name,
                .position = token.position,
                .name = token.text};
      case Token::Kind::symbol:
        if (is("-")) return parse_sign(minus_power);
        if (is("!")) return parse_sign(not_power);
        if (is("(")) return parse_group();
        break;
      case Token::Kind::end:
        break;
    }
    refuse_mistaken();
    if (at_ == 0 && is(")")) fail(formula_, token.position, "')' without '('");
    const std::string_view wanted = side_ == Side::terms && calls_ == 0 ? "a term" : "a value";
    if (at_ > 0) {
      fail(formula_, token.position, fmt::format("expected {} after '{}'", wanted, tokens_[at_ - 1].text));
    }
    fail(formula_, token.position, fmt::format("expected {} before '{}'", wanted, token.text));
  }

  Expression parse_sign(int power) {
    const Token& sign = take();
    return node(Kind::unary, sign, parse(power));
  }

  Expression parse_group() {
    const Token& open = take();
    Expression inside = parse(0);
    close(open);
    return node(Kind::group, open, std::move(inside));
  }

  Expression parse_call(const Token& name) {
    const Token& open = take();
    if (find_function(name.text) == nullptr) fail(formula_, name.position, unknown_function(name.text));
    Expression call{.kind = Kind::call, .position = name.position, .name = name.text};
    ++calls_;
    if (!is(")")) {
      parse_argument(call);
      while (is(",")) {
        take();
        parse_argument(call);
      }
    }
    close(open);
    --calls_;
    if (const std::string wrong = wrong_arguments(call); !wrong.empty()) fail(formula_, name.position, wrong);
    return call;
  }

  // "df = 5", or a value without a label.
  void parse_argument(Expression& call) {
    const Token& next = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
    const bool labelled =
        peek().kind == Token::Kind::name && next.kind == Token::Kind::symbol && next.text == "=";
    call.labels.push_back(labelled ? peek().text : "");
    if (labelled) at_ += 2;
    call.arguments.push_back(parse(0));
    // The name of a contrast is not the name of a column.
    Expression& value = call.arguments.back();
    if (value.kind == Kind::name && call.name == "C" && call.arguments.size() > 1) value.kind = Kind::word;
  }

  void close(const Token& open) {
    if (is(")")) {
      take();
      return;
    }
    if (at_end()) fail(formula_, open.position, "'(' is not closed");
    refuse_operand();
  }

  // After a complete operand there can only be an operator.
  [[noreturn]] void refuse_operand() const {
    refuse_mistaken();
    if (is(")")) fail(formula_, peek().position, "')' without '('");
    if (is(",")) fail(formula_, peek().position, "',' outside a function call");
    std::string what = fmt::format("expected an operator before '{}'", peek().text);
    if (at_ > 0 && peek().kind == Token::Kind::name && tokens_[at_ - 1].kind == Token::Kind::name)
      what += fmt::format("; a name with a blank is written in backquotes, `{} {}`", tokens_[at_ - 1].text,
                          peek().text);
    fail(formula_, peek().position, what);
  }

  void refuse_mistaken() const {
    for (const auto& [symbol, advice] : mistaken) {
      if (is(symbol)) fail(formula_, peek().position, std::string(advice));
    }
  }

  void refuse_chained_comparison() const {
    const Operator* const next = peek_operator();
    if (next != nullptr && next->power == comparison_power) {
      fail(formula_, peek().position, "comparisons cannot be chained; write (a < b) & (b < c)");
    }
  }

  template <class... Arguments>
  static Expression node(Kind kind, const Token& symbol, Arguments... arguments) {
    Expression result{.kind = kind, .position = symbol.position};
    if (kind != Kind::group) result.name = symbol.text;
    result.arguments.reserve(sizeof...(arguments));
    (result.arguments.push_back(std::move(arguments)), ...);
    return result;
  }

  std::string_view formula_;
  std::span<const Token> tokens_;
  Side side_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int calls_ = 0;
};

}  // namespace

Expression parse_side(std::string_view formula, std::span<const Token> tokens, Side side) {
  return Parser(formula, tokens, side).run();
}

}  // namespace mlo::syntax
