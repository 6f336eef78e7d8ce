// examples/update_work_item.c: the second question follows from the first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, fills, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const both = await scratch.examples("update_work_item");
const call = { name: "update_work_item", arguments: { workItemId: 4522,
	fields: { "System.State": "Resolved" } } };
const DUPLICATE = { resolution: "Duplicate" };
const ORIGINAL = { duplicateOfId: 4301 };
const DONE = "Bug #4522 resolved as Duplicate of Bug #4301. State set to " +
	"Resolved and duplicate link created.";

test("three rounds, each at the other instance", async () => {
	const { client, wire, asked } = await connect(both, { answers: {
		"elicitation/create": ({ message }) =>
			accept(/how was/i.test(message) ? DUPLICATE
				: ORIGINAL) } });

	assert.equal(textOf(await client.callTool(call)), DONE);
	assert.equal(wire.requests.length, 3);
	assert.equal(asked.length, 2);
});

test("by hand", async () => {
	const { client } = await connect(both);
	const round = (more) => client.callTool({ ...call, ...more },
		{ allowInputRequired: true });
	const first = await round();
	assert.deepEqual(Object.keys(first.inputRequests), ["resolution"]);
	const second = await round({ requestState: first.requestState,
		inputResponses: { resolution: accept(DUPLICATE) } });
	assert.deepEqual(Object.keys(second.inputRequests), ["duplicate_of"]);
	const result = await round({ requestState: second.requestState,
		inputResponses: { duplicate_of: accept(ORIGINAL) } });
	assert.equal(textOf(result), DONE);
});

test("two rounds when the second rule does not apply", async () => {
	const { client, wire } = await connect(both, {
		answers: fills({ resolution: "Fixed" }) });

	assert.match(textOf(await client.callTool(call)),
		/Resolution to Fixed/);
	assert.equal(wire.requests.length, 2);
});

test("a client without forms gets there by its arguments", async () => {
	const { client } = await connect(both, { can: {} });
	const fields = { "System.State": "Resolved", Resolution: "Duplicate",
		"Duplicate Of": 4301 };

	assert.match(textOf(await client.callTool(call)),
		/Ask the user: .* How was/);
	assert.equal(textOf(await client.callTool({ ...call,
		arguments: { workItemId: 4522, fields } })), DONE);
});
