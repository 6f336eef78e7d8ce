/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/transport/http_origin.h"

static const struct http_origin loopback = {.address = "127.0.0.1",
					    .loopback = true};
static const struct http_origin lan = {.address = "192.0.2.7"};
static const struct http_origin all = {.address = "0.0.0.0", .wildcard = true};
static const struct http_origin listed = {
	.address = "192.0.2.7",
	.allow_host = "mcp.example.com, other.example.com:8443",
	.allow_origin = "https://app.example.com , http://x.example.com:81"};
static const struct http_origin any = {
	.address = "192.0.2.7", .allow_host = "*", .allow_origin = "*"};

static void test_host__follows_the_table(void **state)
{
	static const struct {
		const struct http_origin *o;
		const char *host;
		bool ok;
	} rows[] = {
		{&loopback, "127.0.0.1:8585", true},
		{&loopback, "127.0.0.1", true},
		{&loopback, "127.9.9.9:1", true},
		{&loopback, "localhost", true},
		{&loopback, "LocalHost:8585", true},
		{&loopback, "[::1]:8585", true},
		{&loopback, "evil.example.com", false},
		{&loopback, "localhost.evil.example.com", false},
		{&loopback, "127.0.0.1.evil.example.com", false},
		{&loopback, "evil@localhost", false},
		{&loopback, "localhost:80x", false},
		{&loopback, "localhost:8585:1", false},
		{&loopback, "[::1", false},
		{&loopback, "[::1]8585", false},
		{&loopback, "", false},
		{&loopback, ":8585", false},
		{&lan, "192.0.2.7", true},
		{&lan, "192.0.2.7:8585", true},
		{&lan, "192.0.2.8", false},
		{&lan, "localhost", false},
		{&lan, "mcp.example.com", false},
		{&all, "198.51.100.3:8585", true}, /* this end's address */
		{&all, "198.51.100.4:8585", false},
		{&all, "0.0.0.0:8585", false},
		{&all, "localhost:8585", true},
		{&all, "mcp.example.com", false},
		{&listed, "mcp.example.com", true},
		{&listed, "MCP.example.com:9", true},
		{&listed, "other.example.com:8443", true},
		{&listed, "other.example.com", false},
		{&listed, "192.0.2.7:1", true},
		{&listed, "evil.example.com", false},
		{&any, "evil.example.com", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (http_origin_host_ok(rows[i].o, rows[i].host,
					"198.51.100.3") != rows[i].ok)
			fail_msg("row %zu: %s", i, rows[i].host);
}

static void test_origin__follows_the_table(void **state)
{
	static const struct {
		const struct http_origin *o;
		const char *origin, *host;
		bool ok;
	} rows[] = {
		{&loopback, "http://127.0.0.1:8585", "127.0.0.1:8585", true},
		{&loopback, "http://localhost:6274", "127.0.0.1:8585", true},
		{&loopback, "https://localhost", "127.0.0.1:8585", true},
		{&loopback, "http://[::1]:3000", "127.0.0.1:8585", true},
		{&loopback, "http://evil.example.com", "127.0.0.1:8585", false},
		{&loopback, "http://localhost.evil.example.com", "localhost",
		 false},
		{&loopback, "http://localhost@evil.example.com", "localhost",
		 false},
		{&loopback, "null", "localhost", false},
		{&loopback, "", "localhost", false},
		{&loopback, "file://localhost", "localhost", false},
		{&loopback, "http://localhost/path", "localhost", false},
		{&lan, "http://192.0.2.7:8585", "192.0.2.7:8585", true},
		{&lan, "http://192.0.2.7:8586", "192.0.2.7:8585", false},
		{&lan, "http://192.0.2.7", "192.0.2.7:80", true},
		{&lan, "https://192.0.2.7", "192.0.2.7:443", true},
		{&lan, "https://192.0.2.7", "192.0.2.7", true},
		{&lan, "https://192.0.2.7", "192.0.2.7:80", false},
		{&lan, "http://localhost", "192.0.2.7", false},
		{&lan, "http://192.0.2.7", NULL, false},
		{&listed, "https://app.example.com", "192.0.2.7", true},
		{&listed, "https://APP.example.com", "192.0.2.7", true},
		{&listed, "http://app.example.com", "192.0.2.7", false},
		{&listed, "http://x.example.com:81", "192.0.2.7", true},
		{&listed, "http://x.example.com", "192.0.2.7", false},
		{&any, "null", "192.0.2.7", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (http_origin_ok(rows[i].o, rows[i].origin, rows[i].host) !=
		    rows[i].ok)
			fail_msg("row %zu: %s", i, rows[i].origin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host__follows_the_table),
		cmocka_unit_test(test_origin__follows_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
