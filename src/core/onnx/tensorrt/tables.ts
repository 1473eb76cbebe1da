// The operators that the ONNX parser of each TensorRT imports, and the plugins that come with it, by version.

import v8x6 from "./tables/8.6.json" with { type: "json" };
import v9x3 from "./tables/9.3.json" with { type: "json" };
import v10x0 from "./tables/10.0.json" with { type: "json" };
import v10x1 from "./tables/10.1.json" with { type: "json" };
import v10x14 from "./tables/10.14.json" with { type: "json" };
import v10x15 from "./tables/10.15.json" with { type: "json" };
import v11x1 from "./tables/11.1.json" with { type: "json" };

/** Made by scripts/tensorrt-operators.py. */
interface TableFile {
	tensorrt: string;
	opsets: { oldest?: number; newest: number };
	types: string;
	/** Names by the types that they take. */
	operators: Readonly<Record<string, string>>;
	restricted: string;
	unsupported: string;
	plugins: string;
}

export interface Table {
	version: string;
	newestOpset: number;
	/** Element types, as TensorRT names them. */
	types: ReadonlySet<string>;
	operators: ReadonlySet<string>;
	/** Operators with conditions; their words are in the document that the table names. */
	restricted: ReadonlySet<string>;
	/** Operators that the document says are not imported; others are not in it at all, and are not imported either. */
	unsupported: ReadonlySet<string>;
	plugins: ReadonlySet<string>;
}

/** Oldest first. */
export const tables: readonly Table[] = [v8x6, v9x3, v10x0, v10x1, v10x14, v10x15, v11x1].map(tableOf);

function tableOf(file: TableFile): Table {
	return {
		version: file.tensorrt,
		newestOpset: file.opsets.newest,
		types: words(file.types),
		operators: words(Object.values(file.operators).join(" ")),
		restricted: words(file.restricted),
		unsupported: words(file.unsupported),
		plugins: words(file.plugins),
	};
}

function words(text: string): ReadonlySet<string> {
	return new Set(text.split(" ").filter((word) => word !== ""));
}
