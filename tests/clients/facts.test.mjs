// What docs/clients.md says of this client, where no flow of ours shows it.
// Some replies are made up. One that fails after the version was raised means
// that the page, and what was decided by it, is to be looked at.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { accept, connect, says, sdkError, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { DEFAULT_REQUEST_TIMEOUT_MSEC, SdkErrorCode } from "./lib/sdk.mjs";
import { until } from "./lib/until.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();

// What to make of the reply to a call; @make changes its result.
const calls = (make) => (reply, request) => {
	if (request.method === "tools/call")
		make(reply.result, request.params);
	return reply;
};

test("a request has 60 s unless it says otherwise", () => {
	assert.equal(DEFAULT_REQUEST_TIMEOUT_MSEC, 60_000);
});

test("a person's time counts in maxTotalTimeout alone", async () => {
	const { client } = await connect(server, { answers: {
		"elicitation/create": async () => {
			await sleep(2500);
			return accept({ ok: true });
		} } });
	const call = (options) => client.callTool({ name: "approve" }, options);

	assert.equal(textOf(await call({ timeout: 2000 })), "approved: yes");
	await assert.rejects(call({ maxTotalTimeout: 2000 }),
		sdkError(SdkErrorCode.RequestTimeout));
});

test("the questions of one round are answered at once", async () => {
	let open = 0;
	let most = 0;
	const slow = (answer) => async () => {
		most = Math.max(most, ++open);
		await until(() => most === 3);
		open--;
		return answer;
	};
	const { client } = await connect(server, { answers: {
		"elicitation/create": slow(accept({ name: "Kim" })),
		"sampling/createMessage": slow(says("Hello.")),
		"roots/list": slow({ roots: [] }) } });

	assert.equal(textOf(await client.callTool({
		name: "test_input_required_result_multiple_inputs" })),
	"got all three");
});

test("a round without inputRequests is a round", async () => {
	const { client, wire } = await connect(server, { rewrite: calls(
		(result) => { delete result.inputRequests; }) });

	assert.equal(textOf(await client.callTool({ name: "handed_over" })),
		"42");
	assert.equal(wire.requests.length, 2);
});

test("a round with neither a question nor a state is an error", async () => {
	const { client } = await connect(server, { rewrite: calls((result) => {
		delete result.inputRequests;
		delete result.requestState;
	}) });

	await assert.rejects(client.callTool({ name: "approve" }),
		sdkError(SdkErrorCode.InvalidResult));
});

test("a result without resultType is an error", async () => {
	const { client } = await connect(server, { rewrite: calls(
		(result) => { delete result.resultType; }) });

	await assert.rejects(client.callTool({ name: "test_simple_text" }),
		sdkError(SdkErrorCode.InvalidResult));
});

test("a question that the revision does not know ends the call", async () => {
	const { client, wire } = await connect(server, { rewrite: calls(
		({ inputRequests }) => {
			inputRequests.approval.method = "ask/me";
		}) });

	await assert.rejects(client.callTool({ name: "approve" }),
		sdkError(SdkErrorCode.InvalidResult));
	assert.equal(wire.requests.length, 1);
});

test("-32020 makes it list the tools and call once more", async () => {
	let times = 0;
	const { client, wire } = await connect(server, {
		rewrite: (reply, { id, method }) =>
			method !== "tools/call" || times++ > 0 ? reply
				: { jsonrpc: "2.0", id, error: { code: -32020,
					message: "Header mismatch" } },
	});

	await client.callTool({ name: "test_simple_text" });
	assert.deepEqual(wire.requests.map((one) => one.body.method),
		["tools/call", "tools/list", "tools/call"]);
});

test("the list of tools is kept for as long as it says", async () => {
	for (const [ttlMs, asked] of [[0, 2], [60_000, 1]]) {
		const { client, wire } = await connect(server, {
			rewrite: (reply, { method }) => {
				if (method === "tools/list")
					reply.result.ttlMs = ttlMs;
				return reply;
			} });

		await client.listTools();
		await client.listTools();
		assert.equal(wire.requests.length, asked);
	}
});

test("a list of more than 64 pages is given up", async () => {
	const { client, wire } = await connect(server);
	const page = (await client.listTools(undefined,
		{ cacheMode: "bypass" }));
	wire.reset();
	wire.rewrite = ({ jsonrpc, id }) => ({ jsonrpc, id, result: {
		...page, tools: [], resultType: "complete",
		nextCursor: `page${id}` } });

	await assert.rejects(client.listTools(),
		sdkError(SdkErrorCode.ListPaginationExceeded));
	assert.equal(wire.requests.length, 64);
});

test("a tool whose output schema is no schema is not called", async () => {
	const { client, wire } = await connect(server);
	const toolDefinition = { name: "forecast",
		inputSchema: { type: "object" },
		outputSchema: { type: "string", pattern: "(" } };

	await assert.rejects(
		client.callTool({ name: "forecast" }, { toolDefinition }),
		/invalid outputSchema/);
	assert.equal(wire.requests.length, 0);
});

test("a reply cut off before its head is an error at once", async () => {
	const dying = await scratch.fixture();
	const { client } = await connect(dying);
	const begun = scratch.count("begin");
	const call = client.callTool({ name: "hold" });

	call.catch(() => {});
	await until(() => scratch.count("begin") === begun + 1);
	await dying.kill();
	await assert.rejects(call, /fetch failed/);
});

// Nothing tells the caller but onerror: the request waits for its time-out.
test("a stream that is cut off is waited for", async () => {
	const dying = await scratch.fixture();
	const { client } = await connect(dying);
	const errors = [];
	client.onerror = (error) => errors.push(String(error));
	const progress = Promise.withResolvers();
	const began = Date.now();
	const call = client.callTool({ name: "streams" },
		{ timeout: 4000, onprogress: progress.resolve });

	call.catch(() => {});
	await progress.promise;
	await dying.kill();
	await assert.rejects(call, sdkError(SdkErrorCode.RequestTimeout));
	assert.ok(Date.now() - began >= 3900);
	assert.match(errors[0], /SSE stream disconnected/);
});

test("a subscription that is cut off says so, and is not renewed", async () => {
	const dying = await scratch.fixture();
	const { client, wire } = await connect(dying);
	const subscription = await client.listen({ toolsListChanged: true });

	await dying.kill();
	assert.equal(await subscription.closed, "remote");
	assert.equal(wire.requests.length, 1);
});

test("a subscription's end is told twice", async () => {
	const { client, wire } = await connect(server);
	const subscription = await client.listen({ toolsListChanged: true });

	await subscription.close();
	assert.deepEqual(
		wire.requests.map((one) => [one.body.method, one.status]),
		[["subscriptions/listen", 200],
			["notifications/cancelled", 202]]);
	await server.metricBecomes("bide_listeners", (n) => n === 0);
});

test("a name that is no token is sent in Base64", async () => {
	const { client, wire } = await connect(server);

	await assert.rejects(client.callTool({ name: "größer" }),
		/Unknown tool/);
	assert.match(wire.requests[0].headers.get("mcp-name"), /^=\?base64\?/);
});
