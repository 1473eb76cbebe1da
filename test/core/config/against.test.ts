// Siblings in the config: what is refused, which engines belong together, and what a change may not loosen.
import { describe, expect, it } from "vitest";
import { families } from "../../../src/core/config/against.ts";
import { ruleChanges, underRulesOf } from "../../../src/core/config/rules.ts";
import { engineOf, loaded, refusalOf, withModel } from "./load.ts";

const engines = (text: string, more = ""): string => `engines: { ${text} }${more}`;
const fp16 = "fp16: { precision: fp16 }";

it.each([
	["int8: { precision: int8, against: best }", "is no engine", "that this one has to beat: fp16."],
	["int8: { precision: int8, against: fp61 }", 'is "fp61", which is no engine of this model', "Write fp16."],
	[
		"int8: { precision: int8, against: int8 }",
		"which leads back to this engine",
		"Remove `against` from one of the engines.",
	],
	[
		"int8: { precision: int8, against: fp8 }, fp8: { precision: fp8, against: int8 }",
		"which leads back to this engine",
		"Remove `against`",
	],
	[
		"int8: { precision: int8, against: fp16, dims: { batch: 4 }, workloads: [{ batch: 4 }] }",
		"with which it has no workload of the same sizes and streams",
		"Give both engines such a workload.",
	],
	[
		"int8: { precision: int8, against: swept, workloads: [{ sweep: { batch: [1, 8] } }] }, swept: { precision: fp16, workloads: [{ sweep: { batch: [1, 8] } }] }",
		"with which it has no workload of the same sizes and streams",
		"A sweep is none.",
	],
])("a config is refused with the engines %s", (text, says, fix) => {
	const dims = ", dims: { batch: { min: 1, opt: 8, max: 8 } }, workloads: [{ batch: 8 }]";
	const error = refusalOf(engines(`${text}, ${fp16}`, dims));
	expect(error.message).toContain(says);
	expect(error.message).toContain(".against");
	expect(error.fix).toContain(fix);
});

it("an engine may be against one that is itself against another, under any names of equal workloads", () => {
	const chain =
		"int8: { precision: int8, against: fp16, workloads: [{ name: a }] }, fp32: { precision: fp32 }";
	const text = engines(`${chain}, fp16: { precision: fp16, against: fp32 }`);
	expect(engineOf(text).against).toBe("fp16");
	const [model] = loaded(withModel(text)).models;
	expect(families(model!.engines).map((family) => family.map(({ name }) => name))).toEqual([
		["int8", "fp32", "fp16"],
	]);
});

it("engines without a sibling are families of their own", () => {
	const [model] = loaded(
		withModel(engines(`${fp16}, a: { precision: fp32 }, b: { precision: int8, against: a }`)),
	).models;
	expect(families(model!.engines).map((family) => family.map(({ name }) => name))).toEqual([
		["fp16"],
		["a", "b"],
	]);
});

describe("the base's rules", () => {
	const base = loaded(withModel(engines(`${fp16}, int8: { precision: int8, against: fp16 }`)));
	const half = "half: { precision: fp16 }";
	const same = new Map(["fp16", "int8"].map((name) => [`net/${name}`, `net/${name}`]));
	const renamed = new Map([...same].map(([id, was]) => [id.replace("fp16", "half"), was]));
	const againstOf = (config: typeof base) =>
		config.models[0]!.engines.find(({ name }) => name === "int8")!.against;

	it.each([
		["drops it", `${fp16}, int8: { precision: int8 }`, same, "fp16", ["against: fp16 → not set, looser"]],
		["renames the sibling", `${half}, int8: { precision: int8, against: half }`, renamed, "half", []],
		[
			"chooses a slower sibling",
			`${fp16}, slow: { precision: fp32 }, int8: { precision: int8, against: slow }`,
			same,
			"fp16",
			["against: fp16 → slow, looser"],
		],
		[
			"lowers the limit",
			`${fp16}, int8: { precision: int8, against: fp16, gates: { payoff: { warn: 1% } } }`,
			same,
			"fp16",
			["gates.payoff.warn: 5 % → 1 %, looser"],
		],
		[
			"raises the limit",
			`${fp16}, int8: { precision: int8, against: fp16, gates: { payoff: { warn: 9%, fail: 2% } } }`,
			same,
			"fp16",
			["gates.payoff.warn: 5 % → 9 %", "gates.payoff.fail: off → 2 %"],
		],
	])("hold for a head that %s", (_, text, counterparts, against, changes) => {
		const head = loaded(withModel(engines(text)));
		expect(againstOf(underRulesOf(base, head, counterparts))).toBe(against);
		const told = ruleChanges(base, head, counterparts)
			.filter(({ engine }) => engine === "int8")
			.map(({ key, base: was, head: is, isLooser }) => `${key}: ${was} → ${is}${isLooser ? ", looser" : ""}`);
		expect(told).toEqual(changes);
	});
});

it("a warning below the limit that fails is refused, and a default warning rises to it", () => {
	const error = refusalOf(engines(fp16), "gates: { payoff: { warn: 2%, fail: 3% } }\n");
	expect(error.message).toContain("is 2%, below the limit that fails, 3%; expected at least 3%");
	expect(error.fix).toBe("Raise warn or lower fail.");
	expect(engineOf(engines(fp16), "gates: { payoff: { fail: 20% } }\n").gates.payoff).toEqual({
		warn: 0.2,
		fail: 0.2,
	});
});
