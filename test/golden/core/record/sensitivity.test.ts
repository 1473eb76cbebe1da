// Goldens that cannot fail are found.
import { expect, it } from "vitest";
import type { GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import { findInsensitive, refuseInsensitive } from "../../../../src/golden/core/record/sensitivity.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { float32, int64, manifestOf, zeros } from "../../../support/golden-tensors.ts";

type Outputs = Record<string, Tensor>;

function manifestFor(cases: readonly Outputs[], specs: Record<string, GoldenOutput> = {}): GoldenManifest {
	const manifest = manifestOf(cases[0] ?? {}, specs);
	const [only] = manifest.cases;
	const [first = only, ...others] = cases.map((_, index) => ({ ...only, id: `case ${index}` }));
	return { ...manifest, cases: [first, ...others] };
}

const varied = float32([1, 2, 3]);
const other = float32([3, 1, 2]);
const dead = zeros("float32", [3]);
const nan = float32([1, Number.NaN, 3]);
const empty = zeros("float32", [0]);
const onlyNan = float32([Number.NaN, Number.NaN]);

const mustMatch = { y: { nonFinite: "must-match" } } as const;

it.each<[string, Outputs[], string[], Record<string, GoldenOutput>?]>([
	["outputs that vary", [{ y: varied }, { y: other }], []],
	["a single case that varies", [{ y: varied }], []],
	["a single number", [{ y: float32([2]) }], []],
	["one constant case among others", [{ y: dead }, { y: varied }], []],
	["zeros in all cases", [{ y: dead }, { y: dead }], ["constant y", "same-for-all"]],
	[
		"a dead output beside one that varies",
		[
			{ y: dead, z: varied },
			{ y: dead, z: other },
		],
		[],
	],
	["integers that are constant and alone", [{ n: int64([5n, 5n]) }], ["constant n"]],
	["the same outputs for all inputs", [{ y: varied }, { y: varied }], ["same-for-all"]],
	[
		"one output of two that does not change",
		[
			{ y: varied, z: varied },
			{ y: varied, z: other },
		],
		[],
	],
	["NaN where none may be", [{ y: nan }, { y: varied }], ["non-finite y"]],
	["NaN where it must match", [{ y: nan }, { y: varied }], [], mustMatch],
	["nothing but NaN", [{ y: onlyNan }, { y: varied }], ["non-finite y"], mustMatch],
	[
		"empty outputs beside others",
		[
			{ y: empty, z: varied },
			{ y: empty, z: other },
		],
		[],
	],
])("findInsensitive of %s", (_, cases, kinds, specs) => {
	const found = findInsensitive(manifestFor(cases, specs), cases);
	expect(found.map(({ kind, output }) => (output === undefined ? kind : `${kind} ${output}`))).toEqual(kinds);
});

it("refuseInsensitive names the golden, the output and what to do", () => {
	const cases = [{ y: dead }, { y: dead }];
	const manifest = manifestFor(cases);
	expect(() => refuseInsensitive(manifest, findInsensitive(manifest, cases))).toThrow(
		expect.objectContaining({
			code: "golden-uninformative",
			fix: expect.stringContaining("Record the golden"),
			message: 'Golden net@1 cannot fail: output "y" is 0 everywhere in every case (and 1 more finding).',
		}),
	);
});

it("findInsensitive names each output that holds NaN once", () => {
	const cases = [
		{ y: nan, z: nan },
		{ y: nan, z: varied },
	];
	const found = findInsensitive(manifestFor(cases), cases);
	expect(found.map(({ message }) => message)).toEqual([
		'output "y" of case "case 0" holds NaN or infinite values (1)',
		'output "z" of case "case 0" holds NaN or infinite values (1)',
	]);
	expect(found[0]?.fix).toContain("`--non-finite y` when recording");
});
