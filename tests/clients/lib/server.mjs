// Starts the real programs: one instance is one child process.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync,
	rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import { until } from "./until.mjs";

// The runner ends a file that takes too long so; its servers go with it.
process.once("SIGTERM", () => process.exit(1));

const build = process.env.BIDE_BUILD;
const START_MS = 60_000;

// A folder of its own, with the database of the instances that share it.
export class Scratch {
	constructor() {
		this.dir = mkdtempSync(join(tmpdir(), "bide-clients."));
		this.db = join(this.dir, "bide.db");
		this.effectsFile = join(this.dir, "effects");
		this.servers = [];
		after(() => this.end());
	}

	// What handlers of the fixture did, one word each, in order.
	effects() {
		if (!existsSync(this.effectsFile))
			return [];
		return readFileSync(this.effectsFile, "utf8").trimEnd()
			.split("\n")
			.map((line) => line.replace(/^\S+ \S+ \S+ /, ""));
	}

	count(effect) {
		return this.effects().filter((one) => one === effect).length;
	}

	// An instance of the fixture on this database.
	fixture(...args) {
		return this.start(join(build, "tests", "bide-fixture"),
			["--effects", this.effectsFile, ...args]);
	}

	// What an operator does on the command line, beside the instances.
	async operator(...args) {
		await promisify(execFile)(join(build, "tests", "bide-fixture"),
			[...args, "--db", this.db]);
	}

	// Two instances of an example on this database.
	async examples(name, args, env) {
		const program = join(build, "examples", name);

		return [await this.start(program, args, env),
			await this.start(program, args, env)];
	}

	async start(program, args = [], env = {}) {
		const log = join(this.dir, `log-${this.servers.length}`);
		const server = new Server(program, ["serve", "--listen",
			"127.0.0.1:0", "--db", this.db, ...args], env, log);
		this.servers.push(server);
		await server.listens();
		return server;
	}

	async end() {
		await Promise.all(this.servers.map((server) => server.stop()));
		for (const { end, log } of this.servers)
			assert.ok(end === 0 || end === "SIGKILL",
				`an instance ended with ${end}:\n` +
				log.slice(-4000));
		rmSync(this.dir, { recursive: true });
	}
}

class Server {
	constructor(program, args, env, log) {
		const to = openSync(log, "w");

		this.logFile = log;
		this.child = spawn(program, args, {
			env: { ...process.env, ...env },
			stdio: ["ignore", "ignore", to] });
		closeSync(to);
		this.exit = once(this.child, "exit").then(
			([code, signal]) => (this.end ??= code ?? signal));
		process.on("exit", () => this.child.kill("SIGKILL"));
	}

	// A file and no pipe: what was said before a reply is there after it.
	get log() {
		return readFileSync(this.logFile, "utf8");
	}

	async listens() {
		const found = () => this.log.match(
			/"serve\.ready".*?"url": ?"([^"]*)"/);
		await until(() => found() || this.child.exitCode !== null,
			START_MS);
		assert.ok(found(), `it does not serve:\n${this.log}`);
		this.url = new URL(found()[1]);
	}

	async metric(name) {
		// One that is kept would be found idle when a clock moves.
		const page = await fetch(new URL("/metrics", this.url),
			{ headers: { connection: "close" } });
		const text = await page.text();
		const line = new RegExp(`^${name} (\\S+)$`, "m");

		return Number(text.match(line)?.[1]);
	}

	// Until the metric is what @test wants.
	metricBecomes(name, test) {
		return until(async () => test(await this.metric(name)));
	}

	async stop() {
		this.child.kill("SIGTERM");
		await this.exit;
	}

	// At once, and by the test's own will.
	async kill() {
		this.child.kill("SIGKILL");
		await this.exit;
	}
}

// The clock that instances with "--test-clock FILE" share: milliseconds that
// are added to every reading of theirs (server/base/clock.h).
export class Clock {
	#ms = 0n;

	constructor(scratch) {
		this.file = join(scratch.dir, "clock");
		this.forward(0);
	}

	forward(ms) {
		this.#ms += BigInt(ms);
		// In place: the instances have it mapped.
		writeFileSync(this.file, new BigInt64Array([this.#ms]),
			{ flag: existsSync(this.file) ? "r+" : "w" });
	}
}
