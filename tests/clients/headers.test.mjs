// Parameters that travel in headers too (x-mcp-header): the client mirrors
// those of a tool that it has listed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();
const call = (region, more) => ({ name: "regional",
	arguments: { region, ...more } });

test("a listed tool's parameters are mirrored", async () => {
	const { client, wire } = await connect(server);

	const more = { limit: 42, options: { dry: true } };
	await client.listTools();
	wire.reset();
	for (const region of ["us-east", "größer", " padded ", "=?base64?x?="])
		assert.equal(textOf(await client.callTool(call(region, more))),
			`region ${region}`);
	const { headers } = wire.requests[0];
	assert.equal(headers.get("mcp-param-region"), "us-east");
	assert.equal(headers.get("mcp-param-limit"), "42");
	assert.equal(headers.get("mcp-param-dry-run"), "true");
	assert.match(wire.requests[1].headers.get("mcp-param-region"),
		/^=\?base64\?/);
	assert.equal(wire.requests.length, 4);
});

test("what is absent has no header", async () => {
	const { client, wire } = await connect(server);

	await client.listTools();
	wire.reset();
	assert.equal(textOf(await client.callTool(call("eu"))), "region eu");
	assert.equal(wire.requests[0].headers.has("mcp-param-limit"), false);
});

test("a tool that was not listed costs a round trip more", async () => {
	const { client, wire } = await connect(server);

	assert.equal(textOf(await client.callTool(call("eu"))), "region eu");
	assert.deepEqual(wire.requests.map((one) => one.body.method),
		["tools/call", "tools/list", "tools/call"]);
	assert.equal(wire.requests[0].reply.error.code, -32020);
});
