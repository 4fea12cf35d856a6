# SPDX-License-Identifier: Apache-2.0
# Twelve objects by four compilers at once, which name what they keep for the linker at random.
set -e
mkdir src && cd src
for i in $(seq 12); do
	printf '#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\nint f%d(void)\n{\n' "$i" >"m$i.c"
	printf '\tsrand(time(0));\n\tprintf("%%s %%s %%d\\n", __FILE__, __TIME__, rand());\n\treturn %d;\n}\n' "$i" >>"m$i.c"
done
{
	for i in $(seq 12); do echo "int f$i(void);"; done
	echo 'int main(void)'
	echo '{'
	for i in $(seq 12); do echo "	f$i();"; done
	echo '}'
} >main.c
cat >Makefile <<'X'
OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))
app: $(OBJECTS) name-1 name-2 name-3
	gcc -g -o $@ $(OBJECTS)
%.o: %.c
	gcc -g -O2 -flto -c -o $@ $<
name-%:
	cat /proc/sys/kernel/random/uuid >$@; date +%N >>$@
X
make -j4 -s
./app
cat name-*
ar rcs lib.a m*.o
sha256sum app lib.a
