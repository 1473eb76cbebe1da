import { expect, it } from "vitest";
import { engineFingerprint } from "../../../src/engine/core/fingerprint.ts";
import { parseLayerInfo } from "../../../src/formats/trtexec/layers.ts";
import { profiledArm } from "../../support/recorded-engines.ts";

const recorded = (comparison: string, arm: "base" | "head") => profiledArm(comparison, arm)["layers.json"];
const print = (text: string) => engineFingerprint(parseLayerInfo(text));

const encoder = recorded("same-model", "base");

it("engineFingerprint is the same for two builds of one model", () => {
	expect(print(recorded("same-model", "head"))).toEqual(print(encoder));
	expect(print(recorded("wrong-head", "head"))).toEqual(print(recorded("wrong-head", "base")));
});

it("engineFingerprint is the same if names, Myelin's numbers and the order of layers differ", () => {
	const renamed = encoder
		.replaceAll("__mye", "__mye9")
		.replaceAll("layer0", "block0")
		.replaceAll("_myl0_", "_myl4_");
	expect(print(renamed)).toEqual(print(encoder));
	const { Layers, ...more } = JSON.parse(encoder);
	expect(print(JSON.stringify({ ...more, Layers: [...Layers].reverse() })).structure).toBe(
		print(encoder).structure,
	);
});

it("engineFingerprint is another for other shapes, precisions, kernels and connections", () => {
	const { structure, tactics } = print(encoder);
	expect(print(recorded("slower-head", "head")).structure).not.toBe(
		print(recorded("slower-head", "base")).structure,
	);
	expect(print(encoder.replace('"Half"', '"Float"')).structure).not.toBe(structure);
	expect(
		print(encoder.replaceAll('"add_33', '"other_33').replace('"other_33', '"add_33')).structure,
	).not.toBe(structure);
	const otherKernel = print(encoder.replace(/"TacticName": ?"sm80/, '"TacticName": "sm90'));
	expect(otherKernel.structure).toBe(structure);
	expect(otherKernel.tactics).not.toBe(tactics);
});

it("engineFingerprint compares only names if an engine was built without details", () => {
	const named = (...names: string[]) => engineFingerprint(parseLayerInfo(JSON.stringify({ Layers: names })));
	expect(named("a", "b_myl1_2")).toEqual(named("b_myl3_4", "a"));
	expect(named("a")).not.toEqual(named("a + b"));
});
