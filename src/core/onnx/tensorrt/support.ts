// TensorRT's support by version: operators and element types.
import v8x6 from "../../../../data/tensorrt-operators/8.6.json" with { type: "json" };
import v9x3 from "../../../../data/tensorrt-operators/9.3.json" with { type: "json" };
import v10x0 from "../../../../data/tensorrt-operators/10.0.json" with { type: "json" };
import v10x1 from "../../../../data/tensorrt-operators/10.1.json" with { type: "json" };
import v10x14 from "../../../../data/tensorrt-operators/10.14.json" with { type: "json" };
import v10x15 from "../../../../data/tensorrt-operators/10.15.json" with { type: "json" };
import v11x1 from "../../../../data/tensorrt-operators/11.1.json" with { type: "json" };
import type { OnnxDType } from "../model.ts";

export interface TensorRt {
	name: string;
	version: { major: number; minor: number } | null;
	at: Table;
	above: Table | null;
	place: "exact" | "below" | "newest" | "oldest";
}

export function tensorRtOf(text: string | undefined): TensorRt {
	const parts = /^(\d{1,4})(?:\.(\d{1,4}))?(?:\.|$)/.exec(text ?? "");
	const [oldest, newest] = [tables[0], tables.at(-1)];
	if (newest === undefined || oldest === undefined) throw new RangeError("There are no tables.");
	if (parts === null) return { name: "TensorRT", version: null, at: newest, above: null, place: "newest" };
	const version = { major: Number(parts[1]), minor: Number(parts[2] ?? 0) };
	const name = `TensorRT ${version.major}.${version.minor}`;
	const wanted = rank(version.major, version.minor);
	const at = tables.findLast((table) => rankOf(table) <= wanted);
	if (at === undefined) return { name, version, at: oldest, above: null, place: "oldest" };
	const isExact = rankOf(at) === wanted;
	const above = isExact ? null : (tables.find((table) => rankOf(table) > wanted) ?? null);
	return { name, version, at, above, place: isExact ? "exact" : above === null ? "newest" : "below" };
}

export function isAtLeast({ version }: TensorRt, major: number, minor: number): boolean | null {
	return version === null ? null : rank(version.major, version.minor) >= rank(major, minor);
}

function rank(major: number, minor: number) {
	return major * 10_000 + minor;
}

function rankOf({ version }: Table) {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	return rank(major, minor);
}

export function standingOf(
	{ at, above, place }: TensorRt,
	kind: "operators" | "plugins",
	name: string,
): { has: boolean; isCertain: boolean; because?: string } {
	const has = at[kind].has(name);
	if (place === "exact") return { has, isCertain: true };
	const does = (each: boolean) => (each ? "does" : "does not");
	if (above === null)
		return { has, isCertain: false, because: `${at.version}, the ${place} version listed, ${does(has)}` };
	const hasAbove = above[kind].has(name);
	if (has !== hasAbove) {
		const because = `${at.version} ${does(has)}, ${above.version} ${does(hasAbove)}`;
		return { has, isCertain: false, because };
	}
	const both = has
		? `${at.version} and ${above.version} both do`
		: `neither ${at.version} nor ${above.version} does`;
	return { has, isCertain: true, because: both };
}

export function listedSpan(kind: "operators" | "plugins", name: string) {
	const having = tables.filter((table) => table[kind].has(name)).map(({ version }) => version);
	const [first, last] = [having[0], having.at(-1)];
	return first === undefined || last === undefined ? null : { first, last };
}

const names: Readonly<Partial<Record<OnnxDType, string>>> = {
	float: "FP32",
	double: "FP64",
	float16: "FP16",
	bfloat16: "BF16",
	float8e4m3fn: "FP8",
	float4e2m1: "FP4",
};

/** Missing in the document for 8.6, although TensorRT 8.6 supports them: INT32, INT64 narrowed, UINT8 at the border (since 8.5). */
const always: ReadonlySet<string> = new Set(["INT32", "INT64", "UINT8"]);

/** `inside`: as weights and between nodes; UINT8 is only a type of inputs and outputs. */
export function hasType(table: Table, dtype: OnnxDType, place: "border" | "inside"): boolean {
	const name = names[dtype] ?? dtype.toUpperCase();
	if (name === "UINT8" && place === "inside") return false;
	return always.has(name) || table.types.has(name);
}

/** Made by scripts/tensorrt-operators.py. */
interface TableFile {
	tensorrt: string;
	opsets: { newest: number };
	types: string;
	operators: Readonly<Record<string, string>>;
	plugins: string;
}

type Table = ReturnType<typeof tableOf>;

export const tables: readonly Table[] = [v8x6, v9x3, v10x0, v10x1, v10x14, v10x15, v11x1].map(tableOf);

function tableOf({ tensorrt, opsets, types, operators, plugins }: TableFile) {
	return {
		version: tensorrt,
		newestOpset: opsets.newest,
		types: words(types),
		operators: words(Object.values(operators).join(" ")),
		plugins: words(plugins),
	};
}

function words(text: string) {
	return new Set(text.split(" ").filter((word) => word !== ""));
}
