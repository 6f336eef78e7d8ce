// examples/get_weather.c: a login of the person and a word of the model, both
// in one round.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, fills, says, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { isInputRequiredResult, MissingRequiredClientCapabilityError,
} from "./lib/sdk.mjs";

const scratch = new Scratch();
const both = await scratch.examples("get_weather");
const call = { name: "get_weather", arguments: { location: "New York" } };
const login = fills({ name: "octocat" });

test("asks the person and the model at once", async () => {
	const { client, wire, asked } = await connect(both, { answers: {
		...login,
		"sampling/createMessage": () => says("Fahrenheit") } });
	const result = await client.callTool(call);

	assert.match(textOf(result), /72°F\nConditions: Partly cloudy/);
	assert.equal(wire.requests.length, 2);
	assert.deepEqual(asked.map((one) => one.method).sort(),
		["elicitation/create", "sampling/createMessage"]);
});

test("by hand, one answer at a time", async () => {
	const { client } = await connect(both);
	const round = (more) => client.callTool({ ...call, ...more },
		{ allowInputRequired: true });
	const asked = await round();

	assert.deepEqual(Object.keys(asked.inputRequests).sort(),
		["github_login", "unit"]);
	const rest = await round({ requestState: asked.requestState,
		inputResponses: { unit: says("Celsius") } });
	assert.ok(isInputRequiredResult(rest));
	assert.deepEqual(Object.keys(rest.inputRequests), ["github_login"]);
	const result = await round({ requestState: rest.requestState,
		inputResponses: {
			github_login: accept({ name: "octocat" }) } });
	assert.match(textOf(result), /22°C/);
});

test("a client without a model is not asked for one", async () => {
	const { client, asked } = await connect(both,
		{ can: { elicitation: { form: {} } }, answers: login });
	const result = await client.callTool(call);

	assert.match(textOf(result), /22°C/);
	assert.equal(asked.length, 1);
});

test("a client without forms is refused", async () => {
	const { client } = await connect(both, { can: { sampling: {} } });

	await assert.rejects(client.callTool(call), (error) =>
		error instanceof MissingRequiredClientCapabilityError &&
		error.requiredCapabilities.elicitation.form !== undefined);
});
