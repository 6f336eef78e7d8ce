// examples/list_project_files.c: roots, and how to do without.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { connect, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const project = join(scratch.dir, "a project");
mkdirSync(project);
writeFileSync(join(project, "main.c"), "");
const both = await scratch.examples("list_project_files", [],
	{ ALLOWED_ROOTS: project });
const call = { name: "list_project_files", arguments: {} };
const roots = { roots: [{ uri: pathToFileURL(project).href },
	{ uri: "file:///etc", name: "not ours" }] };

test("asks for the roots, and holds each to what is allowed", async () => {
	const { client, wire } = await connect(both,
		{ answers: { "roots/list": () => roots } });
	const result = await client.callTool(call);

	assert.match(textOf(result), /a project.*\nmain\.c/);
	assert.equal(result.content[1].text, "file:///etc: not allowed here");
	assert.equal(wire.requests.length, 2);
});

test("by hand", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const asked = await client.callTool(call, hand);
	const result = await client.callTool({ ...call,
		requestState: asked.requestState,
		inputResponses: { roots: { roots: [] } } }, hand);

	assert.equal(asked.inputRequests.roots.method, "roots/list");
	assert.equal(textOf(result), "The client has no roots.");
});

test("a path in the arguments needs no roots", async () => {
	const { client, wire } = await connect(both, { can: {} });

	assert.match(textOf(await client.callTool(call)), /Which directory\?/);
	assert.match(textOf(await client.callTool({ ...call,
		arguments: { path: project } })), /main\.c/);
	assert.equal(wire.requests.length, 2);
});
