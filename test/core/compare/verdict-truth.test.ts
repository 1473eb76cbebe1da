import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { rules } from "../../../bench/verdicts/rules.ts";
import { cellText, groups, scoreCell } from "../../../bench/verdicts/table.ts";

const ruleOf = (name: string) => {
	const rule = rules.find((one) => one.name === name);
	if (rule === undefined) throw new Error(name);
	return rule;
};
const columnOf = (group: string, title: string) => {
	const column = groups.find((one) => one.title === group)?.columns.find((one) => one.title === title);
	if (column === undefined) throw new Error(`${group}: ${title}`);
	return column;
};
const slower = (rule: string, at: readonly [group: string, column: string], part: number): number =>
	scoreCell(ruleOf(rule), columnOf(...at), part).slower;

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
		for (const { title, columns } of groups) {
			const cells = columns.map((column) => cellText(scoreCell(ruleOf(name), column, 1)));
			expect(page).toContain(`| ${name} | ${cells.join(" | ")} |`);
			expect(title).not.toBe("");
		}
	},
);

it("without a change our rule hardly ever calls a head slower, and tests of iterations do so all the time", () => {
	const at = ["False alarms on the noise model", "0.2 %"] as const;
	expect(slower("trtgate, limit 0.5 %", at, 0.2)).toBeLessThanOrEqual(0.02);
	expect(slower("Mann-Whitney on iterations", at, 0.2)).toBeGreaterThan(0.2);
});

it("rebuilds without a shared timing cache are called slower, unless several builds each of base and head are timed", () => {
	const at = ["False alarms on recorded runs, builds and machines", "encoder, rebuilt"] as const;
	expect(slower("trtgate, limit 0.5 %", at, 0.2)).toBeGreaterThan(0.1);
	expect(slower("trtgate, limit 0.5 %, 3 builds", at, 0.2)).toBeLessThanOrEqual(0.03);
});

it("a slowdown of 3 % is found whatever the machine, and faults on both sides do not hide it", () => {
	expect(
		slower("trtgate, limit 2 %", ["Slowdowns of 3 % detected on recordings", "magika, three machines"], 0.1),
	).toBeGreaterThan(0.95);
	expect(
		slower("trtgate, limit 2 %", ["Slowdowns of 3 % detected under faults", "warm-up unfinished"], 0.1),
	).toBeGreaterThan(0.95);
});
