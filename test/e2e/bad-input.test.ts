import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
	canMount,
	expectExit,
	expectRefusal,
	fixtures,
	gateFolders,
	quickConfig,
	quickProject,
	runCli,
	temporaryFolder,
	twoProjects,
	untimed,
	untimedFiles,
	writeProject,
} from "../support/project.ts";
import { until } from "../support/until.ts";

const golden = JSON.parse(readFileSync(join(fixtures, "golden/golden.json"), "utf8"));
const model = readFileSync(join(fixtures, "model.onnx"));

function npy(values: number[], shape: number[]): Buffer {
	const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
	const padded = `${header.padEnd(117)}\n`;
	const head = Buffer.alloc(10);
	head.write("\x93NUMPY\x01\x00", "latin1");
	head.writeUInt16LE(padded.length, 8);
	return Buffer.concat([head, Buffer.from(padded, "latin1"), Buffer.from(Float32Array.from(values).buffer)]);
}

function sha256(bytes: Uint8Array): string {
	return execFileSync("sha256sum", { input: bytes, encoding: "utf8" }).split(" ")[0] ?? "";
}

function goldenWith(values: number[]): Record<string, string | Uint8Array> {
	const bytes = npy(values, [3, 4]);
	const changed = structuredClone(golden);
	for (const entry of changed.cases)
		entry.outputs.y = { path: "y.npy", sha256: sha256(bytes), dtype: "float32", shape: [3, 4] };
	return { "golden/golden.json": JSON.stringify(changed), "golden/y.npy": bytes };
}

interface Row {
	what: string;
	files?: Record<string, string | Uint8Array>;
	argv?: string[];
	code: string;
	says: RegExp;
	prepare?(folder: string): void;
}

const line = (text: string): string => quickConfig.replace("backend: onnxruntime", text);

