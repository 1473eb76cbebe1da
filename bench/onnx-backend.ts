// ONNX's own backend tests through preflight and ONNX Runtime as WebAssembly, compared with native ONNX Runtime: no output may be
// wrong, and preflight must report whatever the runtime refuses. Python with onnx and onnxruntime writes the tests.
// node bench/onnx-backend.ts [folder that onnx-backend.py wrote]   (PYTHON names the interpreter)
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readModel } from "../src/adapters/files/model-reader.ts";
import type { TensorPlace } from "../src/adapters/onnxruntime/protocol.ts";
import { tryCase } from "../src/adapters/onnxruntime/worker/infer.ts";
import { loadRuntime, openSession } from "../src/adapters/onnxruntime/worker/runtime.ts";
import { ConfigError } from "../src/core/errors.ts";
import { subjectOf } from "../src/core/onnx/findings/subject.ts";
import { preflight } from "../src/core/onnx/preflight.ts";
import { tensorBytes } from "../src/golden/core/tensor/tensor.ts";
import { float64Reader } from "../src/golden/core/tensor/values.ts";

interface Case {
	name: string;
	model: string;
	rtol: number;
	atol: number;
	operators: string[];
	/** Whether onnxruntime-web can feed and fetch its tensors. */
	fed: boolean;
	inputs?: TensorPlace[];
	expected?: TensorPlace[];
	native?: TensorPlace[];
	refused?: string;
}

interface Answer {
	outputs?: TensorPlace[];
	refused?: string;
}

const table = "bench/onnx-backend.tsv";
const wasm = resolve("node_modules/onnxruntime-web/dist");

/** One process runs one case after the other and writes the current one to a file: a crash costs only that case. */
async function answerAll(folder: string, from: number): Promise<void> {
	const { cases } = readCases(folder);
	const job = {
		flavour: "wasm" as const,
		folder: wasm,
		external: [],
		threads: 1,
		resultPath: "",
		modelPath: "",
	};
	const ort = await loadRuntime(job);
	for (const [index, { model, inputs }] of cases.entries()) {
		if (index < from || inputs === undefined) continue;
		appendFileSync(join(folder, "answers.jsonl"), `{"index":${index}`);
		const answer = await openSession(ort, { ...job, modelPath: model }, { level: "all" })
			.then(async (session): Promise<Answer> => {
				const reply = await tryCase({ ort, session }, inputs, { folder, prefix: `${index}` });
				await session.release();
				return reply.state === "done" ? { outputs: [...reply.outputs] } : { refused: reply.message };
			})
			.catch((error: unknown): Answer => ({ refused: String(error) }));
		appendFileSync(join(folder, "answers.jsonl"), `,"answer":${JSON.stringify(answer)}}\n`);
	}
	process.exit(0);
}

function readCases(folder: string): { onnx: string; onnxruntime: string; cases: Case[] } {
	return JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
}

function answersOf(folder: string): Map<number, Answer> {
	const path = join(folder, "answers.jsonl");
	writeFileSync(path, "");
	const answers = new Map<number, Answer>();
	for (let from = 0, ended = false; !ended; ) {
		const { status } = spawnSync(process.execPath, [import.meta.filename, "--answer", folder, String(from)], {
			stdio: "ignore",
		});
		ended = status === 0;
		for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
			const whole = line.endsWith("}") ? line : `${line},"answer":{"refused":"the process died"}}`;
			const { index, answer }: { index: number; answer: Answer } = JSON.parse(whole);
			answers.set(index, answer);
			from = Math.max(from, index + 1);
		}
		if (!ended) appendFileSync(path, "\n");
	}
	return answers;
}

function isClose(one: TensorPlace, other: TensorPlace, folder: string, { rtol, atol }: Case): boolean {
	if (one.dtype !== other.dtype || one.shape.join() !== other.shape.join()) return false;
	const [left, right] = [one, other].map((place) => ({
		...place,
		data: new Uint8Array(readFileSync(resolve(folder, place.path))),
	}));
	if (left === undefined || right === undefined || left.data.length !== tensorBytes(left)) return false;
	const count = one.shape.reduce((product, size) => product * size, 1);
	const [a, b] = [left, right].map((tensor) => Float64Array.from(float64Reader(tensor)(0, count)));
	return (a ?? []).every((value, k) => {
		const wanted = b?.[k] ?? Number.NaN;
		return (
			Object.is(value, wanted) ||
			value === wanted ||
			Math.abs(value - wanted) <= atol + rtol * Math.abs(wanted)
		);
	});
}

function areClose(
	outputs: readonly TensorPlace[],
	wanted: readonly TensorPlace[] | undefined,
	folder: string,
	test: Case,
): boolean {
	return (wanted ?? [null]).every((place, k) => {
		const output = outputs[k];
		return place !== null && output !== undefined && isClose(output, place, folder, test);
	});
}

