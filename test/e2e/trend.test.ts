import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { HistoryRecord } from "../../generated/history.ts";
import type { trendFacts } from "../../src/core/report/trend-facts.ts";
import { fileOf } from "../../src/history/core/files.ts";
import { buildFacts, buildRatio, buildRecord, buildRow, hash, short } from "../support/history-records.ts";
import { runCli, temporaryFolder, writeProject } from "../support/project.ts";

const slower = (night: number): Partial<HistoryRecord> => {
	const isLate = night >= 30;
	const row = (series: string, ppm: number) =>
		buildRow({
			series,
			ratio: buildRatio(ppm + (night % 3) * 100),
			fresh: buildRatio(ppm, { halfPpm: 500 }),
			head: buildFacts(isLate ? { structure: short("other") } : {}),
		});
	return {
		reference: { label: "release 3.2" },
		rows: [row("det/fp16/b1", isLate ? 13_000 : 0), row("</script><b>/fp16/b1", 0)],
	};
};

function historyIn(folder: string): string {
	const files = Array.from({ length: 45 }, (_, night) => fileOf(buildRecord(night, slower(night)), hash));
	return writeProject(folder, {
		...Object.fromEntries(files.map(({ path, text }) => [path, text])),
		"runs/2026/01/bad.json": "{",
	});
}

it("trtgate trend answers first, names what it skipped, and writes a page without scripts", async () => {
	const folder = historyIn(temporaryFolder());
	const run = await runCli(["trend", ".", "--out", "page.html"], { cwd: folder });
	const answer =
		"1 engine slower than release 3.2, since 2026-01-31, +1.30 % ± 0.05 %: det/fp16, cause: the change";
	expect(run).toMatchObject({
		exit: 0,
		stdout: `${answer}\n`,
		stderr: expect.stringContaining("bad.json: it is not JSON"),
	});
	const page = readFileSync(join(folder, "page.html"), "utf8");
	expect(page).toContain(`<span>${answer}</span></h1>`);
	expect(page).toContain("&lt;/script&gt;&lt;b&gt;/fp16/b1");
	expect(page).toContain("<title>2026-01-31 · ");
	expect(page).toContain("Nobody has decided: <code>trtgate history watch det/fp16 --reason …</code>");
	expect(page).not.toMatch(/<script|script-src|<b>|https?:(?!\/\/www\.w3\.org)/);
});

it("shows who watches an alarm and who accepted it, and accepts nothing that is not open", async () => {
	const folder = historyIn(temporaryFolder());
	const accept = ["history", "accept", "det/fp16", "--reason", "larger </script><b> input", "--folder", "."];
	expect(await runCli([...accept, "--figure", "memory"], { cwd: folder })).toMatchObject({
		exit: 2,
		stderr: expect.stringContaining("Open are: det/fp16/b1: +1.30 % ± 0.05 % slower since 2026-01-31."),
	});
	const watch = [
		"history",
		"watch",
		"det",
		"--by",
		"Ada <i>",
		"--reason",
		"kernels are due",
		"--folder",
		".",
	];
	expect(await runCli(watch, { cwd: folder })).toMatchObject({
		exit: 0,
		stdout: "Watching det/fp16/b1: +1.30 % ± 0.05 % slower since 2026-01-31\n",
	});
	expect((await runCli(["trend", ".", "--out", "page.html"], { cwd: folder })).stdout).toMatch(
		/^1 engine slower/,
	);
	const watched = readFileSync(join(folder, "page.html"), "utf8");
	expect(watched).toMatch(
		/Open for [\d,]+ days\. Watched by Ada &lt;i&gt; since \d{4}-\d\d-\d\d: kernels are due\./,
	);
	expect(await runCli([...accept, "--by", "Bo"], { cwd: folder })).toMatchObject({
		exit: 0,
		stdout: "Accepted det/fp16/b1: +1.30 % ± 0.05 % slower since 2026-01-31\n",
	});
	const run = await runCli(["trend", ".", "--out", "page.html", "--json"], { cwd: folder });
	const { answer, alarms, budget } = JSON.parse(run.stdout) as ReturnType<typeof trendFacts>;
	expect(answer).toMatch(/^No engine is worse than its reference/);
	expect(alarms).toMatchObject([{ state: "accepted", by: "Bo", reason: "larger </script><b> input" }]);
	expect(budget.raised).toEqual({ change: 1, method: 0, host: 0, noise: 0 });
	const page = readFileSync(join(folder, "page.html"), "utf8");
	expect(page).toMatch(/>accepted by Bo on \d{4}-\d\d-\d\d: larger &lt;\/script&gt;&lt;b&gt; input</);
	expect(page).toMatch(
		/1 alarm in [\d,]+ days .*: 1 by the change\. At these limits, the noise of these series raises /,
	);
	expect(page).not.toMatch(/<b>|<i>/);
});

it("trend says what to do if there is no record", async () => {
	const run = await runCli(["trend", "."], { cwd: temporaryFolder() });
	expect(run).toMatchObject({ exit: 2, stderr: expect.stringContaining("trtgate history import") });
});
