# Warnings, sanitizers, ccache and the fast linker, shared by every target.
find_program(HK_CCACHE ccache)
if(HK_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${HK_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HK_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Werror)
add_link_options(-fuse-ld=lld)
include_directories(${CMAKE_CURRENT_SOURCE_DIR}/include)
# Generated code is not clean under -Wextra.
include_directories(SYSTEM ${CMAKE_CURRENT_BINARY_DIR}/include)

foreach(sanitizer IN LISTS HK_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
