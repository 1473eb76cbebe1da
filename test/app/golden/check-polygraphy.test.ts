// `golden check --polygraphy` against what Polygraphy said of the same files (test/oracles/golden-polygraphy.py).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkGolden } from "../../../src/app/golden/check.ts";
import type { PolygraphyReport } from "../../../src/app/golden/render-polygraphy.ts";
import runResults from "../../fixtures/polygraphy/run-results.json" with { type: "json" };
import oracle from "../../oracles/golden-polygraphy.json" with { type: "json" };

interface Case {
	name: string;
	candidate: string;
	golden: string | null;
	flags: string[];
	exit: number;
	passed: boolean;
	stops?: string;
	compared?: { pair: string[]; iteration: number; outputs: Record<string, Record<string, boolean>> }[];
	passedBefore?: boolean;
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
		golden === null ? ["--polygraphy", `${candidate}.json`] : ["--polygraphy", `${golden}.json`, "--outputs", `${candidate}.json`];
	return [...files, ...flags];
}

async function run(argv: readonly string[]): Promise<{ exit: number; out: string }> {
	let out = "";
	const terminal = {
		out: (text: string) => {
			out += text;
		},
		err: () => {},
		color: { out: false, err: false },
		columns: 100,
		interactive: false,
		environment: {} as never,
		cwd: folder,
	};
	return { exit: await checkGolden(argv, terminal), out };
}

async function report(argv: readonly string[]): Promise<PolygraphyReport> {
	return JSON.parse((await run([...argv, "--json"])).out);
}

function asTable({ compared }: PolygraphyReport): Case["compared"] {
	return compared.map(({ first, second, iteration, outputs }) => ({
		pair: [first, second],
		iteration,
		outputs: Object.fromEntries(
			outputs.map(({ output, checks }) => [output, Object.fromEntries(checks.map(({ compare, pass }) => [compare, pass]))]),
		),
	}));
}

describe("golden check by Polygraphy's rules", () => {
	it("has a table of at least 60 cases of which many pass and many fail", () => {
		const passing = cases.filter(({ passed }) => passed).length;
		expect(Math.min(passing, cases.length - passing)).toBeGreaterThan(60);
		expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
	});

	it.each(cases)("says what Polygraphy says: $name", async (one) => {
		const said = await report(argvOf(one));
		expect(said.passed).toBe(one.passed);
		expect(one.exit === 0).toBe(one.passed);
		if (one.compared !== undefined) expect(asTable(said)).toEqual(one.compared);
		expect(said.stops.length > 0).toBe(one.stops !== undefined);
		expect((await run(argvOf(one))).exit).toBe(one.exit);
	});

	it("has two cases that the Polygraphy of TensorRT 10's containers judges otherwise", () => {
		const before = cases.filter(({ passedBefore }) => passedBefore !== undefined);
		expect(before.map(({ name, passed, passedBefore }) => [name, passedBefore, passed])).toEqual([
			// Of infinity less infinity it made a cosine similarity of 1.
			["cosine of overflows of both signs", true, false],
			["cosine of bools", false, true],
		]);
	});
});
