import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { git } from "../support/git-history.ts";
import { temporaryFolder } from "../support/project.ts";

it("the example repository shows a pass, a slowdown, a wrong output and an undecided change, each called a replay", () => {
	const out = join(temporaryFolder(), "example");
	execFileSync(process.execPath, ["examples/repository/make.ts", out], { stdio: "pipe" });
	const headlines = readdirSync(join(out, "reports")).map((name) => {
		const folder = join(out, "reports", name);
		const comment = readFileSync(join(folder, "comment.md"), "utf8");
		expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("This is a replay");
		expect(comment.match(/\]\([^)]*\)/g)).toEqual(["](report.html)"]);
		return /^## (.*)$/m.exec(comment)?.[1];
	});
	expect(headlines).toEqual([
		expect.stringMatching(
			/^✅ TensorRT gate \(replay of an H200\) · \w{7}: all \d+ checks pass .* slowdowns of 0\.5 % or more are ruled out$/,
		),
		expect.stringMatching(
			/^❌ TensorRT gate \(replay of an H200\) · \w{7}: classifier · fp16 · batch 8 is 4\.1 % slower /,
		),
		expect.stringMatching(
			/^❌ TensorRT gate \(replay of an H200\) · \w{7}: segmenter · fp32 does not match its goldens /,
		),
		expect.stringMatching(
			/^❔ TensorRT gate \(replay of an H200\) · \w{7}: encoder · fp16 · 4 × 64 is inconclusive · /,
		),
	]);
	expect(git(join(out, "repository"), "branch", "--format=%(refname:short)").split("\n").sort()).toEqual([
		"export-encoder",
		"export-encoder-2",
		"main",
		"retrain-segmenter",
		"wider-classifier",
	]);
	expect(git(join(out, "repository"), "status", "--porcelain")).toBe("");
	expect(existsSync(join(out, "repository/.github/workflows/engines.yml"))).toBe(true);
	const page = readFileSync(join(out, "index.html"), "utf8");
	expect(page.match(/check: (\w+)/g)).toEqual(
		["success", "failure", "failure", "neutral"].map((one) => `check: ${one}`),
	);
});

it("the example repository takes no more than 30 kB of this one", () => {
	const sizes = readdirSync("examples/repository").map(
		(name) => statSync(join("examples/repository", name)).size,
	);
	expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(30_000);
});
