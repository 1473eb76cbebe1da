// `golden check --polygraphy` against what Polygraphy said of the same files (test/oracles/golden-polygraphy.py).
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import schema from "../../../golden-schema/golden-check-polygraphy.schema.json" with { type: "json" };
import { checkGolden } from "../../../src/app/golden/check.ts";
import type { PolygraphyReport } from "../../../src/app/golden/check-polygraphy.ts";
import runResults from "../../fixtures/polygraphy/run-results.json" with { type: "json" };
import oracle from "../../oracles/golden-polygraphy.json" with { type: "json" };
import { testTerminal } from "../../support/test-terminal.ts";

interface Case {
	name: string;
	candidate: string;
	golden: string | null;
	flags: string[];
	exit: number;
	passed: boolean;
	stops?: string;
	compared?: { pair: string[]; iteration: number; outputs: Record<string, boolean> }[];
}

const cases = oracle.cases as unknown as Case[];
let folder = "";

beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), "trtgate-polygraphy-"));
	for (const [name, text] of Object.entries(runResults)) writeFileSync(join(folder, `${name}.json`), text);
});

afterAll(() => rmSync(folder, { recursive: true }));

function argvOf({ candidate, golden, flags }: Case): string[] {
	const files =
		golden === null
			? ["--polygraphy", `${candidate}.json`]
			: ["--polygraphy", `${golden}.json`, "--outputs", `${candidate}.json`];
	return [...files, ...flags];
}

async function run(argv: readonly string[]): Promise<{ exit: number; out: string }> {
	let out = "";
	const terminal = testTerminal(folder, (text) => {
		out += text;
	});
	return { exit: await checkGolden(argv, terminal), out };
}

const fitsSchema = new Ajv2020({ strict: true }).compile(schema);

async function report(argv: readonly string[]): Promise<PolygraphyReport> {
	const said = JSON.parse((await run([...argv, "--json"])).out);
	expect(fitsSchema(said), JSON.stringify(fitsSchema.errors)).toBe(true);
	return said;
}

function asTable({ compared }: PolygraphyReport): Case["compared"] {
	return compared.map(({ first, second, iteration, outputs }) => ({
		pair: [first, second],
		iteration,
		outputs: Object.fromEntries(
			outputs.map(({ output, checks }) => [output, checks.every(({ pass }) => pass)]),
		),
	}));
}

/** Integers that numpy wraps are subtracted exactly here: Polygraphy passes the first wrongly and fails the second wrongly. */
const exact = new Map([
	["int32 that overflows", false],
	["uint64 wraps below zero", true],
]);

it.each(cases)("golden check --polygraphy gives Polygraphy's verdict: $name", async (one) => {
	const said = await report(argvOf(one));
	const passes = exact.get(one.name) ?? one.passed;
	expect(said.passed).toBe(passes);
	if (one.compared !== undefined && !exact.has(one.name)) expect(asTable(said)).toEqual(one.compared);
	expect(said.errors.length > 0).toBe(one.stops !== undefined);
	expect((await run(argvOf(one))).exit).toBe(passes ? 0 : 1);
});

function between(candidate: string, golden: string, ...flags: string[]): string[] {
	return ["--polygraphy", `${golden}.json`, "--outputs", `${candidate}.json`, ...flags];
}

