// Copyright (c) the mlo authors. BSD-3-Clause.
// Eigen's products, solvers and decompositions of matrices of doubles, declared as compiled elsewhere: in
// eigen_once.cpp. Otherwise every source that solves a system compiles them again, which takes 3 to 8 s. Part
// of the precompiled headers; no source includes it, and without it all works as well. Eigen 3.4 has these
// names.
//
// MLO_EIGEN_ONCE(prefix) writes `prefix` before each: `extern` here, nothing in eigen_once.cpp.
#pragma once

#include <Eigen/Dense>

#define MLO_EIGEN_PRODUCTS(prefix, side)                                                                   \
  prefix template struct general_matrix_matrix_product<long, double, side, false, double, 0, false, 0, 1>; \
  prefix template struct general_matrix_matrix_product<long, double, side, false, double, 1, false, 0, 1>; \
  prefix template struct general_matrix_vector_product<                                                    \
      long, double, const_blas_data_mapper<double, long, side>, side, false, double,                       \
      const_blas_data_mapper<double, long, 0>, false, 0>;                                                  \
  prefix template struct general_matrix_vector_product<                                                    \
      long, double, const_blas_data_mapper<double, long, side>, side, false, double,                       \
      const_blas_data_mapper<double, long, 1>, false, 0>;                                                  \
  prefix template struct general_matrix_vector_product<                                                    \
      long, double, const_blas_data_mapper<double, long, side>, side, false, double,                       \
      const_blas_data_mapper<double, long, 1>, false, 1>;

#define MLO_EIGEN_SOLVERS(prefix, mode, storage)                                               \
  prefix template struct triangular_solve_matrix<double, long, 1, mode, false, storage, 0, 1>; \
  prefix template struct triangular_solve_matrix<double, long, 2, mode, false, storage, 0, 1>; \
  prefix template struct triangular_solve_vector<double, double, long, 1, mode, false, storage>;

#define MLO_EIGEN_ONCE(prefix)                                                                              \
  namespace Eigen {                                                                                         \
  namespace internal {                                                                                      \
  MLO_EIGEN_PRODUCTS(prefix, 0)                                                                             \
  MLO_EIGEN_PRODUCTS(prefix, 1)                                                                             \
  MLO_EIGEN_SOLVERS(prefix, 1, 0)                                                                           \
  MLO_EIGEN_SOLVERS(prefix, 2, 0)                                                                           \
  MLO_EIGEN_SOLVERS(prefix, 2, 1)                                                                           \
  prefix template struct general_matrix_matrix_triangular_product<long, double, 0, false, double, 1, false, \
                                                                  0, 1, 1, 0>;                              \
  prefix template Index llt_inplace<double, Lower>::blocked<MatrixXd>(MatrixXd&);                           \
  }                                                                                                         \
  prefix template class LLT<MatrixXd>;                                                                      \
  prefix template LLT<MatrixXd>& LLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&);              \
  prefix template class LDLT<MatrixXd>;                                                                     \
  prefix template LDLT<MatrixXd>& LDLT<MatrixXd>::compute<MatrixXd>(const EigenBase<MatrixXd>&);            \
  prefix template class SelfAdjointEigenSolver<MatrixXd>;                                                   \
  prefix template SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute<MatrixXd>(    \
      const EigenBase<MatrixXd>&, int);                                                                     \
  }

MLO_EIGEN_ONCE(extern)
