import { expect, it } from "vitest";
import schema from "../../../golden-schema/config.schema.json" with { type: "json" };
import { gateEntries } from "../../../src/core/config/gate-records.ts";
import { loaded, refusalOf, withModel } from "./load.ts";

interface Node {
	properties?: Readonly<Record<string, Node>>;
	enum?: readonly string[];
}

const { golden, ...others } = schema.$defs.gates.properties as Readonly<Record<string, Node>>;
const nodes = new Map([
	...Object.entries(others),
	...Object.entries(golden?.properties ?? {}).map(([key, node]) => [`golden.${key}`, node] as const),
]);

it("every gate of the schema has one record, and every record a gate of the schema", () => {
	expect(gateEntries.map(([, { name }]) => name).sort()).toEqual([...nodes.keys()].sort());
});

it.each(gateEntries.map(([, gate]) => gate))(
	"the record of $name has the values of the schema",
	({ name, options, byDefault, occasions }) => {
		expect([...(options ?? [])].sort()).toEqual([...(nodes.get(name)?.enum ?? [])].sort());
		for (const value of options === undefined ? [] : [byDefault, ...Object.values(occasions ?? {})])
			expect(options).toContain(value);
	},
);

it("every setting reaches the resolved gates with its pointer", () => {
	for (const [key, { name, options = [] }] of gateEntries) {
		for (const option of options) {
			const text = name.split(".").reduceRight((value, part) => `{ ${part}: ${value} }`, option);
			const { gates } = loaded(withModel("", `gates: ${text}`));
			expect([gates[key], gates.pointers[name]]).toEqual([option, `/gates/${name.replace(".", "/")}`]);
		}
	}
});

it("a warning above the limit that fails is refused for multiples too", () => {
	const { message } = refusalOf("", "gates: { golden: { error-growth: { warn: 20 } } }");
	expect(message).toContain("is 20×, above the limit that fails, 10× by default");
});
