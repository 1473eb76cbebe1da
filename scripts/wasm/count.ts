// Adds counters of executed operators to a WebAssembly module: one addition at the start of each straight run of code. Nothing else changes:
// functions, types and memory keep their indices, because what is new comes last.
import {
	callGraph,
	type FunctionBody,
	parseModule,
	type Section,
	sectionIds,
	type WasmModule,
} from "./module.ts";
import {
	type Cursor,
	classes,
	isBulk,
	type Operator,
	type OperatorClass,
	operatorCodes,
	readOperator,
	readSize,
} from "./operators.ts";

/** An exported global of 64 bits, and how much an operator of each class adds to it; `bulk` is for each 16 bytes that are moved at once. */
export interface Counter {
	name: string;
	weights: Readonly<Record<OperatorClass, number>>;
}

/**
 * In half instructions, so that all are whole: how long operators of a class take beside each other, in machine code that V8 makes of them.
 * bench/work.ts fits them and shows how far the count follows time.
 */
export const halfInstructions: Counter["weights"] = {
	...{ free: 0, scalar: 1, float: 2, divide: 20, vector: 2, shuffle: 3, minmax: 14, root: 16 },
	...{ branch: 1, call: 4, indirect: 8, bulk: 2 },
};

/** How the counter of executed instructions is exported. */
export const instructionCounter: Counter = { name: "halfInstructions", weights: halfInstructions };

/** @param uncounted indices of functions that stay as they are. */
export function addCounters(
	bytes: Uint8Array,
	counters: readonly Counter[],
	uncounted: ReadonlySet<number>,
): Uint8Array {
	const module = parseModule(bytes);
	const first = module.imports.globals + module.globals;
	const parts = module.sections.flatMap((section): Uint8Array[] => {
		if (section.id === sectionIds.global) return [globalsOf(module, section, counters)];
		if (section.id === sectionIds.export) return [exportsOf(module, section, { counters, first })];
		if (section.id === sectionIds.code) return codeOf(module, { counters, first, uncounted });
		return [toSection(section.id, [bytes.subarray(section.from, section.to)])];
	});
	return join([bytes.subarray(0, 8), ...parts]);
}

const i64 = 0x7e;
const i32 = 0x7f;

function globalsOf({ bytes }: WasmModule, section: Section, counters: readonly Counter[]): Uint8Array {
	const zero = counters.map(() => Uint8Array.of(i64, 1, 0x42, 0, operatorCodes.end));
	return extended(bytes, section, zero);
}

function exportsOf(
	{ bytes }: WasmModule,
	section: Section,
	{ counters, first }: { counters: readonly Counter[]; first: number },
): Uint8Array {
	const added = counters.map(({ name }, index) => {
		const text = new TextEncoder().encode(name);
		return Uint8Array.of(...unsigned(text.length), ...text, 3, ...unsigned(first + index));
	});
	return extended(bytes, section, added);
}

/** A section that is a list, with more entries at its end. */
function extended(bytes: Uint8Array, section: Section, entries: readonly Uint8Array[]): Uint8Array {
	const cursor: Cursor = { bytes, at: section.from };
	const count = readSize(cursor) + entries.length;
	return toSection(section.id, [
		Uint8Array.from(unsigned(count)),
		bytes.subarray(cursor.at, section.to),
		...entries,
	]);
}

function toSection(id: number, content: readonly Uint8Array[]): Uint8Array {
	const size = content.reduce((sum, { length }) => sum + length, 0);
	return join([Uint8Array.of(id, ...unsigned(size)), ...content]);
}

interface Counting {
	counters: readonly Counter[];
	/** Index of the first counter's global. */
	first: number;
}

function codeOf(module: WasmModule, counting: Counting & { uncounted: ReadonlySet<number> }): Uint8Array[] {
	const bodies = module.bodies.map((body, index) => {
		const isCounted = !counting.uncounted.has(index + module.imports.functions);
		const content = isCounted
			? countedBody(module.bytes, body, counting)
			: module.bytes.subarray(body.from, body.to);
		return join([Uint8Array.from(unsigned(content.length)), content]);
	});
	return [toSection(sectionIds.code, [Uint8Array.from(unsigned(bodies.length)), ...bodies])];
}

