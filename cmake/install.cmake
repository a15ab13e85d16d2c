include(CMakePackageConfigHelpers)

set(layers mlo_base mlo_data mlo_model mlo_subsample mlo_kernel mlo_chain mlo_diagnose mlo_method mlo_report mlo_fit)
install(TARGETS mlo ${layers} EXPORT mlo-targets)
install(TARGETS mlo_command)
install(DIRECTORY include/mlo TYPE INCLUDE)
install(EXPORT mlo-targets NAMESPACE mlo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlo)
configure_package_config_file(cmake/mlo-config.cmake.in ${PROJECT_BINARY_DIR}/mlo-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlo)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mlo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mlo-config.cmake ${PROJECT_BINARY_DIR}/mlo-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlo)
