# What `cmake --install` copies: a tree that may be moved as a whole.
#   bin                    the tools
#   lib                    libhk_runtime, libhk_check (hk-run --check), libhk_emu
#   lib/cmake/hk           find_package(hk): the target hk::runtime
#   include/hk/Runtime     the C interface, and what a module exports
#   share/hk/kernels       the kernels' sources, which hk-compile compiles
#   share/hk/include       the contract headers, which they include
#   share/hk/LICENSE
# The build folder has the same share/hk, as links, so that tools look in one place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/hk)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/runtime/kernels ${CMAKE_BINARY_DIR}/share/hk/kernels SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/share/hk/include SYMBOLIC)

install(TARGETS hk-compile hk-import hk-lsp-server hk-opt hk-run hk-interp hk-emu RUNTIME DESTINATION bin)
install(TARGETS hk_check hk_emu LIBRARY DESTINATION lib)
install(TARGETS hk_runtime EXPORT hkTargets LIBRARY DESTINATION lib)
install(DIRECTORY runtime/kernels DESTINATION share/hk FILES_MATCHING PATTERN "*.h")
install(DIRECTORY include/hk/Contract DESTINATION share/hk/include/hk FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION share/hk)
install(FILES include/hk/Runtime/ModuleAbi.h DESTINATION share/hk/include/hk/Runtime)
install(FILES include/hk/Runtime/hk.h include/hk/Runtime/ModuleAbi.h DESTINATION include/hk/Runtime)

set(package lib/cmake/hk)
install(EXPORT hkTargets NAMESPACE hk:: DESTINATION ${package})
configure_package_config_file(cmake/hkConfig.cmake.in ${CMAKE_BINARY_DIR}/hkConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hkConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hkConfig.cmake ${CMAKE_BINARY_DIR}/hkConfigVersion.cmake
  DESTINATION ${package})
