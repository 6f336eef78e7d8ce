// Lists, what the client keeps of them, and results that it checks itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, protocolError, textOf } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();

test("the list of tools, with what can be shown of one", async () => {
	const { client } = await connect(server);
	const { tools } = await client.listTools();
	const dressed = tools.find((one) => one.name === "dressed.up-1");

	assert.equal(tools.at(-1).name, "wait_for_task");
	assert.equal(dressed.title, "Dressed up");
	assert.equal(dressed.annotations.readOnlyHint, true);
	assert.equal(dressed.icons[0].mimeType, "image/png");
});

test("every content arrives", async () => {
	const { client } = await connect(server);
	const types = async (name, args) => (await client.callTool({ name,
		arguments: args })).content.map((one) => one.type);

	assert.deepEqual(await types("test_simple_text"), ["text"]);
	assert.deepEqual(await types("test_audio_content"), ["audio"]);
	assert.deepEqual(await types("test_embedded_resource"), ["resource"]);
	assert.deepEqual(await types("test_multiple_content_types"),
		["text", "image", "resource"]);
	assert.deepEqual(await types("ends", { how: "" }),
		["text", "image", "resource_link"]);
});

test("structured content is checked against the listed schema", async () => {
	const { client } = await connect(server);

	await client.listTools();
	const result = await client.callTool({ name: "forecast" });
	assert.deepEqual(result.structuredContent,
		{ temperature: 21, sky: "clear" });
	// ... and repeated as text
	assert.deepEqual(JSON.parse(textOf(result)), result.structuredContent);
});

test("the client itself would see content that does not fit", async () => {
	const { client } = await connect(server);
	const { tools } = await client.listTools();
	const tool = tools.find((one) => one.name === "forecast");
	const stricter = { ...tool, outputSchema: { type: "object",
		properties: { temperature: { type: "string" } } } };

	await assert.rejects(client.callTool({ name: "forecast" },
		{ toolDefinition: stricter }), protocolError(-32602));
});

test("the server sends no structured content that does not fit", async () => {
	const { client } = await connect(server);

	await client.listTools();
	await assert.rejects(client.callTool({ name: "breaks_its_schema" }),
		protocolError(-32603));
});
