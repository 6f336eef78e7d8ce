// The automatic driver: it answers what is asked through the handlers that the
// client registered, and goes round until the result is there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, fills, says, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { SdkError, SdkErrorCode } from "./lib/sdk.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();

async function call(name, answers, args) {
	const it = await connect(server, { answers });
	const result = await it.client.callTool({ name, arguments: args });
	return { ...it, result, rounds: it.wire.of("tools/call") };
}

test("a form is filled in, in two rounds", async () => {
	const { result, rounds, asked } = await call(
		"test_input_required_result_elicitation",
		fills({ name: "Kim" }));

	assert.equal(textOf(result), "Hello, Kim!");
	assert.equal(rounds.length, 2);
	assert.equal(asked[0].params.message, "What is your name?");
	assert.equal(asked[0].params.mode, "form");
});

test("a round repeats the params, under a new id", async () => {
	const { rounds } = await call("confirm_delete",
		fills({ confirm: true }), { filename: "a" });
	const [first, second] = rounds.map((one) => one.body);

	assert.notEqual(first.id, second.id);
	assert.deepEqual(second.params.arguments, first.params.arguments);
	assert.deepEqual(second.params._meta, first.params._meta);
	assert.equal(second.params.requestState,
		rounds[0].reply.result.requestState);
	assert.deepEqual(second.params.inputResponses,
		{ confirm: accept({ confirm: true }) });
});

test("a refusal and a cancelled form reach the handler", async () => {
	for (const [action, said] of [["decline", "declined by user"],
		["cancel", "cancelled by user"]]) {
		const { result } = await call(
			"test_input_required_result_elicitation",
			{ "elicitation/create": () => ({ action }) });

		assert.equal(textOf(result), said);
	}
});

test("a page is opened", async () => {
	const { result, asked } = await call("ask_anyway",
		{ "elicitation/create": () => ({ action: "accept" }) },
		{ kind: "url" });

	assert.equal(textOf(result), "accepted");
	assert.equal(asked[0].params.mode, "url");
	assert.equal(asked[0].params.url, "https://example.com/consent?a=1");
});

test("a model is asked", async () => {
	const { result, asked } = await call(
		"test_input_required_result_sampling",
		{ "sampling/createMessage": () => says("Paris.") });

	assert.equal(textOf(result), "Paris.");
	assert.equal(asked[0].params.maxTokens, 100);
});

test("a model is asked, with tools", async () => {
	const { result, asked } = await call("ask_anyway",
		{ "sampling/createMessage": () => says("No tool needed.") },
		{ kind: "sampling_tools" });

	assert.equal(textOf(result), "accepted");
	assert.equal(asked[0].params.tools[0].name, "t");
});

test("the roots are asked for", async () => {
	const { result } = await call("test_input_required_result_list_roots",
		{ "roots/list": () => ({ roots: [{ uri: "file:///a" },
			{ uri: "file:///b", name: "b" }] }) });

	assert.equal(textOf(result), "2 roots");
});

test("three questions are answered in one round", async () => {
	const { result, rounds, asked } = await call(
		"test_input_required_result_multiple_inputs", {
			...fills({ name: "Kim" }),
			"sampling/createMessage": () => says("Hello."),
			"roots/list": () => ({ roots: [] }),
		});

	assert.equal(textOf(result), "got all three");
	assert.equal(rounds.length, 2);
	assert.equal(asked.length, 3);
});

test("a question may follow from an answer", async () => {
	const { result, rounds } = await call(
		"test_input_required_result_multi_round", {
			"elicitation/create": ({ message }) => accept(
				message === "Name?" ? { name: "Kim" }
					: { color: "red" }),
		});

	assert.equal(textOf(result), "done");
	assert.equal(rounds.length, 3);
	// Only what was asked last is answered: the state has the rest.
	assert.deepEqual(Object.keys(rounds[2].body.params.inputResponses),
		["step2"]);
});

test("an answer that does not fit is asked again", async () => {
	for (const name of ["test_input_required_result_elicitation",
		"approve"]) {
		let times = 0;
		const { rounds } = await call(name, {
			"elicitation/create": () => accept(
				times++ === 0 ? { name: 7, ok: 7 }
					: { name: "Kim", ok: true }),
		});

		assert.equal(rounds.length, 3);
		assert.equal(times, 2);
	}
});

test("a persistent tool asks through a handle", async () => {
	const before = scratch.count("after");
	const { result, rounds } = await call("approve", fills({ ok: true }));

	assert.equal(textOf(result), "approved: yes");
	assert.equal(rounds.length, 2);
	assert.equal(scratch.count("after"), before + 1);
});

test("a persistent tool asks two things in one round", async () => {
	const { result, rounds } = await call("multi_input",
		{ "elicitation/create": ({ message }) => accept(
			{ name: message.includes("first") ? "Ann" : "Bob" }) });

	assert.equal(textOf(result), "Ann and Bob");
	assert.equal(rounds.length, 2);
});

test("a round without a question comes back after 250 ms", async () => {
	const began = Date.now();
	const { result, rounds } = await call("handed_over", {});

	assert.equal(textOf(result), "42");
	assert.equal(rounds.length, 2);
	assert.equal("inputResponses" in rounds[1].body.params, false);
	assert.ok(Date.now() - began >= 250);
});

test("a handler that throws ends the call, and nothing goes out", async () => {
	const it = await connect(server, { answers: {
		"elicitation/create": () => {
			throw new Error("closed the window");
		},
	} });
	const call = it.client.callTool({ name: "approve" });

	await assert.rejects(call, /closed the window/);
	assert.equal(it.wire.of("tools/call").length, 1);
});

test("what a capability promises and no handler keeps", async () => {
	const { client } = await connect(server);
	const call = client.callTool({
		name: "test_input_required_result_elicitation" });

	await assert.rejects(call, (error) => error instanceof SdkError &&
		error.code === SdkErrorCode.CapabilityNotSupported &&
		error.data.method === "elicitation/create");
});

test("the driver can be off: then a question is an error", async () => {
	const { client } = await connect(server,
		{ inputRequired: { autoFulfill: false } });
	const call = client.callTool({
		name: "test_input_required_result_elicitation" });

	await assert.rejects(call, (error) => error instanceof SdkError &&
		error.code === SdkErrorCode.UnsupportedResultType &&
		error.data.resultType === "input_required");
});

test("a client asks only for what it declares", async () => {
	const can = { elicitation: { url: {} } };
	const { client, asked } = await connect(server, { can, answers: {
		"elicitation/create": () => ({ action: "accept" }) } });
	const result = await client.callTool({
		name: "test_input_required_result_capabilities" });

	assert.equal(textOf(result), "answered");
	assert.equal(asked[0].params.mode, "url");
});
