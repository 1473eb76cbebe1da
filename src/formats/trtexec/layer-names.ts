// Reads names of layers.
interface NamedParts {
	nodes: string[];
	foreign: readonly [from: string, to: string] | null;
	servedLayer: string | null;
	region: number | null;
}

const serving = /^Reformatting CopyNode for (?:Network )?(?:Input|Output)(?: Tensor)?(?: \d+ to)? /;
const added = /^(?:ONNXTRT_|\(Unnamed Layer\* ?\d+\)|__my)|^$/;
const maxChars = 65_536;

/** `Conv_0 + PWN(PWN(Sigmoid_1), Mul_2)` has three nodes; `{ForeignNode[a...b]}` the ends of a region. */
export function readLayerName(name: string): NamedParts {
	const region = /_myl(\d+)_\d+$/.exec(name.slice(-40))?.[1];
	const known = { region: region === undefined ? null : Number(region), foreign: null, servedLayer: null };
	const prefix = serving.exec(name.slice(0, 100))?.[0];
	if (prefix !== undefined) return { ...known, nodes: [], servedLayer: name.slice(prefix.length) };
	// Myelin names a kernel after its operations, or after nodes whose special characters it replaces.
	if (region !== undefined || name.startsWith("__my")) return { ...known, nodes: [] };
	const ends = foreignEnds(name);
	if (ends !== null) return { ...known, nodes: [], foreign: ends };
	return { ...known, nodes: splitFused(name) };
}

function foreignEnds(name: string): readonly [string, string] | null {
	const start = name.indexOf("{ForeignNode[");
	const end = name.lastIndexOf("]}");
	if (start < 0 || end < start || name.length > maxChars) return null;
	const inner = name.slice(start + "{ForeignNode[".length, end);
	const dots = inner.indexOf("...");
	const [from, to] = dots < 0 ? [inner, inner] : [inner.slice(0, dots), inner.slice(dots + 3)];
	// Each end is a layer of its own, with nodes fused into it.
	return [splitFused(from)[0] ?? from, splitFused(to).at(-1) ?? to];
}

const tokens = /PWN\(| \+ | \|\| |[(),]|[^(), +|P]+|./gs;

/** Splits at ` + ` and ` || `, inside any depth of `PWN(a, b)`. Parentheses within names stay. */
function splitFused(name: string): string[] {
	const found = new Set<string>();
	const open: boolean[] = [];
	let node = "";
	const end = () => {
		if (!added.test(node.trim())) found.add(node.trim());
		node = "";
	};
	for (const [token] of name
		.slice(0, maxChars)
		.replace(/ \[profile \d+\]$/, "")
		.matchAll(tokens)) {
		const isInside = open.at(-1) === false;
		if (token === "PWN(" && node.trim() === "") {
			open.push(true);
			node = "";
		} else if (token === ")" && open.pop() === true) end();
		else if ((token === " + " || token === " || " || (token === "," && open.length > 0)) && !isInside) end();
		else node += token;
		if (token.endsWith("(") && node !== "") open.push(false);
	}
	end();
	return [...found];
}
