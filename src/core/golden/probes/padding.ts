// The padding probe: values that a mask or length excludes must not change the output.
import { encodeTensor } from "../record/generators/encode.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import { compareViews, type ProbeCase, type ProbeContext, type ProbeRequest } from "./context.ts";
import { composeBatch, isSame, join, pick, upTo } from "./pool.ts";
import { type ProbeInput, type ProbeSubject, rangeIn } from "./subject.ts";

const maskLabels = /(?:^|_|\b)(?:attention|input)_?mask$|^mask$/i;
const lengthLabels = /(?:^|_|\b)(?:lengths?|lens?)$/i;

/** The input that marks padding, and the position axis of every input that has one. */
interface Marker {
	isMask: boolean;
	input: ProbeInput;
	axis: string | number;
	places: ReadonlyMap<string, number>;
}

export function probePadding(context: ProbeContext): ProbeRequest | string {
	const marker = findMarker(context);
	if (typeof marker === "string") return marker;
	const { axis, places } = marker;
	const size = typeof axis === "number" ? axis : (context.sizes.get(axis) ?? 1);
	if (size < 2) {
		const name = typeof axis === "string" ? JSON.stringify(axis) : "its axis of positions";
		return `There is only one position along ${name}.`;
	}
	const counted = Math.floor(size / 2);
	const rows = upTo(context.rows);
	const batch = context.batch === null ? null : context.rows;
	const pad = (filling: Filling) => padInputs(context, marker, { size, counted, filling });
	const zeros = pad("zeros");
	const others = pad("others");
	if ([...places.keys()].every((name) => isSame(zeros[name], others[name])))
		return "No input holds values that could fill the padding.";
	const cases: ProbeCase[] = [
		{ id: "padding-zeros", inputs: zeros, batch },
		{ id: "padding-others", inputs: others, batch },
	];
	// Whether the engine takes the counted positions alone.
	const range = typeof axis === "string" ? rangeIn(context.profile, axis) : undefined;
	if (range !== undefined && counted >= range.min && counted <= range.max)
		cases.push({ id: "padding-none", inputs: pad("none"), batch });
	const compared = batch === null ? null : rows;
	const comparisons = cases.slice(1).map(({ id }) => ({
		...compareViews(id === "padding-none" ? "other" : "same", ["padding-zeros", compared], [id, compared]),
		positions: { axis, counted, padded: size },
	}));
	return { cases, comparisons };
}

function findMarker({ subject, batch }: ProbeContext): Marker | string {
	const { inputs } = subject;
	const input = chooseMarker(subject);
	if (typeof input === "string") return input;
	const isMask = subject.mask !== undefined || (subject.length === undefined && maskLabels.test(input.name));
	const rowAxis = (name: string) => batch?.axes.get(name);
	const others = inputs.filter(({ name, axes }) => name !== input.name && axes.length >= 1);
	// A length counts along the first axis beside the rows of the first input that has one.
	const holder =
		others.find(({ name, axes }) => axes.length >= 2 && rowAxis(name) !== undefined) ?? others[0];
	const last = input.axes.length - 1;
	const axis = isMask
		? input.axes[last === rowAxis(input.name) ? -1 : last]
		: holder?.axes.find((_, index) => index !== rowAxis(holder.name));
	if (typeof axis !== "string" && typeof axis !== "number")
		return `Input ${JSON.stringify(input.name)} has no axis of positions.`;
	const places = new Map<string, number>();
	for (const { name, axes } of inputs) {
		const place = axes.findIndex((candidate, index) => candidate === axis && index !== rowAxis(name));
		if (place >= 0) places.set(name, place);
	}
	return { isMask, input, axis, places };
}

/** Some frameworks set the mask to true for padding, so only names that mark counted positions are guessed. */
function chooseMarker({ inputs, mask, length }: ProbeSubject): ProbeInput | string {
	const chosen = mask ?? length;
	const whole = inputs.filter(({ dtype }) => !isFloating(dtype));
	if (chosen !== undefined)
		return (
			inputs.find(({ name }) => name === chosen) ??
			`The model has no input ${JSON.stringify(chosen)}, which the config names.`
		);
	return (
		whole.find(({ name, axes }) => maskLabels.test(name) && axes.length === 2) ??
		whole.find(({ name, axes }) => lengthLabels.test(name) && axes.length <= 1) ??
		"No input is named like a mask or a length; set `probes: { mask: NAME }` or `length: NAME`."
	);
}

/** others: the next row's values, rotated by one so that they differ even for a single row. none: the counted positions alone. */
type Filling = "zeros" | "others" | "none";

function padInputs(
	{ pool, rows }: ProbeContext,
	{ isMask, input, places }: Marker,
	{ size, counted, filling }: { size: number; counted: number; filling: Filling },
): Record<string, Tensor> {
	const made = composeBatch(pool, upTo(rows));
	const shifted = composeBatch(
		pool,
		upTo(rows).map((row) => row + 1),
	);
	const marker = made[input.name];
	if (marker !== undefined) {
		const mark = (index: number) => (isMask ? Number(index % size < counted) : counted);
		made[input.name] = encodeTensor(marker.dtype, marker.shape, mark);
	}
	const padding = upTo(size).slice(counted);
	for (const [name, axis] of places) {
		const tensor = made[name];
		const counting = tensor && pick(tensor, axis, upTo(counted));
		if (tensor === undefined || counting == null || (name === input.name && filling !== "none")) continue;
		const rest =
			filling === "others"
				? pick(
						shifted[name] ?? tensor,
						axis,
						padding.map((place) => (place + 1) % size),
					)
				: pick({ ...tensor, data: new Uint8Array(tensor.data.length) }, axis, padding);
		if (filling === "none") made[name] = counting;
		else if (rest !== null) made[name] = join([counting, rest], axis);
	}
	return made;
}
