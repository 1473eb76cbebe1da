import { expect, it } from "vitest";
import type { Occasion } from "../../../src/core/config/config.ts";
import { formatSource } from "../../../src/core/config/source.ts";
import { loaded, withModel } from "./load.ts";

type Row = [gate: "inconclusive" | "golden.existing", more: string, Occasion | undefined, string, string];

it.each<Row>([
	["inconclusive", "", "release", "fail", "default on a release"],
	["inconclusive", "", "nightly", "neutral", "default"],
	["inconclusive", "", undefined, "neutral", "default"],
	["inconclusive", "gates: { inconclusive: neutral }", "release", "neutral", "trtgate.yml:4:10"],
	["inconclusive", "gates: { inconclusive: fail }", undefined, "fail", "trtgate.yml:4:10"],
	["golden.existing", "", "release", "fail", "default on a release"],
	["golden.existing", "", "nightly", "fail", "default in a scheduled run"],
	["golden.existing", "", undefined, "warn", "default"],
	["golden.existing", "gates: { golden: { existing: warn } }", "nightly", "warn", "trtgate.yml:4:20"],
	["golden.existing", "gates: { golden: { existing: fail } }", undefined, "fail", "trtgate.yml:4:20"],
])("%s with %j, run for a %s, is %s from %s", (gate, more, occasion, value, source) => {
	const config = loaded(withModel("", more), {}, occasion);
	const key = gate === "inconclusive" ? gate : "existing";
	const [engine] = config.models[0]!.engines;
	for (const { gates } of [config, engine!, engine!.workloads[0]!]) expect(gates[key]).toBe(value);
	expect(formatSource(config, `/gates/${gate.replace(".", "/")}`)).toBe(source);
});
