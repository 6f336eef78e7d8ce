// The tasks extension, which this client does not know by itself: it takes
// resultType "task" for an error. What it offers is enough to do it by hand:
// requests with a schema of one's own, and subscriptions/listen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, connect, EVERYTHING, protocolError, TASKS, textOf,
} from "./lib/client.mjs";
import { Scratch } from "./lib/server.mjs";
import { fromJsonSchema, MissingRequiredClientCapabilityError, SdkError,
	SdkErrorCode } from "./lib/sdk.mjs";
import { until } from "./lib/until.mjs";

const scratch = new Scratch();
const server = await scratch.fixture();
const other = await scratch.fixture();
const can = { ...EVERYTHING, extensions: { [TASKS]: {} } };
const TASK = fromJsonSchema({ type: "object",
	required: ["taskId", "status"] });
const ACKNOWLEDGED = fromJsonSchema({ type: "object" });

async function tasksClient(where = server) {
	const it = await connect(where, { can });
	const send = (method, schema) => (params) =>
		it.client.request({ method, params }, schema);

	return { ...it,
		get: send("tasks/get", TASK),
		update: send("tasks/update", ACKNOWLEDGED),
		cancel: send("tasks/cancel", ACKNOWLEDGED) };
}

// Calls a tool, and gives the id of the task that it became.
async function begin({ client, wire }, name, args) {
	await assert.rejects(client.callTool({ name, arguments: args }),
		(error) => error instanceof SdkError &&
			error.code === SdkErrorCode.UnsupportedResultType &&
			error.data.resultType === "task");
	return wire.of("tools/call").at(-1).reply.result.taskId;
}

const ENDS = ["completed", "failed", "cancelled"];
const ended = (it, taskId) => until(async () => {
	const task = await it.get({ taskId });
	return ENDS.includes(task.status) && task;
});

test("a tool that answers at once is no task", async () => {
	const { client } = await tasksClient();

	assert.equal(textOf(await client.callTool({ name: "greet",
		arguments: { name: "Kim" } })), "Hello, Kim!");
});

test("a task is asked for until it ends", async () => {
	const it = await tasksClient();
	const taskId = await begin(it, "slow_compute", { seconds: 0.2 });
	const task = await ended(it, taskId);

	assert.equal(task.status, "completed");
	assert.equal(textOf(task.result), "computed it");
	assert.equal(it.wire.of("tasks/get")[0].headers.get("mcp-name"),
		taskId);
});

test("a question is answered by tasks/update", async () => {
	const it = await tasksClient();
	const taskId = await begin(it, "approve");
	const task = await until(async () => {
		const now = await it.get({ taskId });
		return now.status === "input_required" && now;
	});

	assert.deepEqual(Object.keys(task.inputRequests), ["approval"]);
	await it.update({ taskId,
		inputResponses: { approval: accept({ ok: true }) } });
	assert.equal(textOf((await ended(it, taskId)).result), "approved: yes");
});

test("a task is cancelled", async () => {
	const it = await tasksClient();
	const taskId = await begin(it, "busy");

	await until(() => scratch.count("begin") === 1);
	await it.cancel({ taskId });
	assert.equal((await ended(it, taskId)).status, "cancelled");
	await until(() => scratch.count("cancelled") === 1);
});

test("a task that ends in an error, and one that fails", async () => {
	const it = await tasksClient();
	const failed = await ended(it, await begin(it, "protocol_error_job"));
	const unlucky = await ended(it, await begin(it, "failing_job"));

	assert.equal(failed.status, "failed");
	assert.equal(failed.error.code, -32603);
	assert.equal(unlucky.status, "completed");
	assert.equal(unlucky.result.isError, true);
});

test("an unknown task: -32602", async () => {
	const it = await tasksClient();

	for (const ask of [it.get, it.update, it.cancel])
		await assert.rejects(
			ask({ taskId: "t-nothing", inputResponses: {} }),
			(error) => protocolError(-32602)(error) &&
				error.message === "Task not found");
});

test("a listener hears of its task, whichever instance runs it", async () => {
	const it = await tasksClient();
	const there = await tasksClient(other);
	const heard = [];
	const taskId = await begin(it, "approve");
	there.client.setNotificationHandler("notifications/tasks",
		{ params: TASK }, (task) => heard.push(task));
	const subscription = await there.client.listen({ taskIds: [taskId] });

	// It was acknowledged, but the client's filter knows no taskIds.
	assert.deepEqual(subscription.honoredFilter, {});
	// The present state first, which is the question or the way to it.
	await until(() => heard.some((one) => one.status === "input_required"));
	await it.update({ taskId,
		inputResponses: { approval: accept({ ok: true }) } });
	await until(() => heard.at(-1).status === "completed");
	assert.equal(textOf(heard.at(-1).result), "approved: yes");
	assert.ok(heard.every((one) => one.taskId === taskId));
	await subscription.close();
	assert.equal(await subscription.closed, "local");
	await other.metricBecomes("bide_listeners", (n) => n === 0);
});

test("a listener without the extension: -32021", async () => {
	const { client } = await connect(server);

	await assert.rejects(client.listen({ taskIds: ["t"] }), (error) =>
		error instanceof MissingRequiredClientCapabilityError &&
		error.requiredCapabilities.extensions[TASKS] !== undefined);
});

test("tasks/get without the extension: -32021", async () => {
	const { client } = await connect(server);
	const ask = client.request({ method: "tasks/get",
		params: { taskId: "t" } }, TASK);

	await assert.rejects(ask, MissingRequiredClientCapabilityError);
});

test("the server's end of a subscription is a graceful one", async () => {
	const leaving = await scratch.fixture();
	const { client } = await connect(leaving);
	const subscription = await client.listen({ toolsListChanged: true });

	await leaving.stop();
	assert.equal(await subscription.closed, "graceful");
});
