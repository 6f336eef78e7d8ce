// examples/summarize_incidents.c: the client's model does the reading.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, says, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const both = await scratch.examples("summarize_incidents");
const call = { name: "summarize_incidents",
	arguments: { since: "2026-11-09" } };
const recorded = () => both.map((one) => one.log).join("")
	.split("recorded a summary").length - 1;

test("the model is asked, and its text is the result", async () => {
	const before = recorded();
	const { client, wire, asked } = await connect(both, { answers: {
		"sampling/createMessage": () => says("- Three things.") } });
	const result = await client.callTool(call);

	assert.equal(textOf(result), "- Three things.");
	assert.equal(wire.requests.length, 2);
	assert.match(asked[0].params.messages[0].content.text, /expired/);
	assert.equal(asked[0].params.maxTokens, 400);
	assert.equal(recorded(), before + 1);
});

test("a model may answer in several blocks", async () => {
	const { client } = await connect(both, { answers: {
		"sampling/createMessage": () => ({ ...says(""), content: [
			{ type: "text", text: "- Several." },
			{ type: "text", text: "- Blocks." }] }) } });

	assert.match(textOf(await client.callTool(call)), /^- Several/);
});

test("by hand, and a round that is repeated records nothing more", async () => {
	const before = recorded();
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const asked = await client.callTool(call, hand);
	const answer = { ...call, requestState: asked.requestState,
		inputResponses: { summary: says("- By hand.") } };

	for (let i = 0; i < 2; i++)
		assert.equal(textOf(await client.callTool(answer, hand)),
			"- By hand.");
	assert.equal(recorded(), before + 1);
});

test("a client without a model gets the incidents", async () => {
	const { client } = await connect(both, { can: {} });
	const result = await client.callTool(call);

	assert.match(textOf(result), /2026-11-21 login: expired/);
	assert.notEqual(result.isError, true);
});

// What this client does with a person who says no: its handler throws, and the
// call ends there. Nothing is sent, and nothing is recorded.
test("a person who declines is not reported", async () => {
	const before = recorded();
	const { client, wire } = await connect(both, { answers: {
		"sampling/createMessage": () => {
			throw new Error("declined");
		} } });

	await assert.rejects(client.callTool(call), /declined/);
	assert.equal(wire.requests.length, 1);
	assert.equal(recorded(), before);
});
