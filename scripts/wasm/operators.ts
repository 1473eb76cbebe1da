// The operators of WebAssembly: how long each is in the file, and which class of work it is.

/** Classes of operators that take about the same time, in the order of a count by class. */
export const classes = [
	"free",
	"scalar",
	"float",
	"divide",
	"vector",
	"shuffle",
	"minmax",
	"root",
	"branch",
	"call",
	"indirect",
	"bulk",
] as const;

export type OperatorClass = (typeof classes)[number];

/** A cursor over the bytes of a module. */
export interface Cursor {
	readonly bytes: Uint8Array;
	at: number;
}

export function readByte(cursor: Cursor): number {
	const byte = cursor.bytes[cursor.at];
	if (byte === undefined)
		throw new Error(`The module ends at ${cursor.at}, inside an operator or a section.`);
	cursor.at += 1;
	return byte;
}

/** Unsigned LEB128 of up to 32 bits. */
export function readSize(cursor: Cursor): number {
	for (let value = 0, factor = 1; ; factor *= 128) {
		const byte = readByte(cursor);
		value += (byte & 127) * factor;
		if (byte < 128) return value;
	}
}

function skipLeb(cursor: Cursor): void {
	while (readByte(cursor) >= 128);
}

export interface Operator {
	/** The first byte; with its prefix for others: 0xfc08 is memory.init. */
	code: number;
	class: OperatorClass;
	/** Depths that it may branch to. */
	targets: readonly number[];
	/** Index of the function that `call` and `ref.func` name. */
	callee?: number;
}

const codes = {
	unreachable: 0x00,
	block: 0x02,
	loop: 0x03,
	if: 0x04,
	else: 0x05,
	end: 0x0b,
	br: 0x0c,
	brIf: 0x0d,
	brTable: 0x0e,
	return: 0x0f,
	call: 0x10,
	refFunc: 0xd2,
	memoryInit: 0xfc08,
	memoryCopy: 0xfc0a,
	memoryFill: 0xfc0b,
} as const;

export { codes as operatorCodes };

export function isBulk(code: number): boolean {
	return code === codes.memoryInit || code === codes.memoryCopy || code === codes.memoryFill;
}

/** @throws Error for an operator whose length is not known here: exceptions, garbage collection, relaxed vectors. */
export function readOperator(cursor: Cursor): Operator {
	const first = readByte(cursor);
	if (first === 0xfc) return bulkOperator(cursor, readSize(cursor));
	if (first === 0xfd) return vectorOperator(cursor, readSize(cursor));
	if (first === 0xfe) return atomicOperator(cursor, readSize(cursor));
	return plainOperator(cursor, first);
}

function plainOperator(cursor: Cursor, code: number): Operator {
	const none = { code, targets: [] };
	switch (code) {
		case codes.br:
		case codes.brIf:
			return { code, class: "branch", targets: [readSize(cursor)] };
		case codes.brTable:
			return {
				code,
				class: "branch",
				targets: Array.from({ length: readSize(cursor) + 1 }, () => readSize(cursor)),
			};
		case codes.call:
			return { ...none, class: "call", callee: readSize(cursor) };
		case codes.refFunc:
			return { ...none, class: "free", callee: readSize(cursor) };
		case 0x11: // call_indirect
			skipLeb(cursor);
			skipLeb(cursor);
			return { ...none, class: "indirect" };
		case 0x1c: // select with types
			for (let types = readSize(cursor); types > 0; types -= 1) readByte(cursor);
			return { ...none, class: "scalar" };
		case 0x43: // f32.const
			cursor.at += 4;
			return { ...none, class: "free" };
		case 0x44: // f64.const
			cursor.at += 8;
			return { ...none, class: "free" };
		default:
			return { ...none, class: plainClass(cursor, code) };
	}
}

