// Progress and log lines of a call, on its own stream.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, fills, sdkError, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { SdkErrorCode } from "./lib/sdk.mjs";

const scratch = new Scratch();
const server = await scratch.fixture("--wait-budget", "60000");
const hurried = await scratch.fixture("--wait-budget", "500",
	"--state-rounds", "9");
const LEVEL = "io.modelcontextprotocol/logLevel";

function increases(seen) {
	for (let i = 1; i < seen.length; i++)
		assert.ok(seen[i].progress > seen[i - 1].progress,
			JSON.stringify(seen));
	return seen.map((one) => one.progress);
}

async function call(where, name, args, how) {
	const it = await connect(where, how);
	const seen = [];
	const result = await it.client.callTool({ name, arguments: args },
		{ onprogress: (progress) => seen.push(progress) });

	return { ...it, result, seen };
}

test("of a call that is answered at once", async () => {
	const { seen, wire } = await call(server, "test_tool_with_progress");

	assert.deepEqual(increases(seen), [0, 50, 100]);
	assert.equal(seen[0].total, 100);
	assert.equal(wire.requests[0].type, "text/event-stream");
});

test("of a task", async () => {
	const { seen } = await call(server, "counter", { to: 5, ms: 20 });

	assert.equal(increases(seen).at(-1), 5);
});

test("of a task that is entered four times", async () => {
	const { seen, result } = await call(server, "climber", { ms: 20 });

	assert.equal(textOf(result), "up");
	assert.equal(increases(seen).at(-1), 7);
});

test("none is told to a client that did not ask", async () => {
	const { client, wire } = await connect(server);
	await client.callTool({ name: "test_tool_with_progress" });

	assert.equal(wire.requests[0].type, "application/json");
});

// Each round is a request with a token of its own, so a value may be the same
// in two of them; the driver counts its rounds through the same callback.
test("over rounds, the driver's own count among it", async () => {
	const { seen, result, wire } = await call(hurried, "counter",
		{ to: 60, ms: 25 });
	const rounds = seen.filter(
		(one) => one.message?.startsWith("Fulfilling"));
	const work = seen.filter((one) => one.total === 60);
	const tokens = wire.requests.map((one) => one.body.params._meta
		.progressToken);

	assert.equal(textOf(result), "counted to 60");
	assert.ok(wire.requests.length > 1);
	assert.deepEqual(rounds.map((one) => one.progress),
		wire.requests.slice(1).map((_, i) => i + 1));
	assert.equal(new Set(tokens).size, tokens.length);
	for (let i = 1; i < work.length; i++)
		assert.ok(work[i].progress >= work[i - 1].progress);
	assert.equal(work.at(-1).progress, 60);
});

test("log lines, from the level on that the call asks for", async () => {
	const { client } = await connect(server);
	const lines = [];
	client.setNotificationHandler("notifications/message",
		({ params }) => lines.push(params));

	await client.callTool({ name: "test_logging_tool",
		_meta: { [LEVEL]: "info" } });
	assert.deepEqual(lines.map((one) => one.data.line), [0, 1, 2]);
	assert.equal(lines[0].logger, "fixture");
	await client.callTool({ name: "test_logging_tool",
		_meta: { [LEVEL]: "error" } });
	await client.callTool({ name: "test_logging_tool" });
	assert.equal(lines.length, 3);
});

test("logging/setLevel is not sent at this revision", async () => {
	const { client, wire } = await connect(server);

	await assert.rejects(client.setLoggingLevel("info"),
		sdkError(SdkErrorCode.MethodNotSupportedByProtocolVersion));
	assert.equal(wire.requests.length, 0);
});

test("progress goes on after a question", async () => {
	const { seen } = await call(server, "publisher", { ms: 20 },
		{ answers: fills({ name: "Kim" }) });

	assert.deepEqual(seen.map((one) => one.message),
		["Fulfilling input required by 'tools/call' (round 1)"]);
});
