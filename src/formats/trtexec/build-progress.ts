// How far a build is, from its verbose log: which layer it times kernels for, and later which conversion between layers.
/** The rest goes to conversions between formats; about the median of 31 recorded builds (TensorRT 10.6). */
const layersShare = 0.75;
/** Lines of the log; median of the same builds. */
const conversionsPerLayer = 2.6;

const layersLeft = /^\[[^\]]{1,40}\] \[V\] \[TRT\] After [\w ]+: (\d{1,6}) layers$/;

/** Takes the log line by line; `share` is of the work after TensorRT has started, 0 to 1. */
export function createBuildProgress(onProgress: (phase: string, share: number) => void): (text: string) => void {
	let [layers, timed, converted] = [0, 0, 0];
	return (text) => {
		const count = layersLeft.exec(text)?.[1];
		if (count !== undefined && timed === 0) layers = Number(count);
		else if (/timing cache in use/.test(text)) onProgress("timing kernels", 0);
		else if (/=== Computing costs for /.test(text)) {
			timed = Math.min(timed + 1, layers);
			if (layers === 0) onProgress("timing kernels", 0);
			else onProgress(`timing kernels: layer ${timed} of ${layers}`, (layersShare * (timed - 0.5)) / layers);
		} else if (/=== Computing reformatting costs/.test(text)) {
			converted += 1;
			const done = Math.min(1, converted / (conversionsPerLayer * Math.max(1, layers)));
			onProgress("timing conversions between layers", layersShare + (0.95 - layersShare) * done);
		} else if (/Detected \d+ inputs? and \d+ output/.test(text)) onProgress("kernels are chosen", 0.97);
	};
}
