// Every refusal arrives as the client's own type.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, REVISION, sdkError, TASKS, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { Client, fromJsonSchema, MissingRequiredClientCapabilityError,
	ProtocolError, SdkErrorCode, SdkHttpError,
	StreamableHTTPClientTransport, UnsupportedProtocolVersionError,
} from "./lib/sdk.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();
const MCP = "io.modelcontextprotocol";
const ANYTHING = fromJsonSchema({});

// The error that @promise ends with.
const errorOf = (promise) => promise.then(
	() => assert.fail("it was not refused"), (error) => error);

test("connecting finds the revision, and what is served", async () => {
	const { client } = await connect(server);

	assert.equal(client.getProtocolEra(), "modern");
	assert.deepEqual(client.getServerVersion(),
		{ name: "bide-fixture", version: "1.0.0" });
	assert.match(client.getInstructions(), /tests of bide/);
	assert.deepEqual(client.getDiscoverResult().supportedVersions,
		[REVISION]);
	assert.ok(client.getServerCapabilities().tools);
});

test("connecting without knowing the revision finds it", async () => {
	const { client } = await connect(server,
		{ versionNegotiation: { mode: "auto" } });

	assert.equal(client.getNegotiatedProtocolVersion(), REVISION);
});

test("a client of an older revision is told what is served", async () => {
	const client = new Client({ name: "old", version: "1" });
	const error = await errorOf(client.connect(
		new StreamableHTTPClientTransport(server.url)));

	// Only a request of 2026-07-28 has the body of a 400 read.
	assert.ok(error instanceof SdkHttpError);
	assert.equal(error.status, 400);
	assert.equal(JSON.parse(error.data.text).error.code, -32022);
});

test("a version that is not served: -32022", async () => {
	const { client } = await connect(server);
	const error = await errorOf(client.callTool({ name: "test_simple_text",
		_meta: { [`${MCP}/protocolVersion`]: "2099-01-01" } }));

	assert.ok(error instanceof UnsupportedProtocolVersionError);
	assert.deepEqual(error.supported, [REVISION]);
	assert.equal(error.requested, "2099-01-01");
});

test("a pin to a version that is not served", async () => {
	await assert.rejects(connect(server,
		{ versionNegotiation: { mode: { pin: "2099-01-01" } } }));
});

test("a capability that a tool needs: -32021, each that lacks", async () => {
	for (const [can, name, required] of [
		[{}, "test_missing_capability", { sampling: {} }],
		[{}, "test_streaming_elicitation",
			{ elicitation: { form: {} } }],
		[{ elicitation: { url: {} } }, "test_streaming_elicitation",
			{ elicitation: { form: {} } }],
		[{ roots: {}, sampling: {} }, "needs_much",
			{ elicitation: { url: {} }, sampling: { tools: {} } }],
		[{ elicitation: {} }, "failing_job",
			{ extensions: { [TASKS]: {} } }],
	]) {
		const { client, wire } = await connect(server, { can });
		const error = await errorOf(client.callTool({ name }));

		assert.ok(
			error instanceof MissingRequiredClientCapabilityError,
			name);
		assert.equal(error.code, -32021);
		assert.deepEqual(error.requiredCapabilities, required);
		assert.equal(wire.requests[0].status, 400);
	}
});

test("nothing of a capability is remembered", async () => {
	const { client } = await connect(server);
	const call = (can) => client.callTool({ name: "test_missing_capability",
		_meta: { [`${MCP}/clientCapabilities`]: can } });

	assert.equal(textOf(await call({ sampling: {} })),
		"the client can sample");
	const error = await errorOf(call({}));
	assert.ok(error instanceof MissingRequiredClientCapabilityError);
});

test("an unknown tool: -32602", async () => {
	const { client } = await connect(server);
	const error = await errorOf(client.callTool({ name: "no_such_tool" }));

	assert.ok(error instanceof ProtocolError);
	assert.equal(error.code, -32602);
	assert.match(error.message, /Unknown tool/);
});

test("of arguments that do not fit a result says what to mend", async () => {
	const { client } = await connect(server);
	const result = await client.callTool({ name: "greet",
		arguments: { name: 7 } });

	assert.equal(result.isError, true);
	assert.match(textOf(result), /name/);
});

test("a tool's own error is a result", async () => {
	const { client } = await connect(server);
	for (const name of ["ends", "ends_as_a_task"]) {
		const result = await client.callTool({ name,
			arguments: { how: "tool_error" } });

		assert.equal(result.isError, true);
		assert.equal(textOf(result), "no \"luck\" é");
	}
});

test("a tool's own JSON-RPC error keeps its code and data", async () => {
	const { client } = await connect(server);
	for (const name of ["ends", "ends_as_a_task"]) {
		const error = await errorOf(client.callTool({ name,
			arguments: { how: "error" } }));

		assert.ok(error instanceof ProtocolError);
		assert.equal(error.code, -31007);
		assert.equal(error.message, "It broke");
		assert.deepEqual(error.data, { why: ["because", 7] });
	}
});

// The specification says 404, and this client reads a JSON-RPC error in a body
// of 400 only: the error is in the text.
test("an unknown method", async () => {
	const { client } = await connect(server);
	const error = await errorOf(client.request(
		{ method: "no/such", params: {} }, ANYTHING));

	assert.ok(error instanceof SdkHttpError);
	assert.equal(error.status, 404);
	assert.equal(JSON.parse(error.data.text).error.code, -32601);
});

test("a method of another revision is not sent", async () => {
	const { client, wire } = await connect(server);
	const error = await errorOf(client.ping());

	assert.ok(sdkError(SdkErrorCode.MethodNotSupportedByProtocolVersion)(
		error));
	assert.equal(wire.requests.length, 0);
});

test("a refused caller", async () => {
	const guarded = await scratch.fixture("--test-identity");
	const error = await errorOf(connect(guarded,
		{ headers: { "X-Test-Principal": "nobody" } }));

	assert.ok(error instanceof SdkHttpError);
	assert.equal(error.status, 401);
});

test("a server that is not there", async () => {
	const gone = await scratch.fixture();
	const { client } = await connect(gone);
	await gone.stop();
	const error = await errorOf(client.callTool({ name: "greet" }));

	assert.match(String(error), /fetch failed/);
});
