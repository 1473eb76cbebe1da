import { expect, it } from "vitest";
import { fileStore } from "../../src/adapters/files/store.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import type { Backend, BuiltEngine } from "../../src/ports/backend.ts";
import { calibrationCases, rangeDrift, withCalibration } from "../../src/stages/calibration.ts";
import { temporaryFolder } from "../support/project.ts";
import { float32, int64 } from "../support/tensorrt-worker.ts";

const ids = (...names: string[]) => names.map((id) => ({ id, inputs: { x: { path: id } } }));

function casesOf(tensors: Record<string, Tensor>) {
	const assets = { plugins: [], calibration: { path: temporaryFolder(), sha256: "d", cases: ids("a", "b") } };
	const read = async (path: string) => tensors[path.slice(-1)]!;
	const engine = { assets } as unknown as BuiltEngine;
	return calibrationCases(engine, { files: fileStore(), tensors: { read } });
}

it("calibrationCases reads one case after the other", async () => {
	const [a, b] = [float32([1], [1]), int64([1], [2])];
	const cases = casesOf({ a, b });
	expect((await cases.next()).value).toEqual({ id: "a", inputs: { x: a } });
	expect((await cases.next()).value).toEqual({ id: "b", inputs: { x: b } });
	expect((await cases.next()).done).toBe(true);
});

it.each([Number.NaN, Number.POSITIVE_INFINITY])(
	"calibrationCases refuses %d, even late in a tensor",
	async (value) => {
		const values = new Array(100_000).fill(0);
		values[99_999] = value;
		const cases = casesOf({ a: float32([1], [1]), b: float32([100_000], values) });
		await cases.next();
		await expect(cases.next()).rejects.toMatchObject({
			code: "tensor-invalid",
			message: expect.stringContaining('Input "x" of calibration case "b" has NaN or infinite values'),
		});
	},
);

const rangesOf: Record<string, [string, number][]> = {
	base: [
		["x", 1],
		["y", 2],
	],
	head: [
		["x", 4],
		["y", 2],
		["z", 1],
	],
};
const backend: Pick<Backend, "calibrationOf"> = {
	calibrationOf: async ({ path }) => {
		const ranges = rangesOf[path];
		return ranges ? { path: `${path}.cache`, ranges: new Map(ranges) } : null;
	},
};

function engineOf(path: string, cases?: ReturnType<typeof ids>): BuiltEngine {
	const data = cases && { method: "minmax", cases: 9 };
	const calibration = { path: "data", sha256: "d".repeat(64), ...(cases && { cases }) };
	return {
		...{ path, assets: { plugins: [], calibration }, record: { notes: [] } },
		spec: { engine: { tensorrt: { calibration: { data } } } },
	} as unknown as BuiltEngine;
}

it("withCalibration records data and drift, and puts the cache in the data's place", async () => {
	const base = await withCalibration(engineOf("base"), undefined, backend);
	expect(base.record.calibration).toEqual({ tensors: 2 });
	const head = await withCalibration(engineOf("head", ids("a", "b")), base, backend);
	expect(head.record.calibration).toEqual({
		...{ method: "minmax", cases: 2, dataSha256: "d".repeat(64), tensors: 3 },
		...{ changed: 2, drift: [{ tensor: "x", base: 1, head: 4 }] },
	});
	expect(head.assets?.calibration).toEqual({ path: "head.cache", sha256: "d".repeat(64) });
});

it("withCalibration leaves engines without a readable cache as they are", async () => {
	const engine = engineOf("unreadable");
	expect(await withCalibration(engine, undefined, backend)).toBe(engine);
	expect(await withCalibration(engine, undefined, {})).toBe(engine);
});

const of = (ranges: Record<string, number>) => new Map(Object.entries(ranges));

it.each([
	["the same ranges", { a: 1, b: 0 }, { a: 1, b: 0 }, 0, []],
	["the larger factor first, in both directions", { a: 1, b: 8, c: 3 }, { a: 2, b: 2, c: 3 }, 2, ["b", "a"]],
	["a range that was zero first", { a: 1, z: 0 }, { a: 9, z: 1 }, 2, ["z", "a"]],
	["tensors of one side as changed, without a row", { a: 1, gone: 1 }, { a: 2, new: 1, more: 1 }, 4, ["a"]],
])("rangeDrift shows %s", (_, base, head, changed, tensors) => {
	const drift = tensors.map((tensor) => ({
		...{ tensor, base: of(base).get(tensor), head: of(head).get(tensor) },
	}));
	expect(rangeDrift(of(base), of(head))).toEqual({ changed, drift });
});

it("rangeDrift shows ten ranges and counts all", () => {
	const [base, head] = [1, 2].map(
		(factor) => new Map(Array.from({ length: 30 }, (_, at) => [`t${at}`, 1 + at * factor])),
	);
	const { changed, drift } = rangeDrift(base!, head!);
	expect([changed, drift.length, drift[0]?.tensor]).toEqual([29, 10, "t29"]);
});
