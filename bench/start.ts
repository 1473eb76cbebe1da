// Cold starts, sizes and our own share of a run; each with its limit. `node bench/start.ts`
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

function medianOf(values: number[]): number {
	return values.sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Milliseconds of whole processes, the median of eleven after two warm-up runs. */
function wallMs(argv: string[], env: Record<string, string> = {}): number {
	const times = Array.from({ length: 13 }, () => {
		const start = performance.now();
		spawnSync(process.execPath, argv, { env: { PATH: process.env["PATH"] ?? "", ...env } });
		return performance.now() - start;
	});
	return medianOf(times.slice(2));
}

/** Milliseconds until the action prints its first line; the action then ends because the config is missing. */
async function firstLineMs(): Promise<number> {
	const { spawn } = await import("node:child_process");
	const times: number[] = [];
	for (let round = 0; round < 13; round += 1) {
		const start = performance.now();
		const child = spawn(process.execPath, ["dist/main.js"], {
			env: { PATH: process.env["PATH"] ?? "", INPUT_CONFIG: "none.yml" },
		});
		await new Promise<void>((settle) => child.stdout.once("data", () => settle()));
		times.push(performance.now() - start);
		await new Promise((settle) => child.once("close", settle));
	}
	return medianOf(times.slice(2));
}

function distBytes(pattern: RegExp): number {
	return readdirSync("dist", { recursive: true, encoding: "utf8" })
		.filter((name) => pattern.test(name))
		.reduce((sum, name) => sum + statSync(join("dist", name)).size, 0);
}

/** Wall time of a run less the time during which a child was at work, on the quickstart without a base. */
function ownShare(): { ownMs: number; durationMs: number } {
	const folder = mkdtempSync(join(tmpdir(), "bench-"));
	try {
		const base = "examples/quickstart/base";
		spawnSync(process.execPath, [
			"dist/cli.js",
			"run",
			"--quiet",
			"--head",
			base,
			"--base",
			"examples/quickstart/head",
			"--out",
			join(folder, "out"),
		]);
		const result = JSON.parse(readFileSync(join(folder, "out", "result.json"), "utf8"));
		return { ownMs: result.durationMs - result.childMs, durationMs: result.durationMs };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

const bareMs = wallMs(["-e", "0"]);
const own = ownShare();
const rows: [string, string, string][] = [
	["bare `node -e 0`", `${bareMs.toFixed(0)} ms`, "the floor"],
	["cold start of `--help`", `${wallMs(["dist/cli.js", "--help"]).toFixed(0)} ms`, "≤ 120 ms"],
	["cold start of the action until its first line", `${(await firstLineMs()).toFixed(0)} ms`, "≤ 150 ms"],
	[
		"JavaScript in dist/, GitHub's clients included, which load only to publish",
		`${(distBytes(/\.m?js$/) / 1e6).toFixed(2)} MB`,
		"others 1.9 and 8.9 MB",
	],
	["WebAssembly runtime in dist/, packed", `${(distBytes(/\.gz$/) / 1e6).toFixed(2)} MB`, "–"],
	[
		"own time of a whole run",
		`${own.ownMs.toFixed(0)} ms = ${((100 * own.ownMs) / own.durationMs).toFixed(2)} %`,
		`of ${(own.durationMs / 1000).toFixed(1)} s`,
	],
];
console.log("\n## Start, size, own time\n\n| what | measured | limit |\n|---|---|---|");
for (const row of rows) console.log(`| ${row.join(" | ")} |`);
