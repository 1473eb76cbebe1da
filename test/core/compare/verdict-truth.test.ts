import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { rules } from "../../../bench/verdicts/rules.ts";
import { cellText, groups, scoreCell } from "../../../bench/verdicts/table.ts";

const ruleOf = (name: string) => rules.find((one) => one.name === name)!;

function slower(rule: string, [group, title]: readonly [group: string, column: string], part = 0.2) {
	const { columns } = groups.find((one) => one.title === group)!;
	return scoreCell(ruleOf(rule), columns.find((one) => one.title === title)!, part).slower;
}

const page = readFileSync("bench/verdict-truth.md", "utf8");

it.each(groups)(
	"bench/verdict-truth.md has a row of every rule for $title, in the order of the bench",
	({ title, columns }) => {
		const [, body = ""] = page.split(`## ${title}\n`);
		const rows = body
			.split("\n## ")[0]
			?.split("\n")
			.filter((line) => line.startsWith("| "));
		expect(rows?.[0]).toBe(`| rule | ${columns.map((column) => column.title).join(" | ")} |`);
		expect(rows?.slice(2).map((row) => row.split(" | ")[0])).toEqual(rules.map(({ name }) => `| ${name}`));
	},
);

it.each(["one run each, +10 %", "one run each, 200 %"])(
	"bench/verdict-truth.md holds what the bench gives for %s",
	(name) => {
		for (const { columns } of groups) {
			const cells = columns.map((column) => cellText(scoreCell(ruleOf(name), column, 1)));
			expect(page).toContain(`| ${name} | ${cells.join(" | ")} |`);
		}
	},
);

it("without a change our rule hardly ever calls a head slower, tests of iterations often do", () => {
	const at = ["False alarms on the noise model", "0.2 %"] as const;
	expect(slower("trtgate, limit 0.5 %", at)).toBeLessThanOrEqual(0.02);
	expect(slower("Mann-Whitney on iterations", at)).toBeGreaterThan(0.2);
});

it("rebuilds without a shared timing cache are called slower, unless several of each side are timed", () => {
	const at = ["False alarms on recorded runs, builds and machines", "encoder, rebuilt"] as const;
	expect(slower("trtgate, limit 0.5 %", at)).toBeGreaterThan(0.1);
	expect(slower("trtgate, limit 0.5 %, 3 builds", at)).toBeLessThanOrEqual(0.03);
});

it("a slowdown of 3 % is found whatever the machine, and despite faults on both sides", () => {
	for (const at of [
		["Slowdowns of 3 % detected on recordings", "magika, three machines"],
		["Slowdowns of 3 % detected under faults", "warm-up unfinished"],
	] as const)
		expect(slower("trtgate, limit 2 %", at, 0.1)).toBeGreaterThan(0.95);
});
