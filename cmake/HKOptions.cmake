# Warnings, sanitizers, ccache and the fast linker, shared by every target.
find_program(HK_CCACHE ccache)
if(HK_CCACHE)
  # Paths relative to the checkout: every clone shares one cache.
  set(HK_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 ${HK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${HK_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HK_LAUNCHER})
  # A precompiled header holds the paths of its own checkout, so what is made with
  # one must not reach another clone.
  set(HK_PRECOMPILED_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${HK_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Werror)
add_link_options(-fuse-ld=lld)
include_directories(${CMAKE_CURRENT_SOURCE_DIR}/include)
# Generated code is not clean under -Wextra.
include_directories(SYSTEM ${CMAKE_CURRENT_BINARY_DIR}/include)

foreach(sanitizer IN LISTS HK_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer
    -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitize-ignore.txt)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
