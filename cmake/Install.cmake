# What is installed: the libraries, their headers, the tools and the package.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS flashtile flashtile-rt EXPORT FlashTileTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/fa/backward.h include/fa/bundle.h include/fa/fa.h
  include/fa/fa.hpp include/fa/serving.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fa)
install(TARGETS fa-run EXPORT FlashTileTargets
  DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS fa-opt fa-lsp-server fa-reduce
  DESTINATION ${CMAKE_INSTALL_BINDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/FlashTile)
install(EXPORT FlashTileTargets NAMESPACE FlashTile:: DESTINATION ${package})
configure_package_config_file(cmake/FlashTileConfig.cmake.in
  ${CMAKE_BINARY_DIR}/FlashTileConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/FlashTileConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/FlashTileConfig.cmake
  ${CMAKE_BINARY_DIR}/FlashTileConfigVersion.cmake DESTINATION ${package})
