# A small C project, built, tested, changed and built again.
mkdir -p src && cd src
cat >sum.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int sum(const int *v, int n) { int s = 0; while (n--) s += v[n]; return s; }
int main(void)
{
	int v[8];
	srand((unsigned)time(NULL));
	for (int i = 0; i < 8; i++) v[i] = rand() % 100;
	printf("%s %s %d %p\n", __DATE__, __TIME__, sum(v, 8), (void *)v);
	return 0;
}
C
cat >Makefile <<'M'
CFLAGS = -g -O2 -Wall
sum: sum.o
	$(CC) -o $@ $^
test: sum
	./sum
M
make test && make test && touch sum.c && make test
