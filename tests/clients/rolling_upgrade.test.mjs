// examples/rolling_upgrade.c: two versions of one tool on two instances. The
// answer that both ask for is given once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const [old] = await scratch.examples("rolling_upgrade", [],
	{ TOOL_VERSION: "1" });
const [now] = await scratch.examples("rolling_upgrade", [],
	{ TOOL_VERSION: "2" });
const call = { name: "link_accounts" };

async function link(order) {
	const it = await connect(order, { answers: {
		"elicitation/create": ({ message }) =>
			accept({ name: message.match(/your (\w+)/)[1] }) } });
	const result = await it.client.callTool(call);

	return { text: textOf(result), rounds: it.wire.requests.length,
		services: it.asked.map((one) =>
			one.params.message.match(/your (\w+)/)[1]) };
}

test("begun with the old version, ended with the new", async () => {
	const { text, rounds, services } = await link([old, now, now]);

	assert.equal(text, "Linked GitHub (GitHub) and " +
		"Microsoft (Microsoft), by version 2 of the tool.");
	assert.equal(rounds, 3);
	assert.deepEqual(services, ["GitHub", "Google", "Microsoft"]);
});

test("and back: every answer is kept", async () => {
	const { text, rounds, services } = await link([old, now, old]);

	assert.equal(text, "Linked GitHub (GitHub) and Google (Google), " +
		"by version 1 of the tool.");
	assert.equal(rounds, 3);
	assert.deepEqual(services, ["GitHub", "Google", "Microsoft"]);
});

test("by hand", async () => {
	const { client } = await connect([old, now]);
	const hand = { allowInputRequired: true };
	const asked = await client.callTool(call, hand);
	const rest = await client.callTool({ ...call,
		requestState: asked.requestState, inputResponses: {
			github_login: accept({ name: "a" }),
			google_login: accept({ name: "b" }) } }, hand);

	assert.deepEqual(Object.keys(rest.inputRequests), ["microsoft_login"]);
});
