# cmake -DOUT=scripts_text.c -DSOURCES=a.lua,b.lua -DCOMMON=lock_common.lua -DRW=rw_common.lua -DFAIR=fair_common.lua
#   -DSEMAPHORE=semaphore_common.lua -P embed.cmake
# Writes one C file with `const char script_<name>[]`, the bytes of each source and a NUL. Sources named lock_…,
# rw_… and fair_… have COMMON, RW and FAIR before them, those named semaphore_… COMMON and SEMAPHORE, lock_list, which tells
# of all kinds, all four. A script defines all of it anew at each call, so the two that are called most have less:
# lock_acquire only COMMON, and lock_release a first part, lock_release_one, before RW and FAIR.
string(REPLACE "," ";" sources "${SOURCES}")
set(text "// Made from the sources of redis/scripts/.\n#include \"redis/scripts.h\"\n")
file(READ ${COMMON} common HEX)
file(READ ${RW} rw HEX)
file(READ ${FAIR} fair HEX)
file(READ ${SEMAPHORE} semaphore HEX)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  file(READ ${source} bytes HEX)
  if(name STREQUAL "lock_acquire")
    set(bytes "${common}${bytes}")
  elseif(name STREQUAL "lock_release")
    get_filename_component(folder ${source} DIRECTORY)
    file(READ ${folder}/lock_release_one.lua one HEX)
    set(bytes "${common}${one}${rw}${fair}${bytes}")
  elseif(name STREQUAL "lock_list")
    set(bytes "${common}${rw}${fair}${semaphore}${bytes}")
  elseif(name MATCHES "^(lock|rw|fair)_")
    set(bytes "${common}${rw}${fair}${bytes}")
  elseif(name MATCHES "^semaphore_")
    set(bytes "${common}${semaphore}${bytes}")
  endif()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "\nconst char script_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
