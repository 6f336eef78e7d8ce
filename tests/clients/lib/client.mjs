// The official client, connected at revision 2026-07-28, and a record of what
// it put on the wire.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { after } from "node:test";
import { Client, ProtocolError, SdkError, StreamableHTTPClientTransport,
} from "./sdk.mjs";

export const REVISION = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";

// All that this client can be asked for.
export const EVERYTHING = {
	elicitation: { form: {}, url: {} },
	sampling: { tools: {}, context: {} },
	roots: {},
};

export const accept = (content) => ({ action: "accept", content });
// What answers every form with @content.
export const fills = (content) => ({
	"elicitation/create": () => accept(content),
});
export const says = (text) => ({ role: "assistant", model: "test",
	stopReason: "endTurn", content: { type: "text", text } });

// A line for what a server sent, for tests/unit/protocol/test_wire_schema.c.
function log(method, status, message) {
	const file = process.env.BIDE_WIRE_LOG;
	const line = "id" in message ? { method, status, events: [], message }
		: { method, status, events: [message] };

	if (file !== undefined)
		appendFileSync(file, `${JSON.stringify(line)}\n`);
}

// Sends the requests to @urls in turn, and keeps what was sent and answered.
class Wire {
	requests = [];
	#turn = 0;

	constructor(urls, rewrite) {
		this.urls = urls;
		this.rewrite = rewrite;
	}

	fetch = async (_url, init) => {
		const to = this.urls[this.#turn++ % this.urls.length];
		const one = { to, body: JSON.parse(init.body),
			headers: new Headers(init.headers) };
		this.requests.push(one);
		const response = await fetch(to, init);
		one.status = response.status;
		one.type = response.headers.get("content-type");
		if (one.type === "text/event-stream")
			return new Response(response.body.pipeThrough(
				this.#watch(one)), response);
		if (one.type !== "application/json")
			return response;
		one.reply = await response.json();
		log(one.body.method, one.status, one.reply);
		return new Response(JSON.stringify(
			this.rewrite(one.reply, one.body)), response);
	};

	// Lets a stream through; each event of ours is one line of data.
	#watch({ body, status }) {
		const decoder = new TextDecoder();
		let text = "";

		return new TransformStream({ transform(chunk, out) {
			out.enqueue(chunk);
			text += decoder.decode(chunk, { stream: true });
			const lines = text.split("\n");
			text = lines.pop();
			for (const line of lines)
				if (line.startsWith("data:"))
					log(body.method, status,
						JSON.parse(line.slice(5)));
		} });
	}

	// Begins anew, with the first of its urls.
	reset() {
		this.requests = [];
		this.#turn = 0;
	}

	// The requests of one method.
	of(method) {
		return this.requests.filter(
			(one) => one.body.method === method);
	}
}

/**
 * connect(SERVERS, HOW) - a client of one server, or of several in turn.
 *   can:     its capabilities; EVERYTHING unless said
 *   answers: {"elicitation/create": fn, ...}; fn gets the request's params
 *   headers: of every request
 *   rewrite: what to make of a reply, for what no server of ours would say
 *   and the options of the client's own constructor
 */
export async function connect(servers, how = {}) {
	const { can = EVERYTHING, answers = {}, headers,
		rewrite = (reply) => reply, ...options } = how;
	const wire = new Wire([servers].flat().map((one) => one.url), rewrite);
	const client = new Client({ name: "bide-clients", version: "1" }, {
		capabilities: can,
		versionNegotiation: { mode: { pin: REVISION } },
		...options,
	});
	const asked = [];
	for (const [method, answer] of Object.entries(answers))
		client.setRequestHandler(method, async (request) => {
			asked.push(request);
			return answer(request.params);
		});
	await client.connect(new StreamableHTTPClientTransport(wire.urls[0],
		{ fetch: wire.fetch, requestInit: { headers } }));
	assert.equal(client.getNegotiatedProtocolVersion(), REVISION);
	wire.reset();
	after(() => client.close());
	return { client, wire, asked };
}

// Whether it is the client's own error, with a code of the server's or its own.
export const protocolError = (code) => (error) =>
	error instanceof ProtocolError && error.code === code;
export const sdkError = (code) => (error) =>
	error instanceof SdkError && error.code === code;

export const textOf = (result) => result.content[0].text;
