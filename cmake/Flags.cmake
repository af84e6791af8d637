# What the presets switch: hardening, sanitizers, the analyzer, warnings as errors. Warnings themselves stand in
# Lockstock.cmake and always apply.
include(CheckPIESupported)
check_pie_supported()

option(LOCKSTOCK_WERROR "warnings are errors (CI; elsewhere a newer compiler's new warning must not stop a build)" OFF)
option(LOCKSTOCK_HARDENED "the hardening flags of the OpenSSF guide" OFF)
option(LOCKSTOCK_ANALYZER "compile with gcc -fanalyzer" OFF)
set(LOCKSTOCK_SANITIZE "" CACHE STRING "address,undefined or thread")

# Not CMake's own: assertions stay on (no -DNDEBUG), and -O3 makes larger code that is no faster here.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

add_library(lockstock_build INTERFACE)

if(LOCKSTOCK_WERROR)
  target_compile_options(lockstock_build INTERFACE -Werror)
endif()

if(LOCKSTOCK_HARDENED)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_compile_options(lockstock_build INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
    -fstack-clash-protection -fno-delete-null-pointer-checks -fno-strict-overflow -fno-strict-aliasing
    -ftrivial-auto-var-init=zero -Wformat -Werror=format-security -Werror=implicit -Werror=incompatible-pointer-types
    -Werror=int-conversion)
  target_link_options(lockstock_build INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,-z,nodlopen -Wl,--as-needed)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(lockstock_build INTERFACE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    target_compile_options(lockstock_build INTERFACE -mbranch-protection=standard)
  endif()
endif()

if(LOCKSTOCK_SANITIZE)
  target_compile_options(lockstock_build INTERFACE -fsanitize=${LOCKSTOCK_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(lockstock_build INTERFACE -fsanitize=${LOCKSTOCK_SANITIZE})
endif()

if(LOCKSTOCK_ANALYZER)
  target_compile_options(lockstock_build INTERFACE -fanalyzer)
endif()
