// Copyright (c) the mlo authors. BSD-3-Clause.
// What fmt::format_to is made of, declared as compiled elsewhere: in fmt's library. Otherwise every source
// that uses it compiles all formats of numbers again, which takes 4 s. Part of the precompiled headers, like
// eigen_once.hpp; without it all works as well.
#pragma once

#include <fmt/format.h>

FMT_BEGIN_NAMESPACE
namespace detail {
extern template void vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
