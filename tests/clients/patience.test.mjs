// Work that takes longer than this client waits: its default time-out (60 s)
// and its default of ten rounds, against the server's default wait (45 s). The
// servers' clock is moved while a request waits, and not otherwise.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, fills, sdkError, textOf } from "./lib/client.mjs";
import { Clock, Scratch } from "./lib/server.mjs";
import { isInputRequiredResult, SdkErrorCode } from "./lib/sdk.mjs";
import { until } from "./lib/until.mjs";

const BUDGET_MS = 45_000;
const MINUTE_MS = 60_000;
// As Server.metric() has it.
const headers = { connection: "close" };

const scratch = new Scratch();
const clock = new Clock(scratch);
const server = await scratch.fixture("--test-clock", clock.file);
const apart = new Scratch();
const endless = await apart.fixture("--wait-for-task=false",
	"--wait-budget", "100", "--drain-grace", "1000");

let asleep = 0;

// Whether a request waits for a task that sleeps. "lie down" is its step
// before, and looked for first: it has run, and runs no longer.
const waits = async () => scratch.count("lie down") >= asleep &&
	await server.metric("bide_tasks_running") === 0 &&
	await server.metric("bide_waiters") > 0;

// A call of a tool that sleeps. Each request waits for as long as it may, or
// until the sleep is over.
class Nap {
	moved = 0;
	calls = 0;

	constructor(client, ms) {
		this.client = client;
		this.ms = ms;
		this.left = ms;
		asleep++;
	}

	async #passTime(promise) {
		let open = true;

		promise.catch(() => {}).finally(() => (open = false));
		while (open) {
			await until(async () => !open || await waits());
			if (!open || this.left === 0)
				break;
			const ms = Math.min(BUDGET_MS + 1, this.left);
			this.left -= ms;
			this.moved++;
			clock.forward(ms);
			await until(async () => !open ||
				await server.metric("bide_waiters") === 0);
		}
		return promise;
	}

	// As a model does it: the call, then wait_for_task until it is done.
	async through(name) {
		const call = (tool, args) => this.#passTime(
			this.client.callTool({ name: tool, arguments: args }));
		let result = await call(name, { ms: this.ms });
		let handle;

		while ((handle = result.structuredContent?.handle)) {
			assert.match(textOf(result), /wait_for_task/);
			result = await call("wait_for_task", { handle });
			this.calls++;
		}
		return result;
	}
}

test("work of a minute is had within one call", async () => {
	const { client, wire } = await connect(server, { headers });
	const nap = new Nap(client, MINUTE_MS);

	assert.equal(textOf(await nap.through("long_nap")), "rested");
	assert.equal(nap.calls, 0);
	assert.equal(wire.requests.length, 2);
	assert.deepEqual(wire.requests[0].reply.result.inputRequests, {});
});

test("work of ten minutes is had by wait_for_task", async () => {
	const { client, wire } = await connect(server, { headers });
	const nap = new Nap(client, 10 * MINUTE_MS);

	assert.equal(textOf(await nap.through("long_nap")), "rested");
	// Of each call two rounds without a question, and the third is a
	// result: fourteen waits, by threes.
	assert.equal(nap.moved, 14);
	assert.equal(nap.calls, 4);
	assert.equal(wire.requests.length, 14);
	assert.equal(scratch.count("lie down"), asleep);
});

test("wait_for_task asks what the task asks", async () => {
	const { client, asked } = await connect(server, {
		headers, answers: fills({ name: "Kim" }) });
	const nap = new Nap(client, 4 * MINUTE_MS);

	assert.equal(textOf(await nap.through("nap_then_ask")), "Hello, Kim!");
	assert.ok(nap.calls > 0);
	assert.equal(asked.length, 1);
});

test("without wait_for_task it gives up after ten rounds", async () => {
	const { client, wire } = await connect(endless);
	const params = { name: "busy", arguments: { ms: 60_000 } };
	let last;

	await assert.rejects(client.callTool(params), (error) => {
		last = error.data.lastResult;
		return error.data.rounds === 10 && sdkError(
			SdkErrorCode.InputRequiredRoundsExceeded)(error);
	});
	assert.equal(wire.requests.length, 11);
	// The error has the state: a host can go on from there.
	const again = await client.callTool({ ...params,
		requestState: last.requestState },
	{ allowInputRequired: true });
	assert.ok(isInputRequiredResult(again));
});

test("a state-only round without the driver's patience", async () => {
	const { client, wire } = await connect(endless,
		{ inputRequired: { maxRounds: 1 } });

	await assert.rejects(client.callTool({ name: "busy",
		arguments: { ms: 60_000 } }),
	sdkError(SdkErrorCode.InputRequiredRoundsExceeded));
	assert.equal(wire.requests.length, 2);
});
