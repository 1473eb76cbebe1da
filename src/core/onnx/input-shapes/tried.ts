// Says which sizes were chosen where none were given, and what was tried before.
import type { OnnxModel } from "../model.ts";
import { quoteName, showText } from "../quote.ts";
import { type BoundShapes, fillShapes } from "./bind.ts";
import { type AxisKind, kindsOf } from "./propose.ts";
import { describeShapes, lineToCopy } from "./render.ts";
import type { Attempt, Sizes } from "./search.ts";

/** How the sizes came about: null: ONNX Runtime ran them; else why it did not get to. */
export interface ChosenSizes {
	sizes: Sizes;
	untried: string | null;
	attempts: readonly Attempt[];
}

const mostReasons = 8;

/** For people, and for the golden's own record. */
export function describeChosen(model: OnnxModel, bound: BoundShapes, { sizes, untried, attempts }: ChosenSizes): string {
	const kinds = kindsOf(model, bound.open);
	const reasons = bound.open.map(({ name }) => `${quoteName(name, "")} ${sizes.get(name)} (${reasonFor(name, sizes, kinds)})`);
	const shown = reasons.length > mostReasons ? [...reasons.slice(0, mostReasons), "…"] : reasons;
	const isFirst = bound.open.every(({ name }) => kinds.get(name)?.sizes[0] === sizes.get(name));
	const failed =
		attempts.length === 0 || isFirst ? "" : ` after ${attempts.length} other${attempts.length === 1 ? "" : "s"} that cannot run`;
	const proof = untried === null ? `ONNX Runtime runs them${failed}` : `not tried, because ${untried.replace(/\.$/, "")}`;
	return `sizes chosen: ${shown.join(", ")}; ${proof}`;
}

function reasonFor(name: string, sizes: Sizes, kinds: ReadonlyMap<string, AxisKind>): string {
	const kind = kinds.get(name);
	const size = sizes.get(name) ?? 1;
	if (kind === undefined || kind.sizes.includes(size)) return kind?.says ?? "a guess";
	return `${kind.says}; an error message named it`;
}

/** Options that give the same sizes, to be changed. */
export function sameSizes(bound: BoundShapes, sizes: Sizes): string {
	return lineToCopy(bound, sizes, "options");
}

const mostAttempts = 5;

/** `Tried without success: x [1, 3, 16, 16]: …`. */
export function describeAttempts(bound: BoundShapes, attempts: readonly Attempt[]): string {
	if (attempts.length === 0) return "";
	const texts = attempts.slice(0, mostAttempts).map(({ sizes, why, by }) => {
		const shapes = describeShapes(fillShapes(bound, sizes) ?? {});
		return `${shapes} ${by === "run" ? "failed" : "cannot run"}: ${showText(why.slice(0, 200)).replace(/\.$/, "")}`;
	});
	const more = attempts.length > mostAttempts ? `; and ${attempts.length - mostAttempts} more` : "";
	return `Tried without success: ${texts.join("; ")}${more}.`;
}
