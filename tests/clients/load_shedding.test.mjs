// examples/load_shedding.c: a computation begun here and ended there, in a
// round that asks nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { fromJsonSchema, isInputRequiredResult, withInputRequired,
} from "./lib/sdk.mjs";

const scratch = new Scratch();
const both = await scratch.examples("load_shedding", [], { SHED_ABOVE: "0" });
const call = { name: "count_primes", arguments: { below: 100_000 } };

test("is handed on once, and counted in two processes", async () => {
	const { client, wire } = await connect(both);

	await client.listTools();
	const result = await client.callTool(call);
	assert.equal(result.structuredContent.primes, 9592);
	assert.equal(wire.of("tools/call").length, 2);
	assert.deepEqual(new Set(result.structuredContent.parts),
		new Set(both.map((one) => one.child.pid)));
});

test("its progress goes on where it was", async () => {
	const { client } = await connect(both);
	const seen = [];
	await client.callTool(call, { onprogress: (one) => seen.push(one) });
	const parts = seen.filter((one) => one.total === 8)
		.map((one) => one.progress);

	assert.equal(parts.at(-1), 8);
	assert.deepEqual(parts, parts.toSorted((a, b) => a - b));
});

test("by hand", async () => {
	const { client } = await connect(both);
	const schema = withInputRequired(fromJsonSchema({ type: "object" }));
	const send = (more) => client.request({ method: "tools/call",
		params: { ...call, ...more } }, schema,
	{ allowInputRequired: true });
	const shed = await send();

	assert.ok(isInputRequiredResult(shed));
	assert.deepEqual(shed.inputRequests, {});
	const result = await send({ requestState: shed.requestState });
	assert.match(textOf(result), /^There are 9592 primes/);
});
