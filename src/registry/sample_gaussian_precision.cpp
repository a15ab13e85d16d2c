// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/gaussian_precision.hpp"
#include "registry/sample_impl.hpp"

namespace mlo {
template SampleOutcome sample(const GaussianPrecision&, const SampleJob&, std::vector<ChainRecord>&);
}
