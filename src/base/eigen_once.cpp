// Copyright (c) the mlo authors. BSD-3-Clause.
#include "base/eigen_once.hpp"

MLO_EIGEN_ONCE()
