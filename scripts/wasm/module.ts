// The sections and functions of a WebAssembly module.
import { type Cursor, operatorCodes, readByte, readOperator, readSize } from "./operators.ts";

export interface Section {
	id: number;
	/** Of the content, without id and size. */
	from: number;
	to: number;
}

export interface FunctionBody {
	/** Of the body with its locals, without its size. */
	from: number;
	/** Of the first operator. */
	codeFrom: number;
	to: number;
	groupsOfLocals: number;
	/** Parameters included. */
	locals: number;
}

export interface WasmModule {
	bytes: Uint8Array;
	sections: readonly Section[];
	imports: { functions: number; globals: number };
	/** How many the module itself defines. */
	globals: number;
	/** Functions by the name under which they are exported. */
	exports: ReadonlyMap<string, number>;
	bodies: readonly FunctionBody[];
}

export const sectionIds = { type: 1, import: 2, function: 3, global: 6, export: 7, code: 10 } as const;

export function parseModule(bytes: Uint8Array): WasmModule {
	const sections = readSections(bytes);
	const open = (id: number): Cursor & { count: number } => {
		const section = sections.find((candidate) => candidate.id === id);
		if (section === undefined) throw new Error(`The module has no section ${id}.`);
		const cursor = { bytes, at: section.from, count: 0 };
		cursor.count = readSize(cursor);
		return cursor;
	};
	const parameters = readParameters(open(sectionIds.type));
	const types = open(sectionIds.function);
	const parametersOf = Array.from({ length: types.count }, () => parameters[readSize(types)] ?? 0);
	const code = open(sectionIds.code);
	return {
		bytes,
		sections,
		imports: sections.some(({ id }) => id === sectionIds.import)
			? countImports(open(sectionIds.import))
			: { functions: 0, globals: 0 },
		globals: open(sectionIds.global).count,
		exports: readExports(open(sectionIds.export)),
		bodies: parametersOf.map((count) => readBody(code, count)),
	};
}

function readSections(bytes: Uint8Array): Section[] {
	const cursor: Cursor = { bytes, at: 8 };
	const sections: Section[] = [];
	while (cursor.at < bytes.length) {
		const id = readByte(cursor);
		const size = readSize(cursor);
		sections.push({ id, from: cursor.at, to: cursor.at + size });
		cursor.at += size;
	}
	return sections;
}

function readParameters(cursor: Cursor & { count: number }): number[] {
	return Array.from({ length: cursor.count }, () => {
		if (readByte(cursor) !== 0x60) throw new Error(`The type at ${cursor.at - 1} is not a function's.`);
		const parameters = readSize(cursor);
		cursor.at += parameters;
		const results = readSize(cursor);
		cursor.at += results;
		return parameters;
	});
}

function countImports(cursor: Cursor & { count: number }): { functions: number; globals: number } {
	const found = { functions: 0, globals: 0 };
	for (let left = cursor.count; left > 0; left -= 1) {
		readName(cursor);
		readName(cursor);
		const kind = readByte(cursor);
		if (kind === 0) {
			readSize(cursor);
			found.functions += 1;
		} else if (kind === 3) {
			cursor.at += 2;
			found.globals += 1;
		} else {
			if (kind === 1) cursor.at += 1;
			if (readByte(cursor) % 2 === 1) readSize(cursor);
			readSize(cursor);
		}
	}
	return found;
}

function readName(cursor: Cursor): string {
	const length = readSize(cursor);
	cursor.at += length;
	return new TextDecoder().decode(cursor.bytes.subarray(cursor.at - length, cursor.at));
}

function readExports(cursor: Cursor & { count: number }): Map<string, number> {
	const found = new Map<string, number>();
	for (let left = cursor.count; left > 0; left -= 1) {
		const name = readName(cursor);
		const kind = readByte(cursor);
		const index = readSize(cursor);
		if (kind === 0) found.set(name, index);
	}
	return found;
}

function readBody(code: Cursor, parameters: number): FunctionBody {
	const size = readSize(code);
	const from = code.at;
	const to = from + size;
	const groupsOfLocals = readSize(code);
	let locals = parameters;
	for (let left = groupsOfLocals; left > 0; left -= 1) {
		locals += readSize(code);
		code.at += 1;
	}
	const codeFrom = code.at;
	code.at = to;
	return { from, codeFrom, to, groupsOfLocals, locals };
}

/** The functions that each function of the module calls by name. */
export function callGraph(module: WasmModule): ReadonlyMap<number, ReadonlySet<number>> {
	return new Map(
		module.bodies.map((body, index) => {
			const callees = new Set<number>();
			const cursor: Cursor = { bytes: module.bytes, at: body.codeFrom };
			while (cursor.at < body.to) {
				const { code, callee } = readOperator(cursor);
				if (code === operatorCodes.call && callee !== undefined) callees.add(callee);
			}
			return [index + module.imports.functions, callees];
		}),
	);
}
