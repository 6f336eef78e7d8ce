/* SPDX-License-Identifier: MIT */
#include "tests/e2e/lib/balancer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY  "examples/fleet"
#define START_MS   30000
#define CONF_BYTES 16384
#define SKIPPED    77 /* to ctest */
/* The balancer's port, and those of the servers. */
#define PORTS       (1 + FLEET_SERVERS)
#define FIRST_BLOCK 20000
#define BLOCKS      3000

static void die(const char *what, const char *which)
{
	(void)fprintf(stderr, "e2e: %s %s: %s\n", what, which, strerror(errno));
	exit(99);
}

/* ---- ports ---- */
static bool can_listen(int port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	     listen(fd, 1) == 0;
	(void)close(fd);
	return ok;
}

/* A name that one process has at a time, for as long as it runs. */
static bool reserve(int port)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			 "bide-e2e-ports-%d", port);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					1 + (size_t)n)) == 0)
		return true; /* and stays open */
	(void)close(fd);
	return false;
}

/*
 * The first of four free ports. A server that is killed must get its port back,
 * and while it is down nobody else: so these lie below those that the kernel
 * gives to connections, ours and the balancer's.
 */
static int take_ports(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		int block =
			(int)(((unsigned)getpid() * 7 + (unsigned)i) % BLOCKS);
		int port = FIRST_BLOCK + block * PORTS;
		int ok = 0;

		if (!reserve(port))
			continue;
		while (ok < PORTS && can_listen(port + ok))
			ok++;
		if (ok == PORTS)
			return port;
	}
	die("no free ports", "");
	return 0;
}

static int port_of(const struct server *v)
{
	return (int)strtol(strrchr(v->base, ':') + 1, NULL, 10);
}

/* ---- its configuration ---- */
static bool find_program(const char *name, char out[256])
{
	static const char *const where[] = {"/usr/sbin", "/usr/local/sbin",
					    "/usr/bin", "/usr/local/bin"};

	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		(void)snprintf(out, 256, "%s/%s", where[i], name);
		if (access(out, X_OK) == 0)
			return true;
	}
	return false;
}

bool balancer_installed(const char *which)
{
	char path[256];

	return find_program(which, path);
}

static bool is_nginx(const char *which)
{
	return strcmp(which, "nginx") == 0;
}

/* Copies the example to @to, each port that it shows replaced. */
static void write_conf(const char *from, const char *to, const int ports[PORTS])
{
	static const char mark[] = "127.0.0.1:858";
	char text[CONF_BYTES];
	FILE *f = fopen(from, "re");
	const char *p = text;
	const char *at;
	size_t n;

	if (f == NULL)
		die("open", from);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	f = fopen(to, "we");
	if (f == NULL)
		die("open", to);
	for (; (at = strstr(p, mark)) != NULL; p = at + sizeof(mark)) {
		int which = at[sizeof(mark) - 1] - '0';

		if (which < 0 || which >= PORTS)
			die("a port beyond those known in", from);
		(void)fprintf(f, "%.*s127.0.0.1:%d", (int)(at - p), p,
			      ports[which]);
	}
	(void)fputs(p, f);
	if (fclose(f) != 0)
		die("write", to);
}

/* ---- its process ---- */
/* One process each, so that none is left behind when the test dies. */
static void child(const char *which, const char *dir, const char *conf,
		  const char *log)
{
	const char *const nginx[] = {"nginx",
				     "-p",
				     dir,
				     "-c",
				     conf,
				     "-g",
				     "daemon off; master_process off;",
				     NULL};
	const char *const haproxy[] = {"haproxy", "-db", "-f", conf, NULL};
	int to = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	char path[256];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(to, STDOUT_FILENO);
	(void)dup2(to, STDERR_FILENO);
	if (find_program(which, path))
		execv(path, (char *const *)(is_nginx(which) ? nginx : haproxy));
	_exit(127);
}

static bool answers(int port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;

	(void)close(fd);
	return ok;
}

