// Every comparator at the ends of its numbers, against exact arithmetic in Python (test/oracles/golden-extremes.py).
import { describe, expect, it } from "vitest";
import type { ComparatorSpec, GoldenOutput } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { type MetricKind, metrics } from "../../../../src/golden/core/compare/registry.ts";
import { keepsLimit, within } from "../../../../src/golden/core/metrics/element-errors.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import oracle from "../../../oracles/golden-extremes.json" with { type: "json" };
import { caseInput, float64, fromBase64, toNumber } from "../../../support/golden-tensors.ts";

const options: Readonly<Record<MetricKind, Partial<ComparatorSpec>>> = {
	"relative-l2": {},
	"max-abs": {},
	allclose: { rtol: 1 / 1024, atol: 0 },
	cosine: {},
	"top-k": { k: 3 },
	kl: { input: "logits" },
	psnr: {},
	ssim: { window: "uniform" },
	miou: { threshold: 0.5 },
	"pixel-disagreement": { threshold: 0.5 },
	"recall-at-k": { k: 3 },
	"rank-agreement": {},
	"token-agreement": {},
	accuracy: {},
};
const kinds = Object.keys(options) as MetricKind[];

type Limits = Partial<Record<MetricKind, number>>;

function judge(
	expected: Tensor,
	got: Tensor,
	asked: { kinds: readonly MetricKind[]; labels?: readonly number[]; limits?: Limits },
) {
	const comparators = asked.kinds.map((kind) => {
		const tolerance = asked.limits?.[kind];
		return { kind, ...options[kind], ...(tolerance === undefined ? {} : { tolerance }) };
	});
	const specs = { y: { comparators, nonFinite: "must-match" } as GoldenOutput };
	const input = caseInput({ y: expected }, { y: got }, { specs, precision: "fp32" });
	const labels = { y: [...(asked.labels ?? [])] as [number] };
	return judgeCase({ ...input, golden: { ...input.manifest.cases[0], labels } });
}

function foundIn(checks: readonly GoldenCheck[], kind: MetricKind): number {
	return toNumber(checks.find(({ metric }) => metric === kind)?.got ?? "missing");
}

/** Shares and similarities by what binary64 adds to them; all else by its own size, down to what no limit speaks of. */
function expectNear(value: number, wanted: number, what: string): void {
	if (Math.abs(wanted) > 1e300) expect(value * Math.sign(wanted), what).toBeGreaterThan(1e300);
	else if (Number.isNaN(wanted)) expect(value, what).toBeNaN();
	else
		expect(Math.abs(value - wanted), `${what}: ${value}, exactly ${wanted}`).toBeLessThanOrEqual(
			1e-9 * Math.abs(wanted) + 1e-13,
		);
}

const cases = oracle.cases.map((entry) => ({
	...entry,
	expected: fromBase64(entry.dtype, oracle.shape, entry.expected),
	got: fromBase64(entry.dtype, oracle.shape, entry.got),
	exact: Object.entries(entry.values).map(([kind, value]): [MetricKind, number] => [
		kind as MetricKind,
		toNumber(value),
	]),
}));

describe.each(cases)("$name", ({ expected, got, labels, exact }) => {
	it("every metric gives the exact value of every comparator, and passes only what is a value and keeps its limit", () => {
		const { checks } = judge(expected, got, { kinds: exact.map(([kind]) => kind), labels });
		for (const [kind, value] of exact) {
			expectNear(foundIn(checks, kind), within({ value }, metrics[kind].range).value, kind);
			const check = checks.find(({ metric }) => metric === kind);
			const isPerfect = kind === "psnr" && value === Number.POSITIVE_INFINITY;
			const keeps = keepsLimit(value, metrics[kind].bound, check?.allowed ?? Number.NaN);
			expect(check?.pass, `${kind}: ${value}`).toBe(keeps && (isPerfect || Number.isFinite(value)));
		}
	});

	it("matches itself by every comparator", () => {
		const own = judge(expected, expected, { kinds: exact.map(([kind]) => kind), labels });
		expect(own.checks.filter(({ pass }) => !pass)).toEqual([]);
		expect(own.state).toBe("match");
	});
});

it.each(kinds)("a value that no outputs can have fails %s, whatever the limit", (kind) => {
	const { range, bound } = metrics[kind];
	for (const value of [Number.NaN, Number.NEGATIVE_INFINITY, range.least - 1, range.most + 1]) {
		if (value >= range.least && value <= range.most) continue;
		const measured = within({ value }, range);
		for (const limit of [-1e300, 0, 1, 1e300])
			expect(keepsLimit(measured.value, bound, limit), `${value} by ${limit}`).toBe(false);
	}
	if (bound === "at-most")
		expect(keepsLimit(Number.POSITIVE_INFINITY, bound, Number.POSITIVE_INFINITY)).toBe(false);
});

it.each(["int64", "uint64"] as const)(
	"integers beyond 2^53 stay distinct in a difference, a ranking and tokens of %s",
	(dtype) => {
		const from = 2n ** 60n;
		const of = (offsets: readonly number[]): Tensor => {
			const data = new Uint8Array(BigUint64Array.from(offsets, (offset) => from + BigInt(offset)).buffer);
			return { dtype, shape: [1, offsets.length], data };
		};
		const { checks } = judge(of([0, 1, 2, 300]), of([3, 4, 5, 297]), {
			kinds: ["max-abs", "token-agreement"],
		});
		expect(checks.map(({ got }) => got)).toEqual([3, 0]);
		const flipped = judge(of([0, 1, 2]), of([2, 1, 0]), { kinds: ["top-k"] });
		expect(flipped.checks[0]).toMatchObject({ got: 1 });
		const specs = { y: { comparators: [{ kind: "top-k" as const }] } } as Record<string, GoldenOutput>;
		const top = judgeCase(caseInput({ y: of([0, 1, 2]) }, { y: of([2, 1, 0]) }, { specs }));
		expect(top.checks[0]).toMatchObject({
			got: 0,
			detail: expect.stringContaining("clearest of them is 2"),
		});
	},
);

const masked = float64(new Array<number>(64).fill(Number.NEGATIVE_INFINITY), [8, 8]);

it("an output that is infinite throughout matches by every comparator if the engine's is the same, and not if one element differs", () => {
	const labels = new Array<number>(8).fill(0);
	expect(judge(masked, masked, { kinds, labels }).state).toBe("match");
	const other = float64(
		[Number.POSITIVE_INFINITY, ...new Array<number>(63).fill(Number.NEGATIVE_INFINITY)],
		[8, 8],
	);
	expect(judge(masked, other, { kinds, labels }).state).toBe("mismatch");
});
