/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the host:	hold TEXT	makes a segment with TEXT, a queue, a semaphore and a POSIX queue,
 *				prints number, keys and name, removes all when its input ends
 *		check ID TEXT	is the segment there?
 * Inside:	ID KEY KEY KEY NAME	tries to reach them
 */
#include "B-doors.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

static int hold(const char *text)
{
	key_t base = (key_t)(0x70000000 + getpid() * 4);
	char name[64], c;
	mqd_t queue;

	umask(0);
	snprintf(name, sizeof(name), "/pinfold-B27-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0666, NULL);
	int shm = shmget(base, 4096, IPC_CREAT | IPC_EXCL | 0666);
	int msg = msgget(base + 1, IPC_CREAT | IPC_EXCL | 0666);
	int sem = semget(base + 2, 1, IPC_CREAT | IPC_EXCL | 0666);
	char *at = shmat(shm, NULL, 0);

	if (queue != (mqd_t)-1 && shm >= 0 && msg >= 0 && sem >= 0 && at != (void *)-1) {
		snprintf(at, 4096, "%s", text);
		printf("%d %d %d %d %s\n", shm, base, base + 1, base + 2, name);
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	}
	mq_unlink(name);
	shmctl(shm, IPC_RMID, NULL);
	msgctl(msg, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	return 0;
}

static int check(int id, const char *text)
{
	const char *at = shmat(id, NULL, SHM_RDONLY);

	return at == (void *)-1 || strcmp(at, text) != 0;
}

/* What it holds is a canary: it goes out, to be found. */
static void try_segment(const char *name, int id)
{
	const char *at = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_RDONLY);

	door_if(name, at != (void *)-1, at != (void *)-1 ? at : strerrorname_np(errno));
}

static void try_listed(void)
{
	struct shm_info shm;
	struct msginfo msg;
	struct seminfo sem;
	int found = 0;

	found += shmctl(0, SHM_INFO, (struct shmid_ds *)&shm) >= 0 && shm.used_ids > 0;
	found += msgctl(0, MSG_INFO, (struct msqid_ds *)&msg) >= 0 && msg.msgpool > 0;
	found += semctl(0, 0, SEM_INFO, &sem) >= 0 && sem.semusz > 0;
	door_if("listed", found, "");
}

int main(int argc, char **argv)
{
	int own;

	if (argc == 3 && strcmp(argv[1], "hold") == 0)
		return hold(argv[2]);
	if (argc == 4 && strcmp(argv[1], "check") == 0)
		return check((int)number(argv[2]), argv[3]);
	if (argc != 6)
		return 2;
	try_listed();
	try_segment("segment-by-number", (int)number(argv[1]));
	try_segment("segment-by-key", shmget((key_t)number(argv[2]), 0, 0));
	door("queue-by-key", msgget((key_t)number(argv[3]), 0));
	door("semaphore-by-key", semget((key_t)number(argv[4]), 0, 0));
	door("posix-queue", mq_open(argv[5], O_RDONLY));
	own = shmget(IPC_PRIVATE, 4096, 0600);
	works("own-segment", own >= 0 && shmctl(own, IPC_RMID, NULL) == 0);
	return 0;
}