static void show(const char *path)
{
	struct lines l = lines_read(path);

	for (size_t i = 0; i < l.n; i++)
		(void)fprintf(stderr, "%s\n", l.line[i]);
	lines_free(&l);
}

static void await_listening(const struct balancer *b, int port)
{
	const struct timespec nap = {0, 10 * 1000 * 1000};

	for (int ms = 0; ms < START_MS; ms += 10) {
		if (waitpid(b->pid, NULL, WNOHANG) == b->pid)
			break;
		if (answers(port))
			return;
		(void)nanosleep(&nap, NULL);
	}
	show(b->log);
	die("it does not start:", b->log);
}

struct balancer *balancer_start(const char *which, struct scratch *s, int port,
				struct server *const servers[FLEET_SERVERS])
{
	struct balancer *b = calloc(1, sizeof(*b));
	int ports[PORTS] = {port};
	char from[128];
	char conf[320];

	if (b == NULL)
		die("calloc", which);
	for (int i = 0; i < FLEET_SERVERS; i++)
		ports[1 + i] = port_of(servers[i]);
	(void)snprintf(from, sizeof(from), DIRECTORY "/%s",
		       is_nginx(which) ? "nginx.conf" : "haproxy.cfg");
	(void)snprintf(conf, sizeof(conf), "%s/%s.conf", s->dir, which);
	(void)snprintf(b->log, sizeof(b->log), "%s/%s.log", s->dir, which);
	(void)snprintf(b->url, sizeof(b->url), "http://127.0.0.1:%d/mcp", port);
	write_conf(from, conf, ports);
	b->pid = fork();
	if (b->pid == 0)
		child(which, s->dir, conf, b->log);
	if (b->pid < 0)
		die("fork", which);
	await_listening(b, port);
	return b;
}

void balancer_free(struct balancer *b)
{
	if (b == NULL)
		return;
	(void)kill(b->pid, SIGKILL);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(b);
}

/* ---- before the servers of others ---- */
static struct balancer *behind;
static struct server *third;

void balancer_behind_start(const char *const *args, struct server *one,
			   struct server *two)
{
	const char *which = getenv("BIDE_BEHIND");
	struct server *servers[FLEET_SERVERS] = {one, two};

	if (which == NULL)
		return;
	if (!balancer_installed(which)) {
		(void)printf("%s is not installed\n", which);
		exit(SKIPPED);
	}
	third = servers[2] = server_start(one->scratch, args);
	behind = balancer_start(which, one->scratch, take_ports(), servers);
	(void)snprintf(one->url, sizeof(one->url), "%s", behind->url);
	(void)snprintf(two->url, sizeof(two->url), "%s", behind->url);
}

void balancer_behind_end(void)
{
	balancer_free(behind);
	server_free(third);
	behind = NULL;
	third = NULL;
}

/* ---- the fleet ---- */
void fleet_start_again(struct fleet *f, size_t i)
{
	const char *args[32] = {"--listen"};
	char at[32];
	size_t n = 2;

	(void)snprintf(at, sizeof(at), "127.0.0.1:%d",
		       f->first_port + 1 + (int)i);
	args[1] = at;
	for (size_t k = 0; f->args != NULL && f->args[k] != NULL && n < 31; k++)
		args[n++] = f->args[k];
	server_free(f->server[i]);
	f->server[i] = server_start(f->scratch, args);
}

struct fleet *fleet_start(const char *which, const char *const *args)
{
	struct fleet *f = calloc(1, sizeof(*f));

	if (f == NULL)
		die("calloc", which);
	f->scratch = scratch_new();
	f->args = args;
	f->first_port = take_ports();
	for (size_t i = 0; i < FLEET_SERVERS; i++)
		fleet_start_again(f, i);
	f->balancer =
		balancer_start(which, f->scratch, f->first_port, f->server);
	return f;
}

void fleet_free(struct fleet *f)
{
	if (f == NULL)
		return;
	balancer_free(f->balancer);
	for (size_t i = 0; i < FLEET_SERVERS; i++)
		server_free(f->server[i]);
	scratch_free(f->scratch);
	free(f);
}
