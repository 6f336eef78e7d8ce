// An abort, and a request that takes too long, close the connection: that is
// what cancels at revision 2026-07-28.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, sdkError } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { SdkError, SdkErrorCode } from "./lib/sdk.mjs";
import { until } from "./lib/until.mjs";

const scratch = new Scratch();
const server = await scratch.fixture("--wait-budget", "60000",
	"--disconnect-grace", "100", "--sweep-interval", "50");

const effect = (name, n) => until(() => scratch.count(name) === n);
const isTimeout = sdkError(SdkErrorCode.RequestTimeout);

// No one asks, no one waits, no connection is kept for a request.
async function isQuiet() {
	await server.metricBecomes("bide_http_suspended", (n) => n === 0);
	await server.metricBecomes("bide_waiters", (n) => n === 0);
}

test("an abort cancels a call that is answered at once", async () => {
	const { client, wire } = await connect(server);
	const abort = new AbortController();
	const begun = scratch.count("begin");
	const dropped = scratch.count("dropped");
	const call = client.callTool({ name: "hold" },
		{ signal: abort.signal });

	await effect("begin", begun + 1);
	abort.abort(new SdkError(SdkErrorCode.RequestTimeout, "enough"));
	await assert.rejects(call, /enough/);
	await effect("dropped", dropped + 1);
	// Nothing was sent beside: no notifications/cancelled at this revision.
	assert.deepEqual(wire.requests.map((one) => one.body.method),
		["tools/call"]);
	await isQuiet();
});

test("any reason of an abort arrives as a time-out", async () => {
	const { client } = await connect(server);
	const abort = new AbortController();
	const begun = scratch.count("begin");
	const dropped = scratch.count("dropped");
	const call = client.callTool({ name: "hold" },
		{ signal: abort.signal });

	await effect("begin", begun + 1);
	abort.abort("changed my mind");
	await assert.rejects(call, (error) => isTimeout(error) &&
		error.message === "changed my mind");
	await effect("dropped", dropped + 1);
	await isQuiet();
});

test("a request that takes too long is cancelled", async () => {
	const { client } = await connect(server);
	const dropped = scratch.count("dropped");
	const call = client.callTool({ name: "hold" }, { timeout: 2000 });

	await assert.rejects(call, (error) => isTimeout(error) &&
		error.data.timeout === 2000);
	await effect("dropped", dropped + 1);
	await isQuiet();
});

test("progress may keep a request from taking too long", async () => {
	const { client } = await connect(server);
	const seen = [];
	const call = client.callTool({ name: "streams" }, { timeout: 2000,
		resetTimeoutOnProgress: true, maxTotalTimeout: 4000,
		onprogress: ({ progress }) => seen.push(progress) });

	await assert.rejects(call, (error) => isTimeout(error) &&
		error.data.maxTotalTimeout === 4000);
	assert.ok(seen.length > 10);
});

test("an abort cancels a stream", async () => {
	const { client } = await connect(server);
	const abort = new AbortController();
	const stopped = scratch.count("stopped");
	const call = client.callTool({ name: "streams" }, {
		signal: abort.signal,
		onprogress: ({ progress }) => progress > 5 && abort.abort() });

	await assert.rejects(call, isTimeout);
	await effect("stopped", stopped + 1);
	await isQuiet();
});

test("an abort cancels a task whose caller does not come back", async () => {
	const { client } = await connect(server);
	const abort = new AbortController();
	const begun = scratch.count("begin");
	const cancelled = scratch.count("cancelled");
	const call = client.callTool({ name: "busy" },
		{ signal: abort.signal });

	await effect("begin", begun + 1);
	abort.abort();
	await assert.rejects(call, isTimeout);
	await effect("cancelled", cancelled + 1);
	await isQuiet();
});

test("a tool may go on without its caller", async () => {
	const { client } = await connect(server);
	const abort = new AbortController();
	const begun = scratch.count("begin");
	const call = client.callTool({ name: "busy_goes_on",
		arguments: { ms: 1000 } }, { signal: abort.signal });

	await effect("begin", begun + 1);
	const cancelled = scratch.count("cancelled");
	abort.abort();
	await assert.rejects(call, isTimeout);
	await isQuiet();
	await server.metricBecomes("bide_tasks_running", (n) => n === 0);
	assert.equal(scratch.count("cancelled"), cancelled);
});

test("an abort while a question is answered", async () => {
	const abort = new AbortController();
	const { client, wire } = await connect(server, { answers: {
		"elicitation/create": () => {
			abort.abort();
			return accept({ ok: true });
		},
	} });
	const after = scratch.count("after");
	const call = client.callTool({ name: "approve" },
		{ signal: abort.signal });

	await assert.rejects(call, isTimeout);
	assert.equal(wire.requests.length, 1);
	assert.equal(scratch.count("after"), after);
});

test("a client that closes cancels all its calls", async () => {
	const { client } = await connect(server);
	const begun = scratch.count("begin");
	const dropped = scratch.count("dropped");
	const calls = [1, 2, 3].map(() => client.callTool({ name: "hold" }));

	await effect("begin", begun + 3);
	await client.close();
	for (const call of calls)
		await assert.rejects(call, SdkError);
	await effect("dropped", dropped + 3);
	await isQuiet();
});