const rows: Row[] = [
	{
		what: "no config",
		argv: ["run", "--config", "none.yml"],
		code: "config-missing",
		says: /none\.yml.*trtgate init/s,
	},
	{
		what: "invalid YAML",
		files: { "trtgate.yml": "version: 1\nmodels:\n\tnet: 3\n" },
		code: "config-syntax",
		says: /^configuration: trtgate\.yml:3:1 is not valid YAML/m,
	},
	{
		what: "an unknown key",
		files: { "trtgate.yml": line("backed: onnxruntime") },
		code: "config-schema",
		says: /trtgate\.yml:2:1.*backed.*backend/s,
	},
	{
		what: "a duplicate model",
		files: { "trtgate.yml": quickConfig.replace("models:\n", "models:\n  net:\n    onnx: other.onnx\n") },
		code: "config-syntax",
		says: /trtgate\.yml:\d+:\d+.*net/s,
	},
	{
		what: "nothing to check",
		files: { "trtgate.yml": "version: 1\nmodels: {}\n" },
		code: "config-schema",
		says: /models/,
	},
	{
		what: "dims that bind nothing",
		files: { "trtgate.yml": quickConfig.replaceAll("batch:", "bach:") },
		code: "config-dims",
		says: /trtgate\.yml:7:13: .*bach.*batch/s,
	},
	{
		what: "a missing model",
		files: { "trtgate.yml": quickConfig.replace("model.onnx", "nowhere.onnx") },
		code: "model-missing",
		says: /trtgate\.yml:6:5: .*nowhere\.onnx/,
	},
	{ what: "an empty model", files: { "model.onnx": "" }, code: "model-unreadable", says: /empty/ },
	{
		what: "a Git LFS pointer",
		files: {
			"model.onnx": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 5\n`,
		},
		code: "model-unreadable",
		says: /git lfs pull/,
	},
	{
		what: "a model that is text",
		files: { "model.onnx": "hello, I am no model\n" },
		code: "model-unreadable",
		says: /model\.onnx/,
	},
	{
		what: "a missing golden",
		files: { "trtgate.yml": quickConfig.replace("golden/golden.json", "golden/none.json") },
		code: "golden-missing",
		says: /none\.json/,
	},
	{
		what: "a golden of another model",
		files: {
			"golden/golden.json": JSON.stringify({
				...golden,
				outputs: { z: {} },
				cases: [{ ...golden.cases[0], outputs: { z: golden.cases[0].outputs.y } }],
			}),
		},
		code: "golden-other-model",
		says: /\bz\b/,
	},
	{
		what: "a golden with a NaN",
		files: goldenWith([1, 2, Number.NaN, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
		code: "golden-uninformative",
		says: /NaN.*\by\b|\by\b.*NaN/s,
	},
	{
		what: "a constant golden",
		files: goldenWith(Array(12).fill(0.25)),
		code: "golden-uninformative",
		says: /cannot fail.*0\.25 everywhere/s,
	},
	{
		what: "a path out of the workspace",
		files: { "trtgate.yml": quickConfig.replace("model.onnx", "../model.onnx") },
		code: "path-outside-workspace",
		says: /\.\.\/model\.onnx/,
	},
	{
		what: "a link out of the workspace",
		prepare: (folder) => {
			const outside = join(folder, "../outside.onnx");
			writeFileSync(outside, model);
			execFileSync("ln", ["-sf", outside, join(folder, "model.onnx")]);
		},
		code: "path-outside-workspace",
		says: /model\.onnx.*link/s,
	},
	{
		what: "an output folder below a file",
		argv: ["run", "--out", "model.onnx/out"],
		code: "output-unwritable",
		says: /model\.onnx\/out/,
	},
	{ what: "an unknown command", argv: ["runn"], code: "usage", says: /runn.*`trtgate run`/s },
	{
		what: "pairs that are no pairs",
		files: { "p.json": '{"pairs":[{"base":1}]}' },
		argv: ["verdict", "p.json"],
		code: "pairs-invalid",
		says: /pairs\/0.*head/s,
	},
	{
		what: "a result that is none",
		files: { "out/result.json": "{}" },
		argv: ["report", "out"],
		code: "result-invalid",
		says: /result\.json/,
	},
	{
		what: "a ref that is not there",
		prepare: (folder) => void execFileSync("git", ["init", "-q"], { cwd: folder }),
		argv: ["run", "--base", "v9.9", "--out", "out"],
		code: "git-ref",
		says: /v9\.9/,
	},
	{
		what: "init of a model for a config that has errors",
		files: { "trtgate.yml": "version: 1\nmodells: {}\n" },
		argv: ["init", "model.onnx"],
		code: "config-schema",
		says: /trtgate\.yml:2:1: modells is not a known key.*Did you mean models/,
	},
	{
		what: "init of a folder without models",
		files: { "nets/readme.md": "None yet." },
		argv: ["init", "nets"],
		code: "model-missing",
		says: /no ONNX model in "nets"/,
	},
	{
		what: "init with sizes for several models",
		argv: ["init", "model.onnx", "golden", "wrong.onnx", "--dims", "batch=4"],
		files: { "wrong.onnx": "fixture:wrong.onnx" },
		code: "usage",
		says: /--dims and --shape size one model; got 2/,
	},
];

it.each(rows)(
	"bad input is refused with one clear error: $what",
	async ({ files, argv, code, says, prepare }) => {
		const folder = quickProject(join(temporaryFolder(), "project"), files);
		prepare?.(folder);
		const before = readdirSync(folder).sort();
		const run = await runCli(argv ?? ["run", "--out", "out"], { cwd: folder });
		const said = run.stdout + run.stderr;
		expect(said).toContain(`[${code}]`);
		expect(said).toMatch(says);
		expect(said, "the fix").toMatch(/→ \S/);
		expect(said, "no stack").not.toMatch(/\n\s+at .*\.js:\d+/);
		expect(run.exit).toBe(2);
		if (argv === undefined) {
			const dry = await runCli(["run", "--dry-run", "--out", "out"], { cwd: folder });
			expect(dry, "with --dry-run").toMatchObject({ exit: 2, stderr: expect.stringContaining(`[${code}]`) });
			expect(dry.stderr).toMatch(says);
		}
		const left = existsSync(join(folder, "out"))
			? readdirSync(join(folder, "out"), { recursive: true, encoding: "utf8" })
			: [];
		expect(
			left.filter((name) => /\.tmp|~$|\.part/.test(name)),
			"half-written files",
		).toEqual([]);
		expect(readdirSync(folder).filter((name) => name !== "out")).toEqual(
			before.filter((name) => name !== "out"),
		);
	},
);

it("bad input names several faults of one config together", async () => {
	const folder = quickProject(temporaryFolder(), {
		"trtgate.yml": line("backed: x").replace("threads: 1", "threads: many"),
	});
	const run = await runCli(["run"], { cwd: folder });
	expect(run.stderr.match(/\[config-schema\]/g)).toHaveLength(2);
});

const hostile = [
	"with space",
	'quo"te',
	"pi|pe",
	"<script>alert(1)</script>",
	"emoji 🚀",
	"x".repeat(300),
	"__proto__",
	"@everyone",
	"-->",
	"$" + "{{ secrets.X }}",
];

describe("hostile names", () => {
	it("hostile names pass through every stage and end up inert", async () => {
		// Each model costs processes: those with markup of Markdown, HTML or GitHub also have a golden.
		const goldenOf = (name: string): string => (/[|<@-]/.test(name) ? "golden: golden/golden.json, " : "");
		const models = hostile.map(
			(name) =>
				`  ${JSON.stringify(name)}: { onnx: model.onnx, dims: { batch: 2 }, ${goldenOf(name)}workloads: [{ name: ${JSON.stringify(name)} }] }`,
		);
		const config = quickConfig.replace(/models:[\s\S]*?(?=measure:)/, `models:\n${models.join("\n")}\n`);
		const files = { "trtgate.yml": config };
		const { run, report } = await gateFolders(twoProjects(files, files));
		expectExit(run, 0);
		const [html, markdown] = [report("report.html"), report("report.md")];
		expect(html).not.toContain("<script>alert(1)");
		expect(markdown).not.toMatch(/<script>alert/);
		expect(markdown).not.toMatch(/(^|[^\w&;`])@everyone/);
		expect(html).toContain("&lt;script&gt;");
	});

	it("hostile names with a newline are refused with their place", async () => {
		const folder = quickProject(temporaryFolder(), {
			"trtgate.yml": quickConfig.replace("  net:", '  "two\\nlines":'),
		});
		expectRefusal(await runCli(["run"], { cwd: folder }), /trtgate\.yml:5:\d+/);
	});
});

