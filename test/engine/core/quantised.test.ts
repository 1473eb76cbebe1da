import fc from "fast-check";
import { expect, it } from "vitest";
import { accountSentence, headlineOf, unitOf } from "../../../src/core/report/engine-text.ts";
import { explainEngine } from "../../../src/engine/core/alone.ts";
import type { LayerTensor } from "../../../src/engine/core/layer.ts";
import { commonSequence } from "../../../src/engine/core/match.ts";
import { engineModel } from "../../../src/engine/core/model.ts";
import { parseLayerInfo } from "../../../src/formats/trtexec/layers.ts";
import { pooledNet, residualNet } from "../../support/quantised-engines.ts";
import { diffOf, type RecordedEngine } from "../../support/recorded-engines.ts";

const quantised = residualNet({ quantised: true, first: 2 });
const halves = residualNet({ quantised: false, first: 40 });
const [pooled, apart] = [pooledNet({ fused: true }), pooledNet({ fused: false })];

it("a residual that is no longer quantised is two rows: the Q kernels, and the convolutions that read and write halves", () => {
	const diff = diffOf(quantised, halves);
	expect(
		diff.rows.map(({ members, tier, causes }) => [members.length, tier, causes[0]?.kind, causes[0]?.says]),
	).toEqual([
		[6, "none", "added", "new: 1 Q/DQ kernel"],
		[6, "names", "inputs", "reads int8 and fp16 instead of 2 × int8; writes fp16 instead of int8"],
	]);
	expect(diff.rows[1]?.causes[0]?.try).toContain("both inputs of an Add");
	expect(diff.warnings).toHaveLength(1);
	expect(diff.warnings[0]).toContain("6 Q/DQ nodes only in the head did not fuse");
	expect(diff.unchanged).toMatchObject({ groups: 6, of: 18 });
	const { attributedMs, restMs, measuredMs } = diff.account!;
	expect(attributedMs + restMs).toBeCloseTo(measuredMs, 9);
	expect(diffOf(halves, quantised)).toMatchObject({
		warnings: [],
		rows: [{ causes: [{ says: "removed: 1 Q/DQ kernel" }] }, {}],
	});
});

it("Q/DQ kernels between others are a warning about one engine as well, the one at its input is not", () => {
	const { warnings } = explainEngine(engineModel({ ...halves, graph: null }), null);
	expect(warnings.join()).toMatch(
		/^5 Q\/DQ nodes did not fuse, and are kernels of their own: `QuantizeLinear_45`, /,
	);
});

it("a pooling that was fused with its convolution is one change, though the export numbered both anew", () => {
	const { rows, warnings } = diffOf(pooled, apart);
	expect(rows).toHaveLength(1);
	expect(rows[0]?.causes[0]?.says).toBe("no longer fused: 1 kernel → 2");
	expect(warnings[0]).toContain("1 fusion skipped only in the head: `Conv_11 + MaxPool_12`.");
	expect(diffOf(apart, pooled).rows[0]?.causes[0]?.says).toBe("fused: 2 kernels → 1");
});

it("one profile a side: the account says so, and one inference is known no better than the GPU's timer", () => {
	const estimated = diffOf(quantised, halves);
	expect(accountSentence(estimated, unitOf(estimated))).toContain(
		"With one profile each, ± is estimated from what did not change.",
	);
	expect(estimated.rows[0]?.halfWidthMs).toBeGreaterThan(1e-3);
	const assumed = diffOf(pooled, apart);
	expect(accountSentence(assumed, unitOf(assumed))).toContain("± is assumed: 3 % of each time.");
});

const namesOnly = ({ info, profiles }: RecordedEngine): RecordedEngine => ({
	info: parseLayerInfo(JSON.stringify({ Layers: info.layers.map(({ name }) => name), Bindings: [] })),
	profiles,
});

it("an engine of which only names are known: equal names show no change, and nothing is claimed of its kernels", () => {
	const named = namesOnly(quantised);
	for (const [base, head] of [
		[quantised, named] as const,
		[named, quantised] as const,
		[named, named] as const,
	]) {
		const diff = diffOf(base, head);
		expect(diff).toMatchObject({ isSameStructure: true, rows: [], warnings: [] });
		expect(headlineOf(diff, unitOf(diff))).toMatch(
			/^No difference in the names of the layers; kernels and precisions are known with/,
		);
	}
});

it.each([
	["an input of the engine", true, "is an input of the engine"],
	["written by nothing that is known", false, "is written by an unknown layer"],
])("a tensor of another type that is %s is reported as such", (_, isListed, says) => {
	const fed = quantised.info.layers[0]?.inputs[0]?.name ?? "";
	const io = isListed ? [{ name: fed, mode: null, dtype: null }] : [];
	const wider = (input: LayerTensor): LayerTensor =>
		input.name === fed ? { ...input, dtype: "fp16" } : input;
	const layers = quantised.info.layers.map((layer) => ({ ...layer, inputs: layer.inputs.map(wider) }));
	const { rows } = diffOf(quantised, { ...quantised, info: { ...quantised.info, io, layers } });
	expect(rows.flatMap(({ causes }) => causes.flatMap(({ evidence }) => evidence))).toContain(
		`\`${fed}\` ${says}`,
	);
});

it("commonSequence finds a longest rising list of equal texts", () => {
	const texts = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 8 });
	const longest = (one: string[], other: string[]): number =>
		one.length === 0 || other.length === 0
			? 0
			: one[0] === other[0]
				? 1 + longest(one.slice(1), other.slice(1))
				: Math.max(longest(one.slice(1), other), longest(one, other.slice(1)));
	fc.assert(
		fc.property(texts, texts, (one, other) => {
			const pairs = commonSequence(one, other);
			expect(pairs).toHaveLength(longest(one, other));
			for (const [at, [left, right]] of pairs.entries()) {
				expect(one[left]).toBe(other[right]);
				const [before = -1, beside = -1] = pairs[at - 1] ?? [];
				expect(left > before && right > beside).toBe(true);
			}
		}),
	);
});
