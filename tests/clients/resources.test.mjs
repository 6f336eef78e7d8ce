// Resources and templates: paging, those that ask, and what the client keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, fills, protocolError } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { ResourceNotFoundError } from "./lib/sdk.mjs";

const scratch = new Scratch();
const both = [await scratch.fixture(), await scratch.fixture()];
const PAPERS = 250;
const textOf = (result) => result.contents[0].text;

// The client's clock, which it takes when it is made, goes on by what is said.
function standStill(t) {
	const { now } = Date;
	let at = now();

	Date.now = () => at;
	t.after(() => { Date.now = now; });
	return (ms) => { at += ms; };
}

test("a list is read to its end, page by page", async () => {
	const { client, wire } = await connect(both);
	const { resources, nextCursor } = await client.listResources();
	const uris = resources.map((one) => one.uri);

	assert.equal(nextCursor, undefined);
	assert.ok(wire.requests.length > 2);
	assert.equal(new Set(uris).size, uris.length);
	assert.equal(uris.filter(
		(one) => /^test:\/\/papers\/\d+$/.test(one)).length, PAPERS);
	// All pages say the same of who may keep them.
	assert.equal(new Set(wire.requests.map(
		(one) => one.reply.result.cacheScope)).size, 1);
});

test("a page at a time, and a cursor that is not ours", async () => {
	const { client } = await connect(both);
	const { nextCursor } = await client.request(
		{ method: "resources/list" });
	const second = await client.listResources({ cursor: nextCursor });

	assert.ok(second.resources.length > 0);
	await assert.rejects(client.listResources({ cursor: "not ours" }),
		protocolError(-32602));
});

test("templates are listed", async () => {
	const { client } = await connect(both);
	const { resourceTemplates } = await client.listResourceTemplates();
	const papers = resourceTemplates.find(
		(one) => one.uriTemplate === "test://papers/{number}");

	assert.equal(papers.title, "Papers");
	assert.equal(papers.annotations.priority, 0.5);
});

test("text, bytes, a template's, and several contents", async () => {
	const { client } = await connect(both);
	const read = (uri) => client.readResource({ uri });
	const { contents } = await read("test://folder");

	assert.equal(textOf(await read("test://static-text")),
		"This is the content of the static text resource.");
	assert.match(textOf(await read("test://template/123/data")),
		/"id":"123"/);
	assert.equal((await read("test://static-binary")).contents[0].mimeType,
		"image/png");
	assert.deepEqual(contents.map((one) => one.uri),
		["test://folder/a", "test://folder/b"]);
});

test("a resource asks, and the driver answers", async () => {
	const { client, wire } = await connect(both, {
		answers: fills({ why: "to know" }) });
	const read = () => client.readResource({ uri: "test://asks" });

	assert.equal(textOf(await read()), "read because: to know");
	assert.deepEqual(wire.requests.map((one) => one.body.method),
		["resources/read", "resources/read"]);
	assert.notEqual(wire.requests[0].to.port, wire.requests[1].to.port);
	// What was read after an answer is not to be kept: it asks again.
	assert.equal(textOf(await read()), "read because: to know");
	assert.equal(wire.requests.length, 4);
});

test("a resource asks, by hand", async () => {
	const { client } = await connect(both);
	const hand = { allowInputRequired: true };
	const uri = "test://asks";
	const asked = await client.readResource({ uri }, hand);

	assert.deepEqual(Object.keys(asked.inputRequests), ["reason"]);
	const result = await client.readResource({ uri,
		requestState: asked.requestState,
		inputResponses: { reason: accept({ why: "by hand" }) } }, hand);
	assert.equal(textOf(result), "read because: by hand");
});

test("what is not there is the client's own error", async () => {
	const { client } = await connect(both);

	for (const uri of ["test://nothing", "test://papers/251"])
		await assert.rejects(client.readResource({ uri }), (error) =>
			error instanceof ResourceNotFoundError &&
			error.code === -32602 && error.uri === uri);
});

test("what cannot be read: -32603", async () => {
	const { client } = await connect(both);

	await assert.rejects(client.readResource({ uri: "test://fails" }),
		protocolError(-32603));
});

test("what was read is kept for as long as it says", async (t) => {
	const tick = standStill(t);
	const { client, wire } = await connect(both);
	const read = (uri) => client.readResource({ uri });

	for (let i = 0; i < 3; i++)
		await read("test://papers/1"); // for a second
	assert.equal(wire.requests.length, 1);
	tick(1001);
	await read("test://papers/1");
	assert.equal(wire.requests.length, 2);
	for (let i = 0; i < 3; i++)
		await read("test://static-text"); // not at all
	assert.equal(wire.requests.length, 5);
});

test("what has changed is read again at once", async (t) => {
	standStill(t);
	const { client, wire } = await connect(both);
	const uri = "test://papers/2";
	const updated = Promise.withResolvers();
	client.setNotificationHandler("notifications/resources/updated",
		updated.resolve);
	await client.listen({ resourceSubscriptions: [uri] });

	await client.readResource({ uri });
	await scratch.operator("signal", "resource", uri);
	assert.equal((await updated.promise).params.uri, uri);
	wire.reset();
	await client.readResource({ uri });
	assert.equal(wire.requests.length, 1);
});

test("a variable of a template is completed", async () => {
	const { client } = await connect(both);
	const { completion } = await client.complete({
		ref: { type: "ref/resource", uri: "test://papers/{number}" },
		argument: { name: "number", value: "24" } });

	assert.deepEqual(completion.values.slice(0, 3), ["24", "240", "241"]);
});
