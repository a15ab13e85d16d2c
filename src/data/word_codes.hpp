// Copyright (c) the mlo authors. BSD-3-Clause.
// Words to codes, in the order in which the words first appear: how a text column is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/csv_rows.hpp"
#include "data/csv_words.hpp"

namespace mlo {

class WordCodes {
 public:
  static constexpr auto most = static_cast<std::uint32_t>(csv::Rows::max_words);

  // The code of the word. A new word gets the next one; if there are `most` already, the code is `most`.
  [[nodiscard]] std::uint32_t code(std::string_view word) {
    const std::uint32_t hash = csv::hash_word(word);
    const std::uint32_t known = words_.find(word, hash);
    if (known != csv::Words::none) return known;
    return words_.size() == most ? most : words_.add(word, hash);
  }
  [[nodiscard]] std::vector<std::string> take_levels() && { return std::move(words_).take(); }

 private:
  csv::Words words_;
};

}  // namespace mlo
