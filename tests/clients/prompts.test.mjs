// Prompts, those that ask among them, and what completes their arguments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, fills, protocolError } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { MissingRequiredClientCapabilityError } from "./lib/sdk.mjs";

const scratch = new Scratch();
const both = [await scratch.fixture(), await scratch.fixture()];
const ASKS = "test_input_required_result_prompt";
const said = (result) => result.messages[0].content.text;

test("the list, with what is shown of one", async () => {
	const { client } = await connect(both);
	const { prompts } = await client.listPrompts();
	const args = prompts.find(
		(one) => one.name === "test_prompt_with_arguments").arguments;

	assert.deepEqual(args.map((one) => [one.name, one.required]),
		[["arg1", true], ["arg2", true]]);
	assert.equal(prompts.find((one) => one.name === "dialogue").title,
		"A dialogue");
});

test("messages, of either role and every content", async () => {
	const { client } = await connect(both);
	const get = (name, args) => client.getPrompt({ name, arguments: args });
	const talk = await get("dialogue", { topic: "MCP" });

	assert.equal(said(await get("test_simple_prompt")),
		"This is a simple prompt for testing.");
	assert.equal(said(await get("test_prompt_with_arguments",
		{ arg1: "a", arg2: "b" })),
	"Prompt with arguments: arg1='a', arg2='b'");
	assert.deepEqual(talk.messages.map((one) => one.role),
		["user", "assistant"]);
	const [image] = (await get("test_prompt_with_image")).messages;
	assert.equal(image.content.type, "image");
	const [embedded] = (await get("test_prompt_with_embedded_resource",
		{ resourceUri: "test://x" })).messages;
	assert.equal(embedded.content.resource.uri, "test://x");
});

test("a prompt asks, and the driver answers", async () => {
	const { client, wire, asked } = await connect(both, {
		answers: fills({ context: "a test" }) });
	const result = await client.getPrompt({ name: ASKS });

	assert.equal(said(result), "Use the following context: a test");
	assert.deepEqual(wire.requests.map((one) => one.body.method),
		["prompts/get", "prompts/get"]);
	assert.notEqual(wire.requests[0].to.port, wire.requests[1].to.port);
	assert.equal(asked[0].params.message,
		"What context should the prompt use?");
});

test("a prompt asks, by hand", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const asked = await client.getPrompt({ name: ASKS }, hand);

	assert.deepEqual(Object.keys(asked.inputRequests), ["user_context"]);
	const result = await client.getPrompt({ name: ASKS,
		requestState: asked.requestState,
		inputResponses: { user_context: { action: "decline" } } },
	hand);
	assert.equal(said(result), "Without context: declined");
});

test("a prompt's state is no tool's", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const asked = await client.getPrompt({ name: ASKS }, hand);
	const { requestState } = asked;

	for (const other of [
		() => client.getPrompt({ name: "test_simple_prompt",
			requestState }, hand),
		() => client.callTool({ name: "approve", requestState }, hand),
	])
		await assert.rejects(other, (error) => error.code === -32602 &&
			error.message === "requestState was not accepted");
});

test("a client without forms is refused", async () => {
	const { client } = await connect(both, { can: {} });

	await assert.rejects(client.getPrompt({ name: ASKS }), (error) =>
		error instanceof MissingRequiredClientCapabilityError &&
		error.requiredCapabilities.elicitation.form !== undefined);
});

test("an unknown prompt, and an argument that lacks: -32602", async () => {
	const { client } = await connect(both);

	for (const name of ["no_such_prompt", "test_prompt_with_arguments"])
		await assert.rejects(client.getPrompt({ name, arguments: {} }),
			protocolError(-32602));
});

const complete = (client, value, more) => client.complete({
	ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
	argument: { name: "arg1", value }, ...more });

test("an argument is completed", async () => {
	const { client } = await connect(both);
	const { completion } = await complete(client, "test");

	assert.deepEqual(completion.values, ["testing", "tested", "tests"]);
	assert.equal(completion.hasMore ?? false, false);
});

test("a hundred suggestions at most, and how many there are", async () => {
	const { client } = await connect(both);
	const { completion } = await complete(client, "many");

	assert.equal(completion.values.length, 100);
	assert.equal(completion.total, 1000);
	assert.equal(completion.hasMore, true);
});

test("a completion knows the other arguments", async () => {
	const { client } = await connect(both);
	const { completion } = await client.complete({
		ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
		argument: { name: "arg2", value: "" },
		context: { arguments: { arg1: "chosen" } } });

	assert.deepEqual(completion.values, ["chosen"]);
});

test("a completion for nothing: -32602", async () => {
	const { client } = await connect(both);

	await assert.rejects(complete(client, "x", {
		ref: { type: "ref/prompt", name: "no_such_prompt" } }),
	protocolError(-32602));
});