/** Skips the immediate as well. */
function plainClass(cursor: Cursor, code: number): OperatorClass {
	if (code <= 0x03 || code === codes.if) {
		if (code >= codes.block) skipLeb(cursor);
		return code === codes.if ? "branch" : "free";
	}
	if (code === codes.else || code === codes.end || code === codes.return || code === 0x1a || code === 0xd1)
		return "free";
	if (code === 0x1b) return "scalar";
	if (within(code, 0x20, 0x22) || code === 0x41 || code === 0x42 || code === 0xd0) {
		skipLeb(cursor);
		return "free";
	}
	if (code === 0x23 || code === 0x24) {
		skipLeb(cursor);
		return "scalar";
	}
	if (code === 0x25 || code === 0x26) {
		skipLeb(cursor);
		return "indirect";
	}
	if (within(code, 0x28, 0x3e)) {
		skipMemory(cursor);
		return "scalar";
	}
	if (code === 0x3f || code === 0x40) {
		readByte(cursor);
		return "call";
	}
	if (within(code, 0x45, 0xc4)) return numericClass(code);
	throw new Error(`Operator 0x${code.toString(16)} at ${cursor.at - 1} is not known here.`);
}

function within(code: number, from: number, to: number): boolean {
	return code >= from && code <= to;
}

function skipMemory(cursor: Cursor): void {
	skipLeb(cursor);
	skipLeb(cursor);
}

function numericClass(code: number): OperatorClass {
	if (within(code, 0x6d, 0x70) || within(code, 0x7f, 0x82)) return "divide";
	if (code === 0x91 || code === 0x95 || code === 0x9f || code === 0xa3) return "root";
	const isFloat =
		within(code, 0x5b, 0x66) ||
		within(code, 0x8b, 0xa6) ||
		within(code, 0xa8, 0xab) ||
		within(code, 0xae, 0xbf);
	return isFloat ? "float" : "scalar";
}

/** 0xfc: saturating truncation, memory and tables. */
function bulkOperator(cursor: Cursor, code: number): Operator {
	// The number of immediates of each, from memory.init on.
	const immediates = [2, 1, 2, 1, 2, 1, 2, 1, 1, 1];
	if (code >= 8 + immediates.length)
		throw new Error(`Operator 0xfc ${code} at ${cursor.at} is not known here.`);
	for (let left = code < 8 ? 0 : (immediates[code - 8] ?? 0); left > 0; left -= 1) skipLeb(cursor);
	return { code: 0xfc00 + code, class: code < 8 ? "float" : code < 12 ? "call" : "indirect", targets: [] };
}

/** 0xfd: vectors of 128 bits. */
function vectorOperator(cursor: Cursor, code: number): Operator {
	if (code > 255)
		throw new Error(
			`Vector operator ${code} at ${cursor.at} is not known here: relaxed vectors depend on the processor.`,
		);
	if (code <= 11 || code === 92 || code === 93) skipMemory(cursor);
	else if (code <= 13) cursor.at += 16;
	else if (within(code, 21, 34)) cursor.at += 1;
	else if (within(code, 84, 91)) {
		skipMemory(cursor);
		cursor.at += 1;
	}
	return { code: 0xfd00 + code, class: vectorClass(code), targets: [] };
}

function vectorClass(code: number): OperatorClass {
	if (code === 12) return "free";
	if (within(code, 13, 34)) return "shuffle";
	if (code === 227 || code === 231 || code === 239 || code === 243) return "root";
	// Min and max in the order of IEEE 754, and conversions, are sequences of instructions.
	if (code === 232 || code === 233 || code === 248 || code === 249 || within(code, 251, 253)) return "minmax";
	return "vector";
}

/** 0xfe: atomic memory access; with one thread no dearer than others. */
function atomicOperator(cursor: Cursor, code: number): Operator {
	if (code === 3) readByte(cursor);
	else skipMemory(cursor);
	return { code: 0xfe00 + code, class: "scalar", targets: [] };
}
