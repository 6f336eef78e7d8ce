// report.mjs OUT SCENARIO... - read what the suite left under OUT/<scenario>/
// and print one line a scenario. A FAILURE or a WARNING fails the scenario, and
// so does a scenario that left nothing; one that only skipped is skipped.
import { appendFileSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

function checksOf(dir) {
	if (!existsSync(dir))
		return null;
	for (const sub of readdirSync(dir)) {
		const file = join(dir, sub, "checks.json");
		if (existsSync(file))
			return JSON.parse(readFileSync(file, "utf8"));
	}
	return null;
}

function count(checks, status) {
	return checks.filter((check) => check.status === status).length;
}

const [out, ...scenarios] = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
const good = new Set();
const complaints = [];
const row = (name, ...cells) =>
	console.log(name.padEnd(48) +
		cells.map((cell) => String(cell).padStart(9)).join(""));

row("scenario", "passed", "failed", "warnings", "skipped");
for (const name of scenarios) {
	const checks = checksOf(join(out, name));
	if (checks === null) {
		row(name, "-", "-", "-", "-");
		complaints.push(`${name}: the suite left no checks`);
		total.failed++;
		continue;
	}
	const passed = count(checks, "SUCCESS");
	const failed = count(checks, "FAILURE");
	const warnings = count(checks, "WARNING");
	row(name, passed, failed, warnings, count(checks, "SKIPPED"));
	for (const check of checks)
		if (check.status === "FAILURE" || check.status === "WARNING")
			complaints.push(`${name}: ${check.status} ${check.id}: ` +
				(check.errorMessage ?? check.description));
	if (failed + warnings > 0)
		total.failed++;
	else {
		good.add(name);
		if (passed > 0 || count(checks, "INFO") > 0)
			total.passed++;
		else
			total.skipped++;
	}
}
for (const text of complaints)
	console.log(text.split("\n")[0]);
console.log(`${total.passed} scenarios passed, ${total.failed} failed, ` +
	`${total.skipped} skipped by the suite itself`);

// As the suite counts: what it skips by itself is no failure.
const listed = (word) =>
	readFileSync(join(import.meta.dirname, "scenarios"), "utf8")
		.split("\n")
		.filter((line) => line.startsWith(`${word} `))
		.map((line) => line.split(" ")[1]);
const share = (word) => {
	const all = listed(word).filter((name) => scenarios.includes(name));
	return `${all.filter((name) => good.has(name)).length} of ${all.length}`;
};
console.log(`${share("scored")} scored and ${share("beyond")} not scored, ` +
	"without a warning");
if (process.env.BIDE_TALLY)
	appendFileSync(process.env.BIDE_TALLY,
		`${total.passed} ${total.failed} ${total.skipped}\n`);
process.exit(total.failed > 0 ? 1 : 0);
