// examples/checksum_tree.c: long work, persistent, that asks at its end.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { accept, connect, fills, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { fromJsonSchema, isInputRequiredResult, withInputRequired,
} from "./lib/sdk.mjs";

const FILES = 300;
const scratch = new Scratch();
const tree = join(scratch.dir, "tree");
mkdirSync(tree);
for (let i = 0; i < FILES; i++)
	writeFileSync(join(tree, `file${i}`), `${i}\n`);
const both = await scratch.examples("checksum_tree", [],
	{ ALLOWED_ROOTS: scratch.dir });
const call = { name: "checksum_tree", arguments: { path: tree } };

test("asks where the manifest goes, and links to it", async () => {
	const { client, wire, asked } = await connect(both, {
		answers: fills({ write: true, name: "SUMS" }) });
	const seen = [];

	await client.listTools();
	const result = await client.callTool(call,
		{ onprogress: (one) => seen.push(one) });
	assert.equal(result.structuredContent.files, FILES);
	assert.equal(result.structuredContent.manifest,
		join(scratch.dir, "SUMS"));
	assert.ok(existsSync(join(scratch.dir, "SUMS")));
	assert.deepEqual(result.content.map((one) => one.type),
		["text", "resource_link"]);
	assert.equal(wire.of("tools/call").length, 2);
	assert.equal(asked.length, 1);
	assert.equal(seen.filter((one) => one.total === FILES).at(-1).progress,
		FILES);
});

test("asks again when there is such a file", async () => {
	const names = ["TAKEN", "FREE"];
	writeFileSync(join(scratch.dir, "TAKEN"), "");
	const { client, wire, asked } = await connect(both, { answers: {
		"elicitation/create": () => accept({ write: true,
			name: names[asked.length - 1] }) } });
	const result = await client.callTool(call);

	assert.equal(result.structuredContent.manifest,
		join(scratch.dir, "FREE"));
	assert.equal(wire.requests.length, 3);
	assert.match(asked[1].params.message, /TAKEN: File exists/);
});

// callTool() checks even a round against the schema of a listed tool, and finds
// that it has no structured content; request() does not.
test("by hand, once the tools are listed", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const schema = withInputRequired(fromJsonSchema({ type: "object" }));
	const send = (more) => client.request({ method: "tools/call",
		params: { ...call, ...more } }, schema, hand);

	await client.listTools();
	await assert.rejects(client.callTool(call, hand),
		{ name: "ProtocolError",
			message: /did not return structured content/ });
	const asked = await send();
	assert.ok(isInputRequiredResult(asked));
	const [key] = Object.keys(asked.inputRequests);
	const result = await send({ requestState: asked.requestState,
		inputResponses: { [key]: accept({ write: false }) } });
	assert.match(textOf(result), /No manifest was written/);
	assert.equal(result.structuredContent.files, FILES);
});

test("a directory that is not allowed", async () => {
	const { client } = await connect(both);
	const result = await client.callTool({ ...call,
		arguments: { path: "/" } });

	assert.equal(result.isError, true);
	assert.match(textOf(result), /not a directory under an allowed one/);
});