it.each<[string, string[], string]>([
	[
		"an output that only the candidate has",
		between("c-heads", "g-one", "--rtol", "2e-3"),
		'Output "b" of the first runner was not compared',
	],
	[
		"an output that only the golden has",
		between("c-one", "g-heads"),
		'Output "b" of the second runner was not compared',
	],
	[
		"iterations that only one side has",
		between("c-third", "g-two"),
		"Only the first 2 of 3 iterations were compared",
	],
	["no iterations", between("c-no-runs", "g-three"), "The runners share no iteration"],
	["no outputs", between("c-nothing", "g-nothing"), "The runners have no outputs"],
	["empty outputs", between("c-empty", "g-empty"), 'Output "out" passes, but it is empty'],
	["another name", between("c-other", "g-tenth-exact"), 'was compared with "out", which has another name'],
	["another dtype", between("c-int-long", "g-int-long"), 'Output "out" is int32 against int64'],
])(
	"golden check --polygraphy, where Polygraphy passes for a bad reason warns of %s, and --strict fails it",
	async (_, argv, words) => {
		const { exit, out } = await run(argv);
		expect(exit).toBe(0);
		expect(out).toMatch(/^✓ polygraphy /);
		expect(out.split("\n").filter((line) => line.startsWith("! ") && line.includes(words))).toHaveLength(1);
		const strict = await run([...argv, "--strict"]);
		expect(strict.exit).toBe(1);
		expect(strict.out).toMatch(/^✗ polygraphy .* its warnings fail it \(--strict\)\n/);
		expect(await report([...argv, "--strict"])).toMatchObject({ passed: true, state: "mismatch" });
	},
);

it.each<[string[], string]>([
	[["--rtol", "much"], '--rtol takes numbers, or OUTPUT:NUMBER; got "much".'],
	[["--rtol", "0x10"], 'got "0x10"'],
	[["--rtol", "out:"], 'got ""'],
	[["--atol", "nan"], 'got "nan"'],
	[["--compare", "l2"], "Unknown option --compare."],
	[["--no-shape-check"], "Unknown option --no-shape-check."],
	[["--rtol"], "--rtol needs a value."],
	[["--rtol", "--strict"], "--rtol needs a value."],
])("the options of Polygraphy's rules are refused with a sentence: %j", async (flags, words) => {
	await expect(run(between("c-same", "g-same", ...flags))).rejects.toMatchObject({
		code: "usage",
		message: expect.stringContaining(words),
	});
});

it.each([
	["--rtol=1", "--atol=1"],
	["--rtol", "out:+Inf", "--atol", ".5e+1"],
	["--rtol", "0", "other:0", "out:1", "--atol", "2"],
	["--rtol", "0", "--rtol", "1", "--atol", "1"],
])(
	"the options of Polygraphy's rules are taken in every form in which Polygraphy takes them: %s %s",
	async (...flags) => {
		expect((await run(between("c-apart", "g-apart", ...flags))).exit).toBe(0);
	},
);

it("a golden of our own takes its outputs from Polygraphy's run results, iteration by iteration", async () => {
	const text = runResults["g-three"];
	const sha256 = createHash("sha256").update(text).digest("hex");
	const file = (iteration: number) => ({
		...{ path: "g-three.json", sha256, runner: "onnxrt", iteration, member: "out" },
		...{ dtype: "float32", shape: [1] },
	});
	const ids = ["first", "second", "third"];
	writeFileSync(
		join(folder, "golden.json"),
		JSON.stringify({
			schemaVersion: 1,
			goldenId: "net@1",
			model: { path: "net.onnx", sha256: "a".repeat(64) },
			producer: { backend: "onnxruntime-native", version: "1.22.0", precision: "fp32" },
			outputs: { out: { comparators: [{ kind: "relative-l2" }] } },
			cases: ids.map((id, iteration) => ({
				id,
				inputs: { x: file(iteration) },
				outputs: { out: file(iteration) },
			})),
		}),
	);
	for (const [index, id] of ids.entries()) {
		mkdirSync(join(folder, "own", id), { recursive: true });
		writeFileSync(join(folder, "own", id, "out.raw"), Float32Array.of(index === 2 ? 4 : index + 1));
	}
	const { exit, out } = await run(["golden.json", "--outputs", "own", "--json"]);
	expect(exit).toBe(1);
	const { cases: verdicts } = JSON.parse(out);
	expect(verdicts.map(({ state }: { state: string }) => state)).toEqual(["match", "match", "mismatch"]);
	expect(verdicts[2].checks[0]).toMatchObject({ output: "out", metric: "relative-l2", pass: false });
});
