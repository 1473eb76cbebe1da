// The probe of padding: what stands at positions that do not count must not matter.
import { encodeTensor } from "../record/generators/encode.ts";
import { hasSameData, isFloating, joinTensors } from "../tensor/tensor.ts";
import { compareViews, composeBatch, type ProbeContext, type ProbeRequest, pick, upTo } from "./context.ts";
import { type ProbeInput, type ProbeSubject, rangeIn } from "./subject.ts";

const maskLabels = /(?:^|_|\b)(?:attention|input)_?mask$|^mask$/i;
const positionLabels = /seq|len|time|frame|token|step/i;
const lengthLabels = /(?:^|_|\b)(?:lengths?|lens?)$/i;

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
	const batch = context.batch && context.rows;
	const send = (filling: Filling) => {
		const inputs = padInputs(context, marker, { size, counted, filling });
		return { id: `padding-${filling}`, inputs, batch };
	};
	const [zeros, others] = [send("zeros"), send("others")];
	if ([...places.keys()].every((name) => hasSameData(zeros.inputs[name], others.inputs[name])))
		return "No input holds values that could fill the padding.";
	const range = typeof axis === "string" ? rangeIn(context.profile, axis) : undefined;
	const none = range !== undefined && counted >= range.min && counted <= range.max ? [send("none")] : [];
	const shared = batch === null ? null : upTo(batch);
	const compare = (arithmetic: "same" | "other", { id }: typeof zeros) => ({
		...compareViews(arithmetic, [zeros.id, shared], [id, shared]),
		positions: { axis, counted, padded: size, alone: none[0]?.id },
	});
	return {
		cases: [zeros, others, ...none],
		comparisons: [compare("same", others), ...none.map((alone) => compare("other", alone))],
	};
}

function findMarker(context: ProbeContext) {
	const { subject, batch } = context;
	const input = chooseMarker(subject);
	if (typeof input === "string") return input;
	const isMask = subject.mask !== undefined || (subject.length === undefined && maskLabels.test(input.name));
	const rowAxis = (name: string) => batch?.axes.get(name);
	const positionAxes = ({ name, axes }: ProbeInput) => axes.filter((_, index) => index !== rowAxis(name));
	const others = subject.inputs.filter(({ name, axes }) => name !== input.name && axes.length >= 1);
	const holder =
		others.find(({ name, axes }) => axes.length >= 2 && rowAxis(name) !== undefined) ?? others[0];
	const last = input.axes.length - 1;
	const axis = isMask
		? input.axes[last === rowAxis(input.name) ? -1 : last]
		: axisOfPositions(holder ? positionAxes(holder) : []);
	if (typeof axis !== "string" && typeof axis !== "number")
		return `Input ${JSON.stringify(input.name)} has no axis of positions.`;
	const places = new Map<string, number>();
	for (const { name, axes } of subject.inputs) {
		const place = axes.findIndex((candidate, index) => candidate === axis && index !== rowAxis(name));
		if (place >= 0) places.set(name, place);
	}
	return { isMask, input, axis, places };
}

/** Not that of features, which may stand first. */
function axisOfPositions(axes: ProbeInput["axes"]) {
	const open = axes.filter((axis) => typeof axis === "string");
	return open.find((name) => positionLabels.test(name)) ?? open[0] ?? (axes.length > 1 ? undefined : axes[0]);
}

/** Some frameworks set the mask for padding, so only names that mark counted positions are guessed. */
function chooseMarker({ inputs, mask, length }: ProbeSubject) {
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

/** others: the next row's values, rotated so that even a single row changes. none: the counted positions alone. */
type Filling = "zeros" | "others" | "none";

function padInputs(
	{ pool, rows }: ProbeContext,
	{ isMask, input, places }: Marker,
	{ size, counted, filling }: { size: number; counted: number; filling: Filling },
) {
	const made = composeBatch(pool, upTo(rows));
	const shifted = composeBatch(pool, upTo(rows + 1).slice(1));
	const marker = made[input.name];
	if (marker !== undefined) {
		const mark = (index: number) => (isMask ? Number(index % size < counted) : counted);
		made[input.name] = encodeTensor(marker.dtype, marker.shape, mark);
	}
	const padding = upTo(size).slice(counted);
	const rotated = padding.map((place) => (place + 1) % size);
	for (const [name, axis] of places) {
		const tensor = made[name];
		const counting = tensor && pick(tensor, axis, upTo(counted));
		if (tensor === undefined || counting == null || (name === input.name && filling !== "none")) continue;
		const rest =
			filling === "others"
				? pick(shifted[name] ?? tensor, axis, rotated)
				: pick({ ...tensor, data: new Uint8Array(tensor.data.length) }, axis, padding);
		if (filling === "none") made[name] = counting;
		else if (rest !== null) made[name] = joinTensors([counting, rest], axis);
	}
	return made;
}
