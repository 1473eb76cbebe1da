import { expect, it } from "vitest";
import type { LayerTensor } from "../../../src/engine/core/layer.ts";
import { engineModel, mappedShare } from "../../../src/engine/core/model.ts";
import { diffOf, recordedArm, recordedEngine } from "../../support/recorded-engines.ts";

const says = (row: { causes: readonly { says: string }[] } | undefined) =>
	row?.causes.map((cause) => cause.says).join("; ") ?? "";

it.each(["det-fp16", "rec-fp16"])("engineModel maps the profiled time of %s to ONNX nodes", (name) => {
	const model = engineModel({ ...recordedEngine(name, { timed: true }), graph: null });
	expect(mappedShare(model)).toBeGreaterThan(0.9);
	expect(model.layers.every(({ timesMs }) => timesMs.length === 1)).toBe(true);
});

it("engineModel knows layers that only the profile has, and resolves the nodes of a region by the graph", () => {
	const node = (name: string, input: string, output: string) => ({
		...{ name, domain: "", op: "Add", inputs: [input], outputs: [output], attributes: [] },
	});
	const nodes = [node("a", "x", "y"), node("b", "y", "z"), node("c", "z", "w"), node("d", "x", "v")];
	const graph = { name: "", inputs: [], outputs: [], nodes, initializers: [], valueInfo: [], subgraphs: [] };
	const layers = [{ name: "{ForeignNode[a...c]}", averageMs: 1, share: 1 }];
	const alone = engineModel({ info: null, profiles: [{ iterations: 1, layers }], graph });
	expect(alone.layers).toHaveLength(1);
	const foreign = { ...alone.layers[0], foreign: ["a", "c"] as const };
	const model = engineModel({
		info: { detail: "names", io: [], layers: [foreign as never] },
		profiles: [],
		graph,
	});
	expect(model.layers[0]?.nodes).toEqual(["a", "b", "c"]);
});

it("diffEngines explains the slower head by block1 and stem, and adds up", () => {
	const diff = diffOf(recordedArm("slower-head", "base"), recordedArm("slower-head", "head"), {
		gpu: "NVIDIA H200",
		enginesMs: { base: 0.0279, head: 0.02903 },
	});
	const [first, second] = diff.rows;
	expect([first?.label, second?.label]).toEqual(["block1 + block1.relu", "stem + stem.relu"]);
	expect(says(first)).toContain("weights changed: 4,608 → 18,432 values");
	expect(says(second)).toContain("shape changed: 8×16×32×32 → 8×64×32×32");
	expect(first?.head?.operations).toBe(4 * first!.base!.operations!);
	const { attributedMs, restMs } = diff.account!;
	expect(attributedMs).toBeGreaterThan(0.8 * 0.00113);
	expect(attributedMs + restMs).toBeCloseTo(0.00113, 9);
	expect(diff.unchanged).toMatchObject({ groups: 7, of: 10 });
});

it.each(["same-model", "wrong-head"])(
	"diffEngines finds no difference in structure and claims nothing: %s",
	(name) => {
		const diff = diffOf(recordedArm(name, "base"), recordedArm(name, "head"));
		expect(diff).toMatchObject({ isSameStructure: true, isSameTactics: true, rows: [], warnings: [] });
		expect(diff.account).toMatchObject({ attributedMs: 0, from: "profiles" });
	},
);

it("diffEngines sees no change if one engine leaves an axis open and the other states its size", () => {
	const open = recordedEngine("classifier-fp16");
	const sized = ({ dims, ...tensor }: LayerTensor) => ({
		...tensor,
		dims: dims.map((size) => (size === -1 ? 8 : size)),
	});
	const layers = open.info.layers.map(({ inputs, outputs, ...layer }) => ({
		...{ ...layer, inputs: inputs.map(sized), outputs: outputs.map(sized) },
	}));
	expect(layers).not.toEqual(open.info.layers);
	expect(diffOf(open, { ...open, info: { ...open.info, layers } })).toMatchObject({
		isSameStructure: true,
		rows: [],
	});
});

it("diffEngines lists every precision change of fp16 against fp32", () => {
	const diff = diffOf(recordedEngine("classifier-fp32"), recordedEngine("classifier-fp16"));
	const changed = diff.rows
		.filter((row) => says(row).includes("fp32 → fp16"))
		.flatMap(({ members }) => members);
	expect(changed.sort().join()).toBe(
		"block1 + block1.relu,block2 + block2.relu,gap,head,pool1,pool2,residual,softmax,stem + stem.relu",
	);
	expect(diff.rows[0]?.causes.map(({ kind }) => kind)).toEqual(["precision", "reformat"]);
	expect(diff.base.precisions).toEqual({ fp32: 9 });
	expect(diff.head.precisions).toEqual({ fp16: 10 });
});

it("diffEngines names fusions that were lost and gained, and folds what repeats", () => {
	const lost = diffOf(recordedEngine("encoder-fp16"), recordedEngine("encoder-fp32"));
	const attention = lost.rows.find(({ label }) => label.includes("softmax"));
	expect(says(attention)).toContain("no longer fused: 1 kernel → 3");
	expect(attention).toMatchObject({ of: 2, base: { kernels: 2 }, head: { kernels: 6 } });
	expect(attention?.members).toHaveLength(2);
	expect(lost.warnings[0]).toMatch(/^4 fusions skipped only in the head: `layer0/);
	const gained = diffOf(recordedEngine("encoder-fp32"), recordedEngine("encoder-fp16"));
	expect(gained.rows.some((row) => says(row).includes("fused: 3 kernels → 1"))).toBe(true);
	expect(gained.warnings).toEqual([]);
});
