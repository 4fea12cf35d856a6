#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A C project of the caller's is built with make and gcc and its tests run, in the copy.
. "$(dirname "$0")/../lib/cli.sh"

project()
{
	mkdir "$W/c"
	printf '%b' 'CFLAGS = -O1 -Wall -g\n' \
		'prog: main.o sum.o\n\t$(CC) -o $@ $^ -lm -lpthread\n' \
		'%.o: %.c sum.h\n\t$(CC) $(CFLAGS) -c -o $@ $<\n' \
		'lib.so: sum.c\n\t$(CC) -shared -fPIC -o $@ $<\n' \
		'test: prog lib.so\n\t./prog 1 2 3\n.PHONY: test\n' >"$W/c/Makefile"
	echo 'int sum(int n, char **v);' >"$W/c/sum.h"
	cat >"$W/c/sum.c" <<-'END'
		#include <stdlib.h>
		#include "sum.h"
		int sum(int n, char **v)
		{
			int s = 0;
			while (n--)
				s += (int)strtol(*v++, 0, 10);
			return s;
		}
	END
	cat >"$W/c/main.c" <<-'END'
		#include <math.h>
		#include <pthread.h>
		#include <stdio.h>
		#include "sum.h"
		static void *half(void *x)
		{
			*(double *)x = sqrt(*(double *)x);
			return x;
		}
		int main(int argc, char **argv)
		{
			double x = sum(argc - 1, argv + 1);
			pthread_t t;
			pthread_create(&t, 0, half, &x);
			pthread_join(t, 0);
			printf("%.3f\n", x);
			return 0;
		}
	END
	own "$W"
}

checks()
{
	project
	if needs gcc make "make and gcc"; then
		inside_json --dir "$W/c" --workdir /work -- make -j2 CC=gcc test
		exits 0 "make -j2"
		json_has 'out.endswith(b"2.449\n")' "the program that was built runs"
		json_has \
			'set(files) == {"/work/main.o", "/work/sum.o", "/work/prog",
			"/work/lib.so"}' \
			"what was built is in files[]"
		json_is '[]' 'd["denials"]' "nothing was refused"
		check "the project itself has no new file" test "$(find "$W/c" -type f | wc -l)" = 4
	fi
	if needs g++ "g++"; then
		inside -- sh -ec 'g++ -std=c++17 -O1 -o p -x c++ - && ./p' <<-'END'
			#include <iostream>
			#include <thread>
			#include <vector>
			int main()
			{
				std::vector<std::thread> t;
				int n[4] = {};
				for (int i = 0; i < 4; i++)
					t.emplace_back([&n, i] { n[i] = i; });
				for (auto &x : t)
					x.join();
				std::cout << n[0] + n[1] + n[2] + n[3] << "\n";
			}
		END
		prints 6 "g++ with threads"
	fi
	if needs gcc "sanitizers"; then
		inside -- sh -ec \
			'echo "int main(int c, char **v) { int a[2] = {0}; return a[c * 2]; }" >a.c
			gcc -g -fsanitize=address,undefined -o a a.c; ./a'
		check "a program with address sanitizer finds its fault" grep -qE \
			'stack-buffer-overflow|out of bounds' \
			"$ERR"
	fi
}

run_checks
