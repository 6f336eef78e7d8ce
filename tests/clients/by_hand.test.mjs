// The same flows by hand: "allowInputRequired" gives each round to the caller,
// who sends the answers and the state back as params of a fresh call.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, protocolError, says, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { fromJsonSchema, isInputRequiredResult, withInputRequired,
} from "./lib/sdk.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();
const BY_HAND = { allowInputRequired: true };

async function hand(name, args) {
	const { client } = await connect(server);
	const params = { name, arguments: args };
	const round = (more) => client.callTool({ ...params, ...more },
		BY_HAND);

	return { client, round };
}

// The questions' keys; and that this is a round, and not the end.
function keysOf(result) {
	assert.ok(isInputRequiredResult(result));
	return Object.keys(result.inputRequests);
}

test("a form", async () => {
	const { round } = await hand("test_input_required_result_elicitation");
	const asked = await round();

	assert.deepEqual(keysOf(asked), ["user_name"]);
	assert.equal(asked.inputRequests.user_name.method,
		"elicitation/create");
	const result = await round({ requestState: asked.requestState,
		inputResponses: { user_name: accept({ name: "Kim" }) } });
	assert.equal(textOf(result), "Hello, Kim!");
});

test("a page", async () => {
	const { round } = await hand("ask_anyway", { kind: "url" });
	const asked = await round();

	assert.equal(asked.inputRequests.q.params.mode, "url");
	const result = await round({ requestState: asked.requestState,
		inputResponses: { q: { action: "decline" } } });
	assert.equal(textOf(result), "declined");
});

test("three questions, answered in two rounds", async () => {
	const { round } = await hand(
		"test_input_required_result_multiple_inputs");
	const asked = await round();

	assert.deepEqual(keysOf(asked).sort(),
		["client_roots", "greeting", "user_name"]);
	const rest = await round({ requestState: asked.requestState,
		inputResponses: { greeting: says("Hello."),
			client_roots: { roots: [] }, nonsense: accept({}) } });
	// What was given is kept, what was not asked is not missed.
	assert.deepEqual(keysOf(rest), ["user_name"]);
	const result = await round({ requestState: rest.requestState,
		inputResponses: { user_name: accept({ name: "Kim" }) } });
	assert.equal(textOf(result), "got all three");
});

test("two questions, one after the other", async () => {
	const { round } = await hand("test_input_required_result_multi_round");
	const first = await round();
	const second = await round({ requestState: first.requestState,
		inputResponses: { step1: accept({ name: "Kim" }) } });

	assert.deepEqual(keysOf(second), ["step2"]);
	assert.notEqual(second.requestState, first.requestState);
	const result = await round({ requestState: second.requestState,
		inputResponses: { step2: accept({ color: "red" }) } });
	assert.equal(textOf(result), "done");
});

test("a round without a question", async () => {
	const { round } = await hand("handed_over");
	const shed = await round();

	assert.deepEqual(keysOf(shed), []);
	const result = await round({ requestState: shed.requestState });
	assert.equal(textOf(result), "42");
});

test("a persistent tool: any round is good, and the result stays", async () => {
	const { round } = await hand("approve");
	const asked = await round();

	assert.deepEqual(keysOf(asked), ["approval"]);
	const again = await round({ requestState: asked.requestState });
	assert.deepEqual(keysOf(again), ["approval"]);
	const answer = { requestState: asked.requestState,
		inputResponses: { approval: accept({ ok: false }) } };
	assert.equal(textOf(await round(answer)), "approved: no");
	const late = await round({ requestState: again.requestState,
		inputResponses: { approval: accept({ ok: true }) } });
	assert.equal(textOf(late), "approved: no");
});

test("an answer that does not fit: the question has a new key", async () => {
	const { round } = await hand("approve");
	const asked = await round();
	const again = await round({ requestState: asked.requestState,
		inputResponses: { approval: accept({ ok: "yes" }) } });

	assert.deepEqual(keysOf(again), ["approval~2"]);
	const result = await round({ requestState: again.requestState,
		inputResponses: { "approval~2": accept({ ok: true }) } });
	assert.equal(textOf(result), "approved: yes");
});

test("a state that is not ours is refused", async () => {
	const { round } = await hand("approve");
	const other = await hand("two_step");
	const asked = await round();

	for (const again of [
		() => round({ requestState: `${asked.requestState}A` }),
		() => round({ requestState: "b1.x.y" }),
		() => other.round({ requestState: asked.requestState }),
	])
		await assert.rejects(again, (error) =>
			protocolError(-32602)(error) &&
			error.message === "requestState was not accepted");
});

test("answers of a wrong shape are refused", async () => {
	const { round } = await hand("approve");
	const { requestState } = await round();

	for (const inputResponses of [[], "yes", { approval: 7 }])
		await assert.rejects(round({ requestState, inputResponses }),
			protocolError(-32602));
});

test("request() with a schema of one's own", async () => {
	const { client } = await hand();
	const schema = withInputRequired(fromJsonSchema({ type: "object",
		required: ["content"] }));
	const send = (params) => client.request({ method: "tools/call",
		params: { name: "approve", ...params } }, schema, BY_HAND);
	const asked = await send({});

	assert.deepEqual(keysOf(asked), ["approval"]);
	const result = await send({ requestState: asked.requestState,
		inputResponses: { approval: accept({ ok: true }) } });
	assert.equal(textOf(result), "approved: yes");
});
