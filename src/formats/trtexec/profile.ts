// Reads what --exportProfile writes: the time of each layer.
import { ToolError } from "../../core/errors.ts";
import type { LayerProfile, LayerTime } from "../../core/explain/engine-layers.ts";

const number = "(-?(?:\\d[\\d.]*(?:e[-+]?\\d+)?|nan|inf))";
const nameStart = '"name" : "';
const nameEnd = '", "timeMs" : ';
const figures = new RegExp(`^${nameEnd}${number}, "averageMs" : ${number}(?:, "medianMs" : ${number})?, "percentage" : ${number}`);

/** trtexec does not escape names, which may hold quotes and control characters: the name is all up to the last `timeMs`. */
function toTime(line: string): LayerTime | null {
	const from = line.indexOf(nameStart) + nameStart.length;
	const to = line.lastIndexOf(nameEnd);
	if (from < nameStart.length || to < from) return null;
	const [whole, sum, average, median] = figures.exec(line.slice(to)) ?? [];
	if (whole === undefined) return null;
	const name = line.slice(from, to);
	const averageMs = Number(average);
	return { name, sumMs: Number(sum), averageMs, medianMs: median === undefined ? averageMs : Number(median), share: 0 };
}

/**
 * Shares are computed here: trtexec prints `nan` where the sum is 0, and rounds.
 * @throws ToolError tool-output, where the text is no profile or a time is no number.
 */
export function parseProfile(text: string): LayerProfile {
	const iterations = /"count" : (\d+)/.exec(text)?.[1];
	const layers = text.split(/\n(?=[,[\]]? *[{\]])/).flatMap((line) => toTime(line) ?? []);
	const isWhole = text.trimEnd().endsWith("]");
	const areNumbers = layers.every(({ sumMs, averageMs, medianMs }) => Number.isFinite(sumMs + averageMs + medianMs));
	if (iterations === undefined || !isWhole || !areNumbers) {
		throw new ToolError({
			code: "tool-output",
			message: "The layer profile that trtexec wrote cannot be read.",
			details: {
				expected: "a count and one entry for each layer, closed by ]",
				got: !isWhole ? "a text that is cut off" : iterations === undefined ? "no count" : "a time that is no number",
				fix: "Check that the run came to its end and the disk has space.",
			},
		});
	}
	const totalMs = layers.reduce((sum, layer) => sum + layer.sumMs, 0);
	return {
		iterations: Number(iterations),
		layers: layers.map((layer) => ({ ...layer, share: totalMs > 0 ? layer.sumMs / totalMs : 0 })),
	};
}
