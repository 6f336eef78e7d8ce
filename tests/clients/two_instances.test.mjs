// Two instances on one database, and each request of one client at the other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, says, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const both = [await scratch.fixture(), await scratch.fixture()];
const apart = new Scratch();
const hurried = [await apart.fixture("--wait-budget", "300"),
	await apart.fixture("--wait-budget", "300")];

async function call(name, answers, args, options, servers = both) {
	const it = await connect(servers, { answers });
	const result = await it.client.callTool({ name, arguments: args },
		options);

	return { ...it, result };
}

// The rounds went to one and the other, by turns.
function took(wire, rounds) {
	const ports = wire.of("tools/call").map((one) => one.to.port);

	assert.equal(ports.length, rounds);
	for (let i = 1; i < rounds; i++)
		assert.notEqual(ports[i], ports[i - 1]);
}

test("a form", async () => {
	const { result, wire } = await call(
		"test_input_required_result_elicitation",
		{ "elicitation/create": () => accept({ name: "Kim" }) });

	assert.equal(textOf(result), "Hello, Kim!");
	took(wire, 2);
});

test("three kinds at once", async () => {
	const { result, wire } = await call(
		"test_input_required_result_multiple_inputs", {
			"elicitation/create": () => accept({ name: "Kim" }),
			"sampling/createMessage": () => says("Hello."),
			"roots/list": () => ({ roots: [] }),
		});

	assert.equal(textOf(result), "got all three");
	took(wire, 2);
});

test("three rounds", async () => {
	const { result, wire } = await call(
		"test_input_required_result_multi_round", {
			"elicitation/create": ({ message }) => accept(
				message === "Name?" ? { name: "Kim" }
					: { color: "red" }),
		});

	assert.equal(textOf(result), "done");
	took(wire, 3);
});

test("a computation that is handed over, each half once", async () => {
	const { result, wire } = await call("handed_over", {});

	assert.equal(textOf(result), "42");
	took(wire, 2);
	assert.equal(scratch.count("half"), 1);
	assert.equal(scratch.count("rest"), 1);
});

test("a question of a task", async () => {
	const { result, wire } = await call("approve",
		{ "elicitation/create": () => accept({ ok: true }) });

	assert.equal(textOf(result), "approved: yes");
	took(wire, 2);
	assert.equal(scratch.count("before"), 1);
	assert.equal(scratch.count("after"), 1);
});

test("rounds without a question, to wait_for_task, at the other", async () => {
	const { client, wire, result } = await call("long_nap", {},
		{ ms: 8000 }, {}, hurried);
	let last = result;

	took(wire, 3);
	while (last.structuredContent?.handle !== undefined)
		last = await client.callTool({ name: "wait_for_task",
			arguments: { handle: last.structuredContent.handle } });
	assert.equal(textOf(last), "rested");
	assert.equal(apart.count("lie down"), 1);
	assert.equal(apart.count("get up"), 1);
});

test("progress of a task that the other instance runs", async () => {
	const seen = [];
	const { result } = await call("counter", {}, { to: 20, ms: 25 },
		{ onprogress: (one) => seen.push(one) }, hurried);

	assert.equal(textOf(result), "counted to 20");
	const work = seen.filter((one) => one.total === 20)
		.map((one) => one.progress);
	assert.ok(work.length > 0);
	assert.deepEqual(work, work.toSorted((a, b) => a - b));
});
