// until(TEST) - wait for what TEST looks for, and give what it found.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

export async function until(test, ms = 60_000) {
	const end = Date.now() + ms;
	for (;;) {
		const found = await test();
		if (found)
			return found;
		assert.ok(Date.now() < end,
			`did not happen in ${ms} ms: ${test}`);
		await sleep(10);
	}
}
