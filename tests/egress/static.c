/* SPDX-License-Identifier: Apache-2.0 */
/* A client that no library helps: static ADDRESS PORT REQUEST prints the first line of the answer,
 * or why there is none. It knows of no proxy and of no variable. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char answer[4096];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (argc != 4 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		printf("%s\n", strerror(errno));
		return 0;
	}
	ssize_t n = send(fd, argv[3], strlen(argv[3]), MSG_NOSIGNAL);
	if (n > 0)
		n = recv(fd, answer, sizeof(answer) - 1, 0);
	if (n <= 0) {
		puts("no answer");
		return 0;
	}
	answer[n] = '\0';
	printf("%.*s\n", (int)strcspn(answer, "\r\n"), answer);
	return 0;
}
