import { describe, expect, it } from "vitest";
import { diffEngines } from "../../../src/engine/core/diff.ts";
import { engineModel } from "../../../src/engine/core/model.ts";
import { parseLayerInfo } from "../../../src/formats/trtexec/layers.ts";
import { plantedChanges, rebuilt } from "../../support/planted-engines.ts";
import { diffOf, h200Engine, recordedArm, recordedEngine } from "../../support/recorded-engines.ts";

const engines = {
	det: recordedEngine("det-fp16", { timed: true }),
	rec: recordedEngine("rec-fp16", { timed: true }),
};
const timed = (name: string) => ({
	...h200Engine(`${name}-base`),
	rebuilt: h200Engine(`${name}-rebuild`).profiles,
});
const onH200 = { det: timed("det"), yolo: timed("yolo") };

describe("planted changes", () => {
	const planted = plantedChanges({ ...onH200, rec: engines.rec }, 1);
	const found = planted.map(({ name, base, head, culprit, costMs, enginesMs }) => {
		const diff = diffOf(base, head, { gpu: "NVIDIA H200", ...(enginesMs === null ? {} : { enginesMs }) });
		const { attributedMs, halfWidthMs, restMs, measuredMs } = diff.account!;
		const top = diff.rows.slice(0, 3).flatMap(({ label, members }) => [label, ...members]);
		return {
			name,
			isInTop3: top.some((text) => text.split(" + ").includes(culprit)),
			isAttributed: attributedMs / costMs > 0.8,
			isCovered: Math.abs(attributedMs - costMs) <= halfWidthMs,
			adds: attributedMs + restMs - measuredMs,
		};
	});

	it("planted changes are at least forty", () => {
		expect(planted.length).toBeGreaterThanOrEqual(40);
	});

	it.each([
		["their culprit among the first three rows", "isInTop3"],
		["80 % of their cost attributed", "isAttributed"],
		["an interval that covers the cost", "isCovered"],
	] as const)("have %s, in 95 %%", (_, which) => {
		const missing = found.filter((one) => !one[which]).map(({ name }) => name);
		expect(missing.length, missing.join("; ")).toBeLessThanOrEqual(0.05 * planted.length);
	});

	it("add up: attributed and rest are the measured change", () => {
		for (const { name, adds } of found) expect(Math.abs(adds), name).toBeLessThan(1e-9);
	});
});

it("one hundred rebuilds give no row", () => {
	const small = recordedArm("same-model", "base");
	const others = ["slower-head", "wrong-head"].map((name) => recordedArm(name, "base"));
	const models = [onH200.det, engines.det, onH200.yolo, ...others];
	const claims = Array.from({ length: 100 }, (_, seed) => {
		const { base, head } = rebuilt(models[seed % 16] ?? small, seed + 1);
		const diff = diffOf(base, head);
		expect(diff.isSameStructure).toBe(true);
		return diff.rows.length;
	});
	expect(claims.filter((count) => count > 0)).toEqual([]);
});

it.each(["det", "rec"] as const)(
	"two exports of one model align by structure if all names of %s differ",
	(name) => {
		const changes = plantedChanges({ [name]: engines[name] });
		const { base, head } = changes.find((one) => one.name.startsWith("renamed export"))!;
		const diff = diffOf(base, head);
		expect(diff.unchanged.groups).toBeGreaterThanOrEqual(0.95 * diff.unchanged.of);
		expect(diff.rows.filter(({ tier }) => tier === "none")).toEqual([]);
	},
);

function chain(count: number, over: (at: number) => object = () => ({})) {
	const tensor = (at: number) => ({ Name: `t${at}`, Dimensions: [1, 8, 16, 16], "Format/Datatype": "Half" });
	const Layers = Array.from({ length: count }, (_, at) => ({
		Name: `conv_${at}`,
		LayerType: "CaskConvolution",
		Inputs: [tensor(at)],
		Outputs: [tensor(at + 1)],
		ParameterType: "Convolution",
		Weights: { Type: "Half", Count: 64 + (at % 7) },
		Metadata: `[ONNX Layer: conv_${at}]\u001e[ONNX Layer: relu_${at}]`,
		...over(at),
	}));
	return JSON.stringify({ Layers, Bindings: [] });
}

const modelOf = (text: string) => engineModel({ info: parseLayerInfo(text), profiles: [], graph: null });
const compare = (base: string, head: string) =>
	diffEngines({ base: modelOf(base), head: modelOf(head) }, { gpu: null, enginesMs: null });

const Weights = { Type: "Half", Count: 64 };

it("large engines fold one cause in 96 blocks into one row", () => {
	const wide = {
		Outputs: [{ Name: "t", Dimensions: [1, 8, 16, 16], "Format/Datatype": "Float" }],
		Weights: { Type: "Float", Count: 64 },
	};
	const same = (at: number) => ({ Weights, Metadata: `[ONNX Layer: block.${at}]` });
	const { rows } = compare(
		chain(96, same),
		chain(96, (at) => ({ ...same(at), ...wide })),
	);
	expect(rows).toHaveLength(1);
	expect(rows[0]).toMatchObject({ of: 96, members: { length: 96 } });
});

it("hostile engines take cycles, names of ten million characters, and numbers that are none", () => {
	const loop = (at: number) => ({
		Inputs: [{ Name: `t${(at + 1) % 50}` }],
		Outputs: [{ Name: `t${at}` }],
		Metadata: at % 2 === 0 ? "" : `[ONNX Layer: n${at}]`,
	});
	expect(compare(chain(50, loop), chain(50)).rows.length).toBeGreaterThan(0);
	const long = "x + ".repeat(2_500_000);
	const odd = () => ({
		Name: long,
		Metadata: `[ONNX Layer: ${long}]`,
		Inputs: [{ Name: long, Dimensions: [Number.MAX_VALUE, -1] }],
		OutMaps: 1e308,
		Weights: { Count: 1e308 },
	});
	expect(compare(chain(1, odd), chain(2)).rows.length).toBeGreaterThan(0);
	const layers = [NaN, Infinity, -1].map((averageMs) => ({ name: "a", averageMs, share: 0 }));
	const timed = engineModel({ info: null, profiles: [{ iterations: 1, layers }], graph: null });
	const diff = diffEngines({ base: timed, head: timed }, { gpu: null, enginesMs: null });
	expect(Number.isFinite(diff.account?.restMs)).toBe(true);
});