/** Bytes that go into a body before the operator at `at`. */
interface Insertion {
	at: number;
	bytes: readonly number[];
}

function countedBody(bytes: Uint8Array, body: FunctionBody, counting: Counting): Uint8Array {
	const found = insertionsOf(bytes, body, counting);
	found.sort((left, right) => left.at - right.at);
	const isBulky = found.some(({ bytes: inserted }) => inserted[0] === localTee);
	const parts: Uint8Array[] = [isBulky ? withLocal(bytes, body) : bytes.subarray(body.from, body.codeFrom)];
	let at = body.codeFrom;
	for (const insertion of found) {
		parts.push(bytes.subarray(at, insertion.at), Uint8Array.from(insertion.bytes));
		at = insertion.at;
	}
	return join([...parts, bytes.subarray(at, body.to)]);
}

/** The body's locals and one more, which holds the length of a bulk operator. */
function withLocal(bytes: Uint8Array, body: FunctionBody): Uint8Array {
	const cursor: Cursor = { bytes, at: body.from };
	readSize(cursor);
	return join([
		Uint8Array.from(unsigned(body.groupsOfLocals + 1)),
		bytes.subarray(cursor.at, body.codeFrom),
		Uint8Array.of(1, i32),
	]);
}

interface Block {
	isLoop: boolean;
	/** A branch leads to its end. */
	isTarget: boolean;
}

function insertionsOf(bytes: Uint8Array, body: FunctionBody, counting: Counting): Insertion[] {
	const cursor: Cursor = { bytes, at: body.codeFrom };
	const blocks: Block[] = [{ isLoop: false, isTarget: false }];
	const insertions: Insertion[] = [];
	let from = body.codeFrom;
	let counts = new Map<OperatorClass, number>();
	while (cursor.at < body.to) {
		const { at } = cursor;
		const operator = readOperator(cursor);
		counts.set(operator.class, (counts.get(operator.class) ?? 0) + 1);
		if (isBulk(operator.code)) insertions.push({ at, bytes: countBulk(body.locals, counting) });
		if (!endsRun(operator, blocks)) continue;
		insertions.push({ at: from, bytes: countRun(counts, counting) });
		counts = new Map();
		from = cursor.at;
	}
	return insertions.filter((insertion) => insertion.bytes.length > 0);
}

/** Whether another operator than the next may follow, or the next may be reached from elsewhere. Keeps track of the blocks. */
function endsRun({ code, targets }: Operator, blocks: Block[]): boolean {
	for (const depth of targets) {
		const block = blocks.at(-1 - depth);
		if (block !== undefined) block.isTarget = true;
	}
	switch (code) {
		case operatorCodes.block:
			blocks.push({ isLoop: false, isTarget: false });
			return false;
		case operatorCodes.loop:
			blocks.push({ isLoop: true, isTarget: false });
			return true;
		case operatorCodes.if:
			blocks.push({ isLoop: false, isTarget: true });
			return true;
		case operatorCodes.end: {
			const block = blocks.pop();
			return blocks.length === 0 || (block !== undefined && !block.isLoop && block.isTarget);
		}
		case operatorCodes.else:
		case operatorCodes.return:
		case operatorCodes.unreachable:
			return true;
		default:
			return targets.length > 0;
	}
}

const [localGet, localTee, globalGet, globalSet, i64Const, i64Add, i64Multiply, i64ShiftRight, i64ExtendU] = [
	0x20, 0x22, 0x23, 0x24, 0x42, 0x7c, 0x7e, 0x88, 0xad,
];

