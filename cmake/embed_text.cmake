# cmake -DOUT=x.c -DSOURCE=file -DNAME=symbol -P embed_text.cmake: writes `const char symbol[]`, the bytes of the file and a NUL.
file(READ ${SOURCE} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
