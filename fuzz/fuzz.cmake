# The fuzz targets, for the preset fuzz: clang, libFuzzer, sanitizers. fuzz/run builds and runs them. They are made of the
# sources they need: those that see the input with sanitizers and coverage, the others as quickly as they can be compiled.
option(MLO_FUZZ "Define the fuzz targets; needs clang" OFF)
if(NOT MLO_FUZZ)
  return()
endif()

add_library(fuzz_common INTERFACE)
target_compile_definitions(fuzz_common INTERFACE HWY_COMPILE_ONLY_STATIC)  # one instruction set: builds in half the time
target_link_libraries(fuzz_common INTERFACE mlo_warnings mlo_flags Eigen3::Eigen Boost::headers Threads::Threads fmt::fmt
  PkgConfig::hwy nlohmann_json::nlohmann_json PkgConfig::isal PkgConfig::zstd ${CMAKE_DL_LIBS})
target_include_directories(fuzz_common INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_include_directories(fuzz_common SYSTEM INTERFACE ${RANDOM123_INCLUDE_DIR})
add_library(fuzz_flags INTERFACE)
target_compile_options(fuzz_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
  -fno-omit-frame-pointer)

# mlo_fuzz_part(NAME sources...): some sources of a layer. mlo_fuzz_plain: without sanitizers and coverage.
function(mlo_fuzz_library name sources)
  file(GLOB sources CONFIGURE_DEPENDS ${sources})
  add_library(fuzz_part_${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(fuzz_part_${name} PRIVATE ${ARGN} PUBLIC fuzz_common)
  mlo_unity(fuzz_part_${name})
endfunction()
function(mlo_fuzz_part name)
  mlo_fuzz_library(${name} "${ARGN}" fuzz_flags)
endfunction()
function(mlo_fuzz_plain name)
  mlo_fuzz_library(${name} "${ARGN}")
  target_compile_options(fuzz_part_${name} PRIVATE -O0 -g0)
endfunction()
mlo_fuzz_part(base src/base/errors.cpp src/base/files.cpp src/base/random.cpp src/base/thread_pool.cpp)
mlo_fuzz_plain(special src/base/special.cpp)
mlo_fuzz_part(json src/base/json.cpp)
mlo_fuzz_part(data src/data/*.cpp)
mlo_fuzz_part(prior src/model/prior.cpp)
mlo_fuzz_plain(model src/model/families.cpp src/model/family_*.cpp src/model/link.cpp src/model/curve.cpp
  src/model/suprema.cpp)
mlo_fuzz_part(chain src/chain/checkpoint.cpp src/chain/draws.cpp)
mlo_fuzz_plain(diagnose src/diagnose/posterior_draws.cpp src/diagnose/predictions.cpp src/diagnose/quantile.cpp)
mlo_fuzz_plain(method src/method/option_table.cpp src/method/option_values.cpp src/method/methods.cpp
  src/method/read_options.cpp)
mlo_fuzz_part(report src/report/json.cpp src/report/run_summary.cpp src/report/score_table.cpp src/report/stan_csv.cpp
  src/report/text_table.cpp)
mlo_fuzz_part(fit src/fit/data_source.cpp src/fit/predict.cpp src/fit/run_directory.cpp src/fit/runs.cpp)

add_custom_target(fuzz)
function(mlo_fuzz_target name)
  list(TRANSFORM ARGN PREPEND fuzz_part_ OUTPUT_VARIABLE parts)
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL fuzz/${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE ${parts} fuzz_common fuzz_flags)
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
