import { expect, it } from "vitest";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { mustMatch, withAccuracy } from "../../../src/golden/app/record.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";

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
