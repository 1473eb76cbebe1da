import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
	distWithFaultyWorker,
	expectExit,
	gateFolders,
	quickConfig,
	twoProjects,
	untimed,
} from "../support/project.ts";
import { until } from "../support/until.ts";

/** No golden case runs where each timed run hangs: the limit ends nothing but what hangs, on a loaded machine too. */
const impatient = quickConfig.replace("threads: 1", "threads: 1, timeout: 1s");
const withoutGolden = impatient.replace(/ {4}golden:.*\n/, "");

const arms = (files: Record<string, string>, head = "reexported"): string =>
	twoProjects(files, { "model.onnx": `fixture:${head}.onnx`, ...files });

interface Fault {
	what: string;
	kind: "build" | "infer" | "count";
	misbehave: string;
	code: string;
	says: RegExp;
}

const hang = {
	misbehave: "setInterval(() => {}, 1000); await new Promise(() => {});",
	code: "tool-timeout",
	says: /1 s/,
};

const faults: Fault[] = [
	{ what: "hangs while it counts", kind: "count", ...hang },
	{
		what: "crashes while it counts",
		kind: "count",
		misbehave: 'console.error("last words"); process.exit(9);',
		code: "tool-crashed",
		says: /last words/,
	},
	{ what: "hangs on a golden case", kind: "infer", ...hang },
	{
		what: "crashes on a golden case",
		kind: "infer",
		misbehave: "process.abort();",
		code: "tool-crashed",
		says: /SIGABRT/,
	},
];

it.each(faults)(
	"a worker that $what is the runner's fault: exit 3, and what was known is kept",
	async ({ kind, misbehave, code, says }) => {
		const hangs = code === "tool-timeout";
		const config = hangs ? (kind === "count" ? withoutGolden : impatient) : quickConfig;
		const folder = arms({ "trtgate.yml": kind === "infer" ? untimed(config) : config });
		const { run, result } = await gateFolders(folder, { dist: distWithFaultyWorker(kind, misbehave) });
		expectExit(run, 3);
		expect(result).toMatchObject({ outcome: "error", failureKind: "runner" });
		expect(result.errors.map((error) => error.code)).toContain(code);
		expect(JSON.stringify(result.errors)).toMatch(says);
		expect(run.stdout + run.stderr).toContain(code);
		expect(result.builds.filter((build) => build.state === "built")).toHaveLength(2);
		if (kind === "count") {
			expect(result.golden.map((verdict) => verdict.state)).toEqual(hangs ? [] : ["match", "match"]);
			const [row] = result.workloads;
			expect(row?.verdict).toBe("not-comparable");
			expect(row?.work).toMatchObject({
				verdict: "not-comparable",
				estimate: null,
				reason: expect.any(String),
			});
		}
		expect(existsSync(join(folder, "out", "report.html"))).toBe(true);
	},
);

it("a model that ONNX Runtime cannot run is refused by the build gate with the operator's name: exit 1", async () => {
	const { run, result } = await gateFolders(arms({}, "unsupported-op"));
	expectExit(run, 1);
	expect(result.workloads).toEqual([]);
	expect(run.stdout).toMatch(/Frobnicate/);
});

it("Ctrl-C ends the children and leaves a valid partial result, marked as such", async () => {
	const folder = arms({ "trtgate.yml": quickConfig.replace("duration: 5ms", "duration: 20s") });
	let pid = 0;
	const running = gateFolders(folder, { onStart: (started) => (pid = started) });
	const raw = join(folder, "out", "logs");
	await until(() => existsSync(raw) && readdirSync(raw).some((name) => name.startsWith("count-")));
	process.kill(pid, "SIGINT");
	const { run, result } = await running;
	expectExit(run, 3);
	expect(result.partial).toMatchObject({ stage: "measure", reason: expect.stringContaining("SIGINT") });
	expect(result.outcome).toBe("error");
	expect(result.golden).toHaveLength(2);
	expect(run.stdout).toMatch(/partial/i);
});
