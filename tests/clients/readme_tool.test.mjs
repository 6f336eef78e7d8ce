// examples/readme_tool.c, README's own: a question, then an hour of waiting.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const both = await scratch.examples("readme_tool");
const apart = new Scratch();
const hurried = await apart.examples("readme_tool", ["--wait-budget", "300"]);
const call = { name: "lend_access", arguments: { who: "kim" } };

test("a refusal lends nothing", async () => {
	const { client, wire } = await connect(both, { answers: {
		"elicitation/create": () => accept({ ok: false }) } });

	assert.equal(textOf(await client.callTool(call)), "No access for kim.");
	assert.equal(wire.requests.length, 2);
});

test("by hand", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const asked = await client.callTool(call, hand);

	assert.deepEqual(Object.keys(asked.inputRequests), ["approve"]);
	const result = await client.callTool({ ...call,
		requestState: asked.requestState,
		inputResponses: { approve: { action: "cancel" } } }, hand);
	assert.equal(textOf(result), "No access for kim.");
});

test("an hour is more than the client waits: it gets a handle", async () => {
	const { client, wire, asked } = await connect(hurried, { answers: {
		"elicitation/create": () => accept({ ok: true }) } });
	const result = await client.callTool(call);
	const { handle } = result.structuredContent;

	// The question, two rounds without one, and the handle.
	assert.ok(wire.requests.length >= 4);
	assert.equal(asked.length, 1);
	assert.equal(hurried.map((one) => one.log).join("")
		.split("grant access").length - 1, 1);
	const later = await client.callTool({ name: "wait_for_task",
		arguments: { handle } });
	assert.notEqual(later.structuredContent.handle, undefined);
});
