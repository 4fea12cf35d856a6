# SPDX-License-Identifier: Apache-2.0
# A program and its library by make, twice, and what is given away of it.
mkdir src && cat > src/a.c <<'P'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int f(int); int main(int c,char**v){ srand(time(0)); printf("%s %s %d %d %p\n",__DATE__,__TIME__,f(3),rand(),(void*)main); time_t t=time(0); printf("%s",ctime(&t)); return 0; }
P
echo 'int f(int x){return x*x;}' > src/b.c
cat > Makefile <<'P'
OBJ=src/a.o src/b.o
prog: $(OBJ) libb.a
	$(CC) -g -o $@ src/a.o -L. -lb
libb.a: src/b.o
	ar rcs $@ $^
%.o: %.c
	$(CC) -O2 -g -c -o $@ $<
clean: ; rm -f prog $(OBJ)
P
make -j2 2>&1 | sort; ./prog; make; touch src/b.c; make 2>&1 | tail -2; ./prog; sha256sum prog libb.a src/*.o; tar czf dist.tgz src Makefile; sha256sum dist.tgz