function countRun(counts: ReadonlyMap<OperatorClass, number>, { counters, first }: Counting): number[] {
	return counters.flatMap(({ weights }, index) => {
		const sum = classes.reduce((total, name) => total + (counts.get(name) ?? 0) * weights[name], 0);
		const place = unsigned(first + index);
		return sum === 0 ? [] : [globalGet, ...place, i64Const, ...signed(sum), i64Add, globalSet, ...place];
	});
}

/** The length is on top of the stack, and stays there. */
function countBulk(local: number, { counters, first }: Counting): number[] {
	const length = [localGet, ...unsigned(local), i64ExtendU];
	const sixteenths = [...length, i64Const, 15, i64Add, i64Const, 4, i64ShiftRight];
	const added = counters.flatMap(({ weights }, index) => {
		const place = unsigned(first + index);
		if (weights.bulk === 0) return [];
		return [
			globalGet,
			...place,
			...sixteenths,
			i64Const,
			...signed(weights.bulk),
			i64Multiply,
			i64Add,
			globalSet,
			...place,
		];
	});
	return added.length === 0 ? [] : [localTee, ...unsigned(local), ...added];
}

function unsigned(value: number): number[] {
	const bytes: number[] = [];
	for (let rest = value; ; rest = Math.floor(rest / 128)) {
		if (rest < 128) return [...bytes, rest];
		bytes.push((rest % 128) + 128);
	}
}

/** Of a value that is not negative: bit 6 of the last byte is its sign. */
function signed(value: number): number[] {
	const bytes: number[] = [];
	for (let rest = value; ; rest = Math.floor(rest / 128)) {
		if (rest < 64) return [...bytes, rest];
		bytes.push((rest % 128) + 128);
	}
}

function join(parts: readonly Uint8Array[]): Uint8Array {
	const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
	let at = 0;
	for (const part of parts) {
		joined.set(part, at);
		at += part.length;
	}
	return joined;
}

/**
 * The functions of Emscripten's allocator. What it does depends on where earlier blocks lie, which differs between processes, so its work is
 * not counted. From the exported malloc and free by what they call: both take and release one lock, malloc alone initialises it and asks for
 * memory, and what moves blocks (realloc, memalign) calls malloc, the lock, and a function of its own that frees the remainder.
 *
 * @throws Error where the module does not look like that.
 */
export function findAllocator(bytes: Uint8Array, names: { malloc: string; free: string }): Set<number> {
	const module = parseModule(bytes);
	const [malloc, free] = [module.exports.get(names.malloc), module.exports.get(names.free)];
	if (malloc === undefined || free === undefined)
		throw new Error(`The module exports no ${names.malloc} or no ${names.free}.`);
	const graph = callGraph(module);
	const calls = (caller: number): ReadonlySet<number> => graph.get(caller) ?? new Set();
	const lock = [...calls(malloc)].filter((callee) => calls(free).has(callee));
	const supply = [...calls(malloc)].filter((callee) => !lock.includes(callee));
	const movers = [...graph.keys()].filter((caller) =>
		[malloc, ...lock].every((callee) => calls(caller).has(callee)),
	);
	const callersOf = (callee: number): number[] =>
		[...graph.keys()].filter((caller) => calls(caller).has(callee));
	const remainder = [...new Set(movers.flatMap((mover) => [...calls(mover)]))].filter(
		(callee) =>
			calls(callee).size === 0 &&
			callersOf(callee).length > 1 &&
			callersOf(callee).every((caller) => movers.includes(caller)),
	);
	const moving = movers.filter((mover) => remainder.some((callee) => calls(mover).has(callee)));
	const found = new Set([malloc, free, ...lock, ...supply, ...remainder, ...moving]);
	if (
		lock.length !== 2 ||
		supply.length !== 2 ||
		remainder.length !== 1 ||
		moving.length !== 2 ||
		found.size !== 9
	) {
		const seen = `lock ${lock}, memory ${supply}, remainder ${remainder}, realloc and memalign ${moving}`;
		throw new Error(
			`The allocator's nine functions were not found: malloc ${malloc}, free ${free}, ${seen}.`,
		);
	}
	return found;
}
