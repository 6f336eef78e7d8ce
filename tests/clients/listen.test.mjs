// subscriptions/listen: lists and resources, from whichever instance it comes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { until } from "./lib/until.mjs";

const scratch = new Scratch();
const [here, there] = [await scratch.fixture(), await scratch.fixture()];
const LISTS = ["tools", "prompts", "resources"];

// A client that hears of lists and resources, by the method's name.
async function hearing(server, filter, options) {
	const it = await connect(server, options);
	const heard = [];

	for (const list of LISTS)
		it.client.setNotificationHandler(
			`notifications/${list}/list_changed`,
			() => heard.push(list));
	it.client.setNotificationHandler("notifications/resources/updated",
		({ params }) => heard.push(params.uri));
	return { ...it, heard, subscription: await it.client.listen(filter) };
}

async function trigger(server, name, args) {
	const { client } = await connect(server);
	await client.callTool({ name, arguments: args });
}

test("a change of a list is told, from either instance", async () => {
	const { heard, subscription } = await hearing(here,
		{ toolsListChanged: true, promptsListChanged: true });

	assert.deepEqual(subscription.honoredFilter,
		{ toolsListChanged: true, promptsListChanged: true });
	await trigger(here, "test_trigger_tool_change");
	await until(() => heard.length === 1);
	await trigger(there, "test_trigger_prompt_change");
	await until(() => heard.length === 2);
	assert.deepEqual(heard, ["tools", "prompts"]);
	await subscription.close();
});

test("the operator's word is told", async () => {
	const resourceSubscriptions = ["test://watched-resource"];
	const { heard, subscription } = await hearing(here,
		{ resourcesListChanged: true, resourceSubscriptions });

	assert.deepEqual(subscription.honoredFilter,
		{ resourcesListChanged: true, resourceSubscriptions });
	await scratch.operator("signal", "resources");
	await until(() => heard.length === 1);
	await scratch.operator("signal", "resource", "test://static-text");
	await scratch.operator("signal", "resource", "test://watched-resource");
	await until(() => heard.length === 2);
	assert.deepEqual(heard, ["resources", "test://watched-resource"]);
});

test("nothing is told that was not asked for", async () => {
	const prompts = await hearing(here, { promptsListChanged: true });
	const tools = await hearing(here, { toolsListChanged: true });

	await trigger(there, "test_trigger_tool_change");
	await until(() => tools.heard.length === 1);
	await trigger(there, "test_trigger_prompt_change");
	await until(() => prompts.heard.length === 1);
	assert.deepEqual(prompts.heard, ["prompts"]);
	assert.deepEqual(tools.heard, ["tools"]);
});

test("two subscriptions of one client", async () => {
	const { client, heard, subscription } = await hearing(here,
		{ toolsListChanged: true });
	const other = await client.listen({ promptsListChanged: true });

	await trigger(here, "test_trigger_tool_change");
	await until(() => heard.length === 1);
	await subscription.close();
	await trigger(here, "test_trigger_prompt_change");
	await until(() => heard.length === 2);
	assert.deepEqual(heard, ["tools", "prompts"]);
	await other.close();
	await here.metricBecomes("bide_listeners", (n) => n === 0);
});

test("a client that is told lists anew", async () => {
	const listed = [];
	const { client } = await connect(here, { listChanged: { tools: {
		debounceMs: 0,
		onChanged: (error, tools) =>
			listed.push(error ?? tools.length) } } });

	assert.deepEqual(client.autoOpenedSubscription.honoredFilter,
		{ toolsListChanged: true });
	await trigger(there, "test_trigger_tool_change");
	await until(() => listed.length === 1);
	assert.equal(listed[0], (await client.listTools()).tools.length);
});