it.skipIf(!canMount())(
	"a disk that fills up is named, with exit code 3, and what was written before is whole (needs user namespaces)",
	() => {
		const folder = quickProject(temporaryFolder());
		mkdirSync(join(folder, "small"));
		const script = `mount -t tmpfs -o size=24k tmpfs small && "${process.execPath}" "${join(process.cwd(), "dist/cli.js")}" run --out small; code=$?; ls small >ls.txt; exit $code`;
		const run = spawnSync("unshare", ["-rm", "sh", "-c", script], { cwd: folder, encoding: "utf8" });
		expect(run.stdout + run.stderr).toContain("[disk-full]");
		expect(run.status).toBe(3);
	},
);

it("a second run in an output folder that is in use is refused, and names the owner", async () => {
	const waits = untimed().replace("    onnx: model.onnx", "    onnx: model.onnx\n    prepare: read _ < gate");
	const folder = quickProject(temporaryFolder(), { "trtgate.yml": waits });
	execFileSync("mkfifo", [join(folder, "gate")]);
	const first = runCli(["run", "--out", "out"], { cwd: folder });
	await until(() => existsSync(join(folder, "out", ".trtgate.lock")));
	const second = await runCli(["run", "--out", "out"], { cwd: folder });
	await writeFile(join(folder, "gate"), "\n");
	expectRefusal(second, "[output-busy]");
	expect((await first).exit).toBe(0);
});

it("a project whose files are links inside the workspace works", async () => {
	const { "model.onnx": model, ...files } = untimedFiles;
	const folder = writeProject(temporaryFolder(), { ...files, "real/model.onnx": model });
	symlinkSync("real/model.onnx", join(folder, "model.onnx"));
	const run = await runCli(["run", "--out", "out"], { cwd: folder });
	expectExit(run, 0);
});
