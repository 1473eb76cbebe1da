// How far a build is, from its verbose log: which layer it times kernels for, and later which conversion between layers.
import type { LogLine } from "./transcript.ts";

/** `share` of the work after TensorRT has started, 0 to 1. */
export type OnBuildProgress = (phase: string, share: number) => void;

/** The rest goes to conversions between formats; about the median of 31 recorded builds (TensorRT 10.6). */
const layersShare = 0.75;
/** Lines of the log; median of the same builds. */
const conversionsPerLayer = 2.6;

const layersLeft = /^\[[^\]]{1,40}\] \[V\] \[TRT\] After [\w ]+: (\d{1,6}) layers$/;

export function createBuildProgress(onProgress: OnBuildProgress): { feed(line: LogLine): void } {
	let [layers, timed, converted] = [0, 0, 0];
	return {
		feed({ text }) {
			const count = layersLeft.exec(text)?.[1];
			if (count !== undefined && timed === 0) layers = Number(count);
			else if (/timing cache in use/.test(text)) onProgress("timing kernels", 0);
			else if (/=== Computing costs for /.test(text)) {
				timed += 1;
				if (layers === 0) onProgress("timing kernels", 0);
				else
					onProgress(
						`timing kernels: layer ${Math.min(timed, layers)} of ${layers}`,
						(layersShare * (Math.min(timed, layers) - 0.5)) / layers,
					);
			} else if (/=== Computing reformatting costs/.test(text)) {
				converted += 1;
				const done = Math.min(1, converted / (conversionsPerLayer * Math.max(1, layers)));
				onProgress("timing conversions between layers", layersShare + (0.95 - layersShare) * done);
			} else if (/Detected \d+ inputs? and \d+ output/.test(text)) onProgress("kernels are chosen", 0.97);
		},
	};
}
