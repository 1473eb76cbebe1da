import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { mustMatch, withAccuracy } from "../../../src/golden/app/record.ts";
import { refuseEmpty } from "../../../src/golden/app/record-refusal.ts";
import { float32, manifestOf, manifestOfCases } from "../../support/golden-tensors.ts";

const kl = { comparators: [{ kind: "kl" }] } as GoldenManifest["outputs"][string];

it("newly proposed limits keep accuracy for outputs whose cases keep their labels", () => {
	const manifest = manifestOf({ logits: float32([1, 2]) });
	const accuracy = { kind: "accuracy", tolerance: 0.9 };
	const before = {
		...manifest,
		cases: [{ ...manifest.cases[0], labels: { logits: [1] } }],
		outputs: { logits: { comparators: [{ kind: "cosine" }, accuracy] } },
	} as GoldenManifest;
	expect(withAccuracy({ logits: kl, other: kl }, before)).toEqual({
		logits: { comparators: [{ kind: "kl" }, accuracy] },
		other: kl,
	});
});

it("--non-finite marks only the named outputs", () => {
	expect(mustMatch({ y: kl, z: {} }, ["y"])).toEqual({ y: { ...kl, nonFinite: "must-match" }, z: {} });
});

it.each(["x", "__proto__"])("--non-finite refuses %s, which is no output", (name) => {
	expect(() => mustMatch({ y: {} }, [name])).toThrow(`--non-finite: there is no output "${name}".`);
});

it("a case with nothing but empty outputs is refused by its name, also beside others", () => {
	const [one, none] = [float32([1]), float32([])];
	expect(() => refuseEmpty(manifestOfCases([{ y: one, z: none }, { y: one }]))).not.toThrow();
	expect(() => refuseEmpty(manifestOfCases([{ y: one }, { y: none, z: none }]))).toThrow(
		'Not recorded: every output of case "case-1" is empty, so nothing could be compared.',
	);
});
