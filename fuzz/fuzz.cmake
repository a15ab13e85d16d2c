# The fuzz targets, for the preset fuzz: clang, libFuzzer, sanitizers. fuzz/run builds and runs them. They are made of the
# sources they need, compiled anew, because all code must be instrumented for coverage.
option(MLO_FUZZ "Define the fuzz targets; needs clang" OFF)
if(NOT MLO_FUZZ)
  return()
endif()

add_library(fuzz_flags INTERFACE)
target_compile_options(fuzz_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
  -fno-omit-frame-pointer)
target_compile_definitions(fuzz_flags INTERFACE HWY_COMPILE_ONLY_STATIC)  # one instruction set: builds in half the time
target_link_libraries(fuzz_flags INTERFACE mlo_warnings mlo_flags Eigen3::Eigen Boost::headers Threads::Threads fmt::fmt
  PkgConfig::hwy nlohmann_json::nlohmann_json ZLIB::ZLIB PkgConfig::zstd ${CMAKE_DL_LIBS})
target_include_directories(fuzz_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_include_directories(fuzz_flags SYSTEM INTERFACE ${RANDOM123_INCLUDE_DIR})

# mlo_fuzz_part(NAME sources...): some sources of a layer.
function(mlo_fuzz_part name)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  add_library(fuzz_part_${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(fuzz_part_${name} PUBLIC fuzz_flags)
  mlo_unity(fuzz_part_${name})
endfunction()
mlo_fuzz_part(base src/base/errors.cpp src/base/files.cpp src/base/random.cpp src/base/thread_pool.cpp)
mlo_fuzz_part(special src/base/special.cpp)
mlo_fuzz_part(json src/base/json.cpp)
mlo_fuzz_part(data src/data/*.cpp)
mlo_fuzz_part(prior src/model/prior.cpp)
mlo_fuzz_part(model src/model/families.cpp src/model/family_*.cpp src/model/link.cpp src/model/curve.cpp
  src/model/suprema.cpp)
mlo_fuzz_part(chain src/chain/checkpoint.cpp src/chain/draws.cpp)
mlo_fuzz_part(diagnose src/diagnose/posterior_draws.cpp src/diagnose/predictions.cpp src/diagnose/quantile.cpp)
mlo_fuzz_part(method src/method/option_table.cpp src/method/option_values.cpp src/method/methods.cpp
  src/method/read_options.cpp)
mlo_fuzz_part(report src/report/json.cpp src/report/run_summary.cpp src/report/score_table.cpp src/report/stan_csv.cpp
  src/report/text_table.cpp)
mlo_fuzz_part(fit src/fit/data_source.cpp src/fit/predict.cpp src/fit/run_directory.cpp src/fit/runs.cpp)

add_custom_target(fuzz)
function(mlo_fuzz_target name)
  list(TRANSFORM ARGN PREPEND fuzz_part_ OUTPUT_VARIABLE parts)
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL fuzz/${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE ${parts} fuzz_flags)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  add_dependencies(fuzz fuzz_${name})
endfunction()
mlo_fuzz_target(csv data base)
mlo_fuzz_target(formula data base)
mlo_fuzz_target(priors prior special base)
mlo_fuzz_target(runs fit report method diagnose chain model prior data json special base)
# The tables of methods and families name functions that make kernels and models, and nothing here calls them. The code
# behind them is half of the library, so it is left out: a call would end in a crash at address 0.
target_link_options(fuzz_runs PRIVATE -no-pie -Wl,--unresolved-symbols=ignore-all)