/** Preflight's findings by code: its errors, and its warnings about the runtime. */
async function announced(path: string): Promise<{ errors: string[]; warnings: string[] }> {
	try {
		const found = preflight(await readModel(path), { backend: "onnxruntime" });
		const codes = (severity: string): string[] => [
			...new Set(found.filter((each) => each.severity === severity).map((each) => each.code)),
		];
		return {
			errors: codes("error"),
			warnings: codes("warning").filter((code) => code.startsWith("operator-")),
		};
	} catch (error) {
		if (error instanceof ConfigError) return { errors: [error.code], warnings: [] };
		throw error;
	}
}

function outcomeOf(
	test: Case,
	answer: Answer | undefined,
	said: Awaited<ReturnType<typeof announced>>,
	folder: string,
): string {
	const isAnnounced = said.errors.length + said.warnings.length > 0;
	if (answer === undefined) return isAnnounced ? "not fed, announced" : "not fed, not announced";
	if (answer.outputs === undefined) return isAnnounced ? "refused, announced" : "refused, not announced";
	if (said.errors.length > 0) return "announced, yet it runs";
	if (areClose(answer.outputs, test.native, folder, test)) return "as native";
	if (areClose(answer.outputs, test.expected, folder, test)) return "as expected";
	return said.warnings.includes("operator-random") ? "random, announced" : "wrong";
}

/** Shapes of the outputs as preflight infers them, compared with the actual ones: whether each is right, open or wrong. */
async function inferredShapes(test: Case): Promise<string[]> {
	if (test.native === undefined) return [];
	const { shapes } = subjectOf(await readModel(test.model), { backend: "onnxruntime" }).static;
	return test.native.map(({ name, shape }) => {
		const dims = shapes.get(name);
		if (dims === undefined) return "open";
		return dims.length === shape.length &&
			dims.every((dim, axis) => typeof dim !== "number" || dim === shape[axis])
			? "right"
			: "wrong";
	});
}

async function main(folder: string): Promise<void> {
	const { onnx, onnxruntime, cases } = readCases(folder);
	const answers = answersOf(folder);
	const outcomes = new Map<string, string[]>();
	const shapes: Record<string, number> = { right: 0, open: 0, wrong: 0 };
	for (const [index, test] of cases.entries()) {
		const said = await announced(test.model);
		const answer = answers.get(index);
		const outcome = outcomeOf(test, answer, said, folder);
		const why =
			outcome === "refused, not announced"
				? [answer?.refused?.slice(0, 200)]
				: [...said.errors, ...said.warnings];
		outcomes.set(outcome, [...(outcomes.get(outcome) ?? []), `${test.name}\t${why.join(" ")}`.trim()]);
		for (const kind of await inferredShapes(test)) shapes[kind] = (shapes[kind] ?? 0) + 1;
	}
	const summary = [
		`ONNX ${onnx} backend tests, native onnxruntime ${onnxruntime} and onnxruntime-web as WebAssembly:`,
		...[...outcomes].map(([outcome, names]) => `  ${String(names.length).padStart(5)} ${outcome}`).sort(),
		`shapes of outputs, inferred by preflight: ${shapes["right"]} right, ${shapes["open"]} left open, ${shapes["wrong"]} wrong`,
	];
	console.log(summary.join("\n"));
	const rows = [...outcomes].flatMap(([outcome, names]) => names.map((name) => `${outcome}\t${name}`)).sort();
	const bad = rows.filter((row) => /^wrong|^[^\t]*not announced|^[^\t]*yet it runs/.test(row));
	for (const row of bad) console.log(row);
	const listed = rows.filter((row) => !row.startsWith("as native"));
	writeFileSync(table, `${summary.map((line) => `# ${line}`).join("\n")}\n${listed.join("\n")}\n`);
	if (bad.length > 0 || (shapes["wrong"] ?? 0) > 0) process.exitCode = 1;
}

function generate(): string | null {
	const folder = mkdtempSync(join(tmpdir(), "trtgate-onnx-backend-"));
	const { status } = spawnSync(process.env["PYTHON"] ?? "python3", ["bench/onnx-backend.py", folder], {
		stdio: ["ignore", 1, 1],
	});
	if (status === 0) return folder;
	rmSync(folder, { recursive: true });
	return null;
}

const [first, ...others] = process.argv.slice(2);
if (first === "--answer") await answerAll(others[0] ?? "", Number(others[1]));
else {
	const folder = first ?? generate();
	if (folder === null || !existsSync(folder))
		console.log("ONNX's backend tests: skipped, Python has no onnx, onnxruntime and ml_dtypes.");
	else {
		await main(resolve(folder));
		if (first === undefined) rmSync(folder, { recursive: true });
	}
}
