#include "formats/text/jinja/expression_parser.hpp"

#include "formats/text/jinja/conversions.hpp"

#include <cogen/text/chat_template.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace cogen::text::jinja {
namespace {

constexpr std::size_t deepest_nesting = 100;
constexpr std::size_t highest_expression = 200;

using named_comparison = std::pair<std::string_view, comparison>;
constexpr std::array<named_comparison, 6> comparisons{{{"==", comparison::equal},
                                                       {"!=", comparison::unequal},
                                                       {"<", comparison::less},
                                                       {"<=", comparison::less_or_equal},
                                                       {">", comparison::greater},
                                                       {">=", comparison::greater_or_equal}}};

/// Of a number such as 0x1F.
int number_base(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

// Levels of the highest of these parts.

template <typename T>
std::size_t height_of(const T&) {
  return 0;
}

std::size_t height_of(const expression_ptr& part) { return part ? part->height : 0; }

template <typename First, typename Second>
std::size_t height_of(const std::pair<First, Second>& parts) {
  return std::max(height_of(parts.first), height_of(parts.second));
}

template <typename T>
std::size_t height_of(const std::vector<T>& parts) {
  std::size_t highest = 0;
  for (const auto& part : parts) highest = std::max(highest, height_of(part));
  return highest;
}

std::size_t height_of(const argument_list_ptr& given) {
  if (!given) return 0;
  return std::max({height_of(given->positional), height_of(given->named), height_of(given->more_positional),
                   height_of(given->more_named)});
}

}  // namespace

expression_parser::nesting::nesting(expression_parser& parser) : parser_(&parser) {
  if (parser.depth_ >= deepest_nesting) {
    throw template_error("nests deeper than the limit of " + std::to_string(deepest_nesting), parser.lexemes_.line());
  }
  ++parser.depth_;
}

template <typename Node, typename... Parts>
expression_ptr expression_parser::make(std::size_t line, Parts&&... parts) const {
  auto height = 1 + std::max({height_of(parts)...});
  if (height > highest_expression) {
    throw template_error("an expression has more than " + std::to_string(highest_expression) + " levels", line);
  }
  return std::make_unique<expression>(expression{static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(height),
                                                 Node{std::forward<Parts>(parts)...}});
}

expression_ptr expression_parser::parse(bool with_condition) {
  nesting one_deeper(*this);
  return with_condition ? parse_conditional() : parse_or();
}

bool expression_parser::is_tuple_end() const {
  return lexemes_.is(lexeme_kind::output_end) || lexemes_.is(lexeme_kind::statement_end) || lexemes_.is_symbol(")");
}

expression_ptr expression_parser::parse_tuple(bool with_condition) {
  auto line = lexemes_.line();
  auto first = parse(with_condition);
  if (!lexemes_.is_symbol(",")) return first;
  std::vector<expression_ptr> items;
  items.push_back(std::move(first));
  while (lexemes_.take_symbol(",") && !is_tuple_end()) items.push_back(parse(with_condition));
  return make<list_literal>(line, std::move(items), true);
}

expression_ptr expression_parser::parse_conditional() {
  auto line = lexemes_.line();
  auto then = parse_or();
  while (lexemes_.take_name("if")) {
    auto condition = parse_or();
    auto otherwise = lexemes_.take_name("else") ? parse() : nullptr;
    then = make<conditional>(line, std::move(then), std::move(condition), std::move(otherwise));
  }
  return then;
}

expression_ptr expression_parser::parse_or() {
  auto line = lexemes_.line();
  auto left = parse_and();
  while (lexemes_.take_name("or")) left = make<connective>(line, false, std::move(left), parse_and());
  return left;
}

expression_ptr expression_parser::parse_and() {
  auto line = lexemes_.line();
  auto left = parse_not();
  while (lexemes_.take_name("and")) left = make<connective>(line, true, std::move(left), parse_not());
  return left;
}

expression_ptr expression_parser::parse_not() {
  auto line = lexemes_.line();
  if (!lexemes_.take_name("not")) return parse_comparison();
  nesting one_deeper(*this);
  return make<negation>(line, negation::kind::logical, parse_not());
}

std::optional<comparison> expression_parser::take_comparison() {
  for (const auto& [symbol, operation] : comparisons) {
    if (lexemes_.take_symbol(symbol)) return operation;
  }
  if (lexemes_.take_name("in")) return comparison::in;
  if (!lexemes_.is_name("not") || lexemes_.after().kind != lexeme_kind::name || lexemes_.after().text != "in")
    return std::nullopt;
  lexemes_.take();
  lexemes_.take();
  return comparison::not_in;
}

expression_ptr expression_parser::parse_comparison() {
  auto line = lexemes_.line();
  auto first = parse_sum();
  std::vector<std::pair<comparison, expression_ptr>> links;
  while (auto operation = take_comparison()) links.emplace_back(*operation, parse_sum());
  if (links.empty()) return first;
  return make<comparison_chain>(line, std::move(first), std::move(links));
}

expression_ptr expression_parser::parse_sum() {
  auto line = lexemes_.line();
  auto left = parse_concatenation();
  while (lexemes_.is_symbol("+") || lexemes_.is_symbol("-")) {
    auto operation = lexemes_.take().text == "+" ? arithmetic::add : arithmetic::subtract;
    left = make<calculation>(line, operation, std::move(left), parse_concatenation());
  }
  return left;
}

expression_ptr expression_parser::parse_concatenation() {
  auto line = lexemes_.line();
  std::vector<expression_ptr> parts;
  parts.push_back(parse_product());
  while (lexemes_.take_symbol("~")) parts.push_back(parse_product());
  if (parts.size() == 1) return std::move(parts.front());
  return make<concatenation>(line, std::move(parts));
}

expression_ptr expression_parser::parse_product() {
  auto line = lexemes_.line();
  auto left = parse_power();
  while (true) {
    arithmetic operation{};
    if (lexemes_.take_symbol("*")) {
      operation = arithmetic::multiply;
    } else if (lexemes_.take_symbol("/")) {
      operation = arithmetic::divide;
    } else if (lexemes_.take_symbol("//")) {
      operation = arithmetic::floor_divide;
    } else if (lexemes_.take_symbol("%")) {
      operation = arithmetic::modulo;
    } else {
      return left;
    }
    left = make<calculation>(line, operation, std::move(left), parse_power());
  }
}

expression_ptr expression_parser::parse_power() {
  auto line = lexemes_.line();
  auto left = parse_unary();
  while (lexemes_.take_symbol("**")) left = make<calculation>(line, arithmetic::power, std::move(left), parse_unary());
  return left;
}

expression_ptr expression_parser::parse_unary(bool with_filters) {
  auto line = lexemes_.line();
  nesting one_deeper(*this);
  expression_ptr part;
  if (lexemes_.take_symbol("-")) {
    part = make<negation>(line, negation::kind::minus, parse_unary(false));
  } else if (lexemes_.take_symbol("+")) {
    part = make<negation>(line, negation::kind::plus, parse_unary(false));
  } else {
    part = parse_primary();
  }
  part = parse_postfix(std::move(part));
  return with_filters ? parse_filters(std::move(part)) : std::move(part);
}

expression_ptr expression_parser::parse_primary() {
  switch (lexemes_.now().kind) {
    case lexeme_kind::name:
      return parse_name();
    case lexeme_kind::string:
      return parse_string();
    case lexeme_kind::integer:
    case lexeme_kind::real:
      return parse_number();
    default:
      break;
  }
  if (lexemes_.is_symbol("(")) return parse_parentheses();
  if (lexemes_.is_symbol("[")) return parse_list();
  if (lexemes_.is_symbol("{")) return parse_dictionary();
  lexemes_.refuse("an expression");
}

expression_ptr expression_parser::parse_name() {
  auto name = lexemes_.take();
  if (name.text == "true" || name.text == "True") return make<constant>(name.line, true);
  if (name.text == "false" || name.text == "False") return make<constant>(name.line, false);
  if (name.text == "none" || name.text == "None") return make<constant>(name.line, none{});
  named.caller |= name.text == "caller";
  named.varargs |= name.text == "varargs";
  named.kwargs |= name.text == "kwargs";
  return make<variable>(name.line, std::move(name.text));
}

expression_ptr expression_parser::parse_string() {
  auto line = lexemes_.line();
  std::string text;
  while (lexemes_.is(lexeme_kind::string)) text += lexemes_.take().text;
  return make<constant>(line, trusted_text(std::move(text)));
}

expression_ptr expression_parser::parse_number() {
  auto number = lexemes_.take();
  const auto& text = number.text;
  const auto refuse = [&] { throw template_error("the number " + text + " is too large", number.line); };
  if (number.kind == lexeme_kind::real) {
    const auto real = parsed_double(text);
    if (!real || !std::isfinite(*real)) refuse();
    return make<constant>(number.line, value(*real));
  }
  std::int64_t integer = 0;
  auto base = number_base(text);
  auto* digits = text.data() + (base == 10 ? 0 : 2);
  auto result = std::from_chars(digits, text.data() + text.size(), integer, base);
  if (result.ec != std::errc{}) refuse();
  return make<constant>(number.line, value(integer));
}

expression_ptr expression_parser::parse_parentheses() {
  auto line = lexemes_.take().line;
  if (lexemes_.take_symbol(")")) return make<list_literal>(line, std::vector<expression_ptr>(), true);
  auto inner = parse_tuple();
  lexemes_.expect_symbol(")");
  return inner;
}

expression_ptr expression_parser::parse_list() {
  auto line = lexemes_.take().line;
  std::vector<expression_ptr> items;
  while (!lexemes_.is_symbol("]")) {
    items.push_back(parse());
    if (!lexemes_.is_symbol("]")) lexemes_.expect_symbol(",");
  }
  lexemes_.take();
  return make<list_literal>(line, std::move(items), false);
}

expression_ptr expression_parser::parse_dictionary() {
  auto line = lexemes_.take().line;
  std::vector<std::pair<expression_ptr, expression_ptr>> items;
  while (!lexemes_.is_symbol("}")) {
    auto key = parse();
    lexemes_.expect_symbol(":");
    items.emplace_back(std::move(key), parse());
    if (!lexemes_.is_symbol("}")) lexemes_.expect_symbol(",");
  }
  lexemes_.take();
  return make<dictionary_literal>(line, std::move(items));
}

expression_ptr expression_parser::parse_postfix(expression_ptr object) {
  while (true) {
    if (lexemes_.is_symbol(".")) {
      object = parse_member(std::move(object));
    } else if (lexemes_.is_symbol("[")) {
      object = parse_subscript(std::move(object));
    } else if (lexemes_.is_symbol("(")) {
      object = parse_call(std::move(object));
    } else {
      return object;
    }
  }
}

expression_ptr expression_parser::parse_member(expression_ptr object) {
  auto line = lexemes_.take().line;
  if (lexemes_.is(lexeme_kind::integer)) return make<subscript>(line, std::move(object), parse_number());
  auto name = lexemes_.expect(lexeme_kind::name, "a name").text;
  return make<attribute>(line, std::move(object), std::move(name));
}

expression_ptr expression_parser::parse_subscript(expression_ptr object) {
  auto line = lexemes_.take().line;
  auto first = lexemes_.is_symbol(":") ? nullptr : parse();
  if (lexemes_.is_symbol(":")) return parse_slice(std::move(object), std::move(first), line);
  if (lexemes_.is_symbol(",")) {
    std::vector<expression_ptr> keys;
    keys.push_back(std::move(first));
    while (lexemes_.take_symbol(",") && !lexemes_.is_symbol("]")) keys.push_back(parse());
    first = make<list_literal>(line, std::move(keys), true);
  }
  lexemes_.expect_symbol("]");
  return make<subscript>(line, std::move(object), std::move(first));
}

expression_ptr expression_parser::parse_slice(expression_ptr object, expression_ptr begin, std::size_t line) {
  auto bound = [this] { return lexemes_.is_symbol(":") || lexemes_.is_symbol("]") ? nullptr : parse(); };
  lexemes_.expect_symbol(":");
  auto end = bound();
  auto step = lexemes_.take_symbol(":") ? bound() : nullptr;
  lexemes_.expect_symbol("]");
  return make<slice>(line, std::move(object), std::move(begin), std::move(end), std::move(step));
}

expression_ptr expression_parser::parse_call(expression_ptr callee) {
  auto line = lexemes_.line();
  auto* method = std::get_if<attribute>(&callee->node);
  if (!method) return make<call>(line, std::move(callee), std::string(), parse_arguments());
  return make<call>(line, std::move(method->object), std::move(method->name), parse_arguments());
}

argument_list_ptr expression_parser::parse_arguments() {
  lexemes_.expect_symbol("(");
  if (lexemes_.take_symbol(")")) return nullptr;
  auto given = std::make_unique<argument_list>();
  while (!lexemes_.is_symbol(")")) {
    bool is_named =
        lexemes_.is(lexeme_kind::name) && lexemes_.after().kind == lexeme_kind::symbol && lexemes_.after().text == "=";
    if (given->more_named) lexemes_.refuse("')' after the argument unpacked by '**'");
    if (lexemes_.take_symbol("**")) {
      given->more_named = parse();
    } else if (is_named) {
      auto name = lexemes_.take().text;
      lexemes_.take();
      given->named.emplace_back(std::move(name), parse());
    } else if (given->more_positional) {
      lexemes_.refuse("a named argument");
    } else if (lexemes_.take_symbol("*")) {
      given->more_positional = parse();
    } else {
      if (!given->named.empty()) lexemes_.refuse("a named argument");
      given->positional.push_back(parse());
    }
    if (!lexemes_.is_symbol(")")) lexemes_.expect_symbol(",");
  }
  lexemes_.take();
  return given;
}

expression_ptr expression_parser::parse_filters(expression_ptr input) {
  while (true) {
    if (lexemes_.take_symbol("|")) {
      input = parse_filter(std::move(input));
    } else if (lexemes_.is_name("is")) {
      input = parse_test(std::move(input));
    } else if (lexemes_.is_symbol("(")) {
      input = parse_call(std::move(input));
    } else {
      return input;
    }
  }
}

std::string expression_parser::parse_dotted_name(std::string_view description) {
  auto name = lexemes_.expect(lexeme_kind::name, description).text;
  while (lexemes_.take_symbol(".")) name += "." + lexemes_.expect(lexeme_kind::name, description).text;
  return name;
}

expression_ptr expression_parser::parse_filter(expression_ptr input) {
  auto line = lexemes_.line();
  auto name = parse_dotted_name("the name of a filter");
  auto given = lexemes_.is_symbol("(") ? parse_arguments() : nullptr;
  return make<filtered>(line, std::move(input), std::move(name), std::move(given));
}

bool expression_parser::is_argument_of_test() const {
  if (lexemes_.is(lexeme_kind::name))
    return !lexemes_.is_name("else") && !lexemes_.is_name("or") && !lexemes_.is_name("and");
  return lexemes_.is(lexeme_kind::string) || lexemes_.is(lexeme_kind::integer) || lexemes_.is(lexeme_kind::real) ||
         lexemes_.is_symbol("[") || lexemes_.is_symbol("{");
}

expression_ptr expression_parser::parse_test(expression_ptr input) {
  auto line = lexemes_.take().line;
  bool is_negated = lexemes_.take_name("not");
  auto name = parse_dotted_name("the name of a test");
  argument_list_ptr given;
  if (lexemes_.is_symbol("(")) {
    given = parse_arguments();
  } else if (lexemes_.is_name("is")) {
    lexemes_.refuse("no second test without parentheses");
  } else if (is_argument_of_test()) {
    auto argument = std::make_unique<argument_list>();
    argument->positional.push_back(parse_postfix(parse_primary()));
    given = std::move(argument);
  }
  auto result = make<tested>(line, std::move(input), std::move(name), std::move(given));
  return is_negated ? make<negation>(line, negation::kind::logical, std::move(result)) : std::move(result);
}

}  // namespace cogen::text::jinja
