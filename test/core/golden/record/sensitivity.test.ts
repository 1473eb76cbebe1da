// Goldens that could not fail are found out.
import { expect, it } from "vitest";
import type { GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import { ConfigError } from "../../../../src/core/errors.ts";
import { findInsensitive, refuseInsensitive } from "../../../../src/core/golden/record/sensitivity.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { float32, int64, manifestOf, zeros } from "../../../support/golden-tensors.ts";

type Outputs = Record<string, Tensor>;

function manifestFor(cases: readonly Outputs[], specs: Record<string, GoldenOutput> = {}): GoldenManifest {
	const manifest = manifestOf(cases[0] ?? {}, specs);
	const [only] = manifest.cases;
	const [first = only, ...others] = cases.map((_, index) => ({ ...only, id: `case ${index}` }));
	return { ...manifest, cases: [first, ...others] };
}

const kindsOf = (cases: readonly Outputs[], specs?: Record<string, GoldenOutput>): string[] =>
	findInsensitive(manifestFor(cases, specs), cases).map(({ kind, output }) =>
		output === undefined ? kind : `${kind} ${output}`,
	);

const varied = float32([1, 2, 3]);
const other = float32([3, 1, 2]);
const dead = zeros("float32", [3]);
const nan = float32([1, Number.NaN, 3]);
const onlyNan = float32([Number.NaN, Number.NaN]);

it.each<{ what: string; cases: Outputs[]; specs?: Record<string, GoldenOutput>; kinds: string[] }>([
	{ what: "outputs that vary", cases: [{ y: varied }, { y: other }], kinds: [] },
	{ what: "a single case that varies", cases: [{ y: varied }], kinds: [] },
	{ what: "a single number", cases: [{ y: float32([2]) }], kinds: [] },
	{ what: "one constant case among others", cases: [{ y: dead }, { y: varied }], kinds: [] },
	{
		what: "outputs of zeros in all cases",
		cases: [{ y: dead }, { y: dead }],
		kinds: ["constant y", "same-for-all"],
	},
	{
		what: "a dead float output beside one that lives",
		cases: [
			{ y: dead, z: varied },
			{ y: dead, z: other },
		],
		kinds: [],
	},
	{
		what: "a constant count beside an output that varies",
		cases: [
			{ n: int64([5n, 5n]), z: varied },
			{ n: int64([5n, 5n]), z: other },
		],
		kinds: [],
	},
	{ what: "integers that are constant and alone", cases: [{ n: int64([5n, 5n]) }], kinds: ["constant n"] },
	{ what: "the same outputs for all inputs", cases: [{ y: varied }, { y: varied }], kinds: ["same-for-all"] },
	{
		what: "one output of two that does not change",
		cases: [
			{ y: varied, z: varied },
			{ y: varied, z: other },
		],
		kinds: [],
	},
	{ what: "NaN where none may be", cases: [{ y: nan }, { y: varied }], kinds: ["non-finite y"] },
	{
		what: "NaN where it must match",
		cases: [{ y: nan }, { y: varied }],
		specs: { y: { nonFinite: "must-match" } },
		kinds: [],
	},
	{
		what: "nothing but NaN",
		cases: [{ y: onlyNan }, { y: varied }],
		specs: { y: { nonFinite: "must-match" } },
		kinds: ["non-finite y"],
	},
	{
		what: "empty outputs beside others",
		cases: [
			{ y: zeros("float32", [0]), z: varied },
			{ y: zeros("float32", [0]), z: other },
		],
		kinds: [],
	},
])("findUninformative says of $what: $kinds", ({ cases, specs, kinds }) => {
	expect(kindsOf(cases, specs)).toEqual(kinds);
});

function refuse(cases: Parameters<typeof manifestFor>[0]): void {
	const manifest = manifestFor(cases);
	refuseInsensitive(manifest, findInsensitive(manifest, cases));
}

it("refuseInsensitive names the golden, the output and what to do", () => {
	const cases = [{ y: dead }, { y: dead }];
	try {
		refuse(cases);
		expect.unreachable();
	} catch (error) {
		expect(error).toBeInstanceOf(ConfigError);
		expect(error).toMatchObject({
			code: "golden-uninformative",
			fix: expect.stringContaining("Record the golden"),
		});
		expect((error as Error).message).toBe(
			'Golden net@1 cannot fail: output "y" is 0 everywhere in every case (and 1 more finding).',
		);
	}
});

it("refuseInsensitive names each output that holds NaN once, with how many cases are like it", () => {
	const cases = [
		{ y: nan, z: nan },
		{ y: nan, z: varied },
		{ y: nan, z: varied },
	];
	const found = findInsensitive(manifestFor(cases), cases);
	expect(found.map(({ message }) => message)).toEqual([
		'output "y" of case "case 0" holds NaN or infinite values (1), and so do 2 more cases',
		'output "z" of case "case 0" holds NaN or infinite values (1)',
	]);
	expect(found[0]?.fix).toContain("`--non-finite y` when recording");
});
