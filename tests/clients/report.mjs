// What node --test says, shorter: a line for each file, all of what failed, and
// the closing line. The counts go to BIDE_TALLY too.
import { appendFileSync } from "node:fs";
import { basename } from "node:path";
import { inspect } from "node:util";
import { sdkVersion } from "./lib/sdk.mjs";

function complaint(test) {
	const why = test.details.error?.cause ?? test.details.error;
	return `${basename(test.file)}:${test.line}: ${test.name}\n` +
		`${inspect(why).replace(/^/gm, "    ")}\n`;
}

export default async function* report(events) {
	const began = Date.now();
	const total = { passed: 0, failed: 0, skipped: 0 };
	for await (const { type, data } of events) {
		if (type === "test:stderr" || type === "test:stdout")
			yield data.message;
		if (type !== "test:pass" && type !== "test:fail")
			continue;
		// A file that cannot be run is a test of its own name.
		if (type === "test:fail") {
			total.failed++;
			yield `FAILED ${complaint(data)}`;
		} else if (data.skip !== undefined) {
			total.skipped++;
			yield `skipped ${data.name}: ${data.skip}\n`;
		} else {
			total.passed++;
		}
	}
	if (process.env.BIDE_TALLY)
		appendFileSync(process.env.BIDE_TALLY,
			`${total.passed} ${total.failed} ${total.skipped}\n`);
	yield `clients: TypeScript ${sdkVersion}: ${total.passed} passed, ` +
		`${total.failed} failed, ${total.skipped} skipped, ` +
		`${Math.round((Date.now() - began) / 1000)} s\n`;
}
