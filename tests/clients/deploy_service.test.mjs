// examples/deploy_service.c: a question, and an effect after it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { accept, connect, fills, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { isInputRequiredResult } from "./lib/sdk.mjs";

const scratch = new Scratch();
const log = join(scratch.dir, "deployments");
const both = await scratch.examples("deploy_service", [],
	{ DEPLOY_LOG: log });
const call = { name: "deploy_service", arguments: { service: "checkout-api" } };
const deployments = () => existsSync(log)
	? readFileSync(log, "utf8").trimEnd().split("\n") : [];

test("asks where to, and deploys once", async () => {
	const before = deployments().length;
	const { client, wire, asked } = await connect(both, {
		answers: fills({ environment: "staging" }) });
	const result = await client.callTool(call);

	assert.match(textOf(result), /^Deployed checkout-api to staging/);
	assert.equal(wire.requests.length, 2);
	assert.match(asked[0].params.message, /which environment/);
	assert.equal(deployments().length, before + 1);
});

test("by hand; a round that is repeated deploys under one key", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const asked = await client.callTool(call, hand);
	const before = deployments().length;

	assert.ok(isInputRequiredResult(asked));
	const answer = { ...call, requestState: asked.requestState,
		inputResponses: {
			target_env: accept({ environment: "production" }) } };
	for (let i = 0; i < 2; i++)
		assert.match(textOf(await client.callTool(answer, hand)),
			/^Deployed checkout-api to production/);
	const keys = deployments().slice(before)
		.map((one) => one.split(" ")[0]);
	assert.equal(new Set(keys).size, 1);
});

test("a refusal deploys nothing", async () => {
	const before = deployments().length;
	const { client } = await connect(both, { answers: {
		"elicitation/create": () => ({ action: "decline" }) } });

	assert.match(textOf(await client.callTool(call)),
		/declined by the user/);
	assert.equal(deployments().length, before);
});

test("a client without forms is told how to go on", async () => {
	const { client } = await connect(both, { can: {} });
	const result = await client.callTool(call);
	const again = await client.callTool({ ...call,
		arguments: { ...call.arguments, environment: "staging" } });

	assert.match(textOf(result), /"environment" argument/);
	assert.match(textOf(again), /^Deployed checkout-api to staging/);
});
