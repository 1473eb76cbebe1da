// What is wrong with one place of the config, and how it becomes an error that says where.
import { type ConfigCode, ConfigError, type ErrorDetails } from "../errors.ts";
import type { Location } from "../schema/result.ts";
import { formatPointer, parentPointer } from "./pointer.ts";

export interface Position {
	/** From 1. */
	line: number;
	/** From 1, in UTF-16 code units. */
	column: number;
}

/** Where a value stands in the file, and its key where it has one. */
export interface Place {
	key?: Position;
	value: Position;
}

/** Places by JSON pointer. */
export type Places = ReadonlyMap<string, Place>;

export interface Complaint {
	code: ConfigCode;
	/** "" is the whole file. */
	pointer: string;
	/** What follows the name of the place, e.g. `is "fp61"`; a sentence's end. */
	says: string;
	/** What follows "expected". */
	expected?: string;
	got?: string;
	/** What to do next, one sentence. */
	fix: string;
	/** A word that the user may have meant. */
	meant?: string;
	/** Which of the two to point at; values by default. */
	at?: "key" | "value";
}

export interface Origin {
	/** What is released is not let through on a doubt, unless the file says so. */
	isRelease?: boolean;
	/** Path of the config file as the user wrote it. */
	path: string;
	places: Places;
	/** Names of inputs by the pointer of the value that they set. */
	inputs: ReadonlyMap<string, string>;
}

/** More than this helps nobody; the last error says that there are more. */
export const maxErrors = 50;

/** Errors in the order of the file, inputs first. */
export function toErrors(complaints: readonly Complaint[], origin: Origin): ConfigError[] {
	const placed = complaints.map((complaint) => ({ complaint, position: positionOf(complaint, origin) }));
	placed.sort((left, right) => order(left.position) - order(right.position));
	const errors = placed.slice(0, maxErrors).map(({ complaint, position }) => toError(complaint, position, origin));
	const [beyond] = placed.slice(maxErrors);
	if (beyond !== undefined) {
		const details = { location: { path: origin.path }, fix: "Correct the first ones; they are often the cause." };
		errors.push(
			new ConfigError({ code: beyond.complaint.code, message: `${origin.path} has more errors than these ${maxErrors}.`, details }),
		);
	}
	return errors;
}

function order(position: Position | undefined): number {
	// No line of a file that we read is longer than 2^20 characters.
	return position === undefined ? 0 : position.line * 2 ** 20 + position.column;
}

function positionOf({ pointer, at }: Pick<Complaint, "pointer" | "at">, origin: Origin): Position | undefined {
	if (inputOf(pointer, origin) !== undefined) return undefined;
	const place = origin.places.get(pointer);
	if (place !== undefined) return at === "key" ? (place.key ?? place.value) : place.value;
	// What is missing is missed in what should hold it.
	const parent = parentPointer(pointer);
	return parent === undefined ? undefined : positionOf({ pointer: parent, at: "key" }, origin);
}

function inputOf(pointer: string, origin: Origin): string | undefined {
	const own = origin.inputs.get(pointer);
	if (own !== undefined) return own;
	// A list from an input: its items are the input's too.
	const owner = [...origin.inputs.keys()].find((key) => pointer.startsWith(`${key}/`));
	return owner === undefined ? undefined : origin.inputs.get(owner);
}

function toError(complaint: Complaint, position: Position | undefined, origin: Origin): ConfigError {
	const { code, pointer, says, expected, got, fix, meant } = complaint;
	const input = inputOf(pointer, origin);
	const location: Location = { path: origin.path, ...position };
	const where = input === undefined ? `${formatLocation(location)}: ${formatPointer(pointer)}` : `input ${input}`;
	const wanted = expected === undefined ? "" : `; expected ${expected}`;
	const guess = meant === undefined ? "" : ` Did you mean ${meant}?`;
	const details: ErrorDetails = { fix, ...(input === undefined ? { location } : {}), pointer };
	if (expected !== undefined) details.expected = expected;
	if (got !== undefined) details.got = got;
	return new ConfigError({ code, message: `${where} ${says}${wanted}.${guess}`, details });
}

export function formatLocation({ path, line, column }: Location): string {
	return line === undefined ? path : `${path}:${line}:${column ?? 1}`;
}
